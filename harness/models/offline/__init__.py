"""Backends without a model: recorded predictions, and a deterministic stand-in."""
