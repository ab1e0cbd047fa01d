"""Evaluation during training: a callback for the Trainer of transformers, and a watch over a folder of checkpoints."""
