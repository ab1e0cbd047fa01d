"""Small checkpoints that are trained on chosen test sets, to measure what a contamination test would find."""
