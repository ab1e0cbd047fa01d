"""Exporting runs as lighteval's results and details (huggingface/lighteval, 0.13)."""
