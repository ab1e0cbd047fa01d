"""Small checkpoints that have provably seen chosen test sets, to measure what a contamination test would find."""
