"""Perturbations: functions that change an instance."""
