"""Checkpoints, tokenizers, chat templates, stop sequences and windows, shared by the backends."""
