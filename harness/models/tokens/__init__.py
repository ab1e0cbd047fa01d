"""Checkpoints, tokenizers, chat templates and windows of tokens, shared by the backends."""
