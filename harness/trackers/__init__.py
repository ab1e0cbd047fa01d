"""Listeners that send results to experiment trackers: Weights & Biases, MLflow and TensorBoard.

Each makes one run of the tracker for each model of a suite, or for each training of which models are checkpoints, so
that a tracker's table has a row for each model and a column for each metric.
"""
