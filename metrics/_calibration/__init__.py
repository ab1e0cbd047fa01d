"""Code that the calibration metrics share."""
