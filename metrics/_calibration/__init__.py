"""What the calibration metrics compute with."""
