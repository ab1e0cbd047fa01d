"""Models that run in this process, with PyTorch and transformers."""
