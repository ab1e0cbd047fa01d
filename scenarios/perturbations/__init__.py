"""Perturbations: each makes an instance out of an instance."""
