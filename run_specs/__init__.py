"""The sweeps that come with the harness: ``harness run NAME``."""
