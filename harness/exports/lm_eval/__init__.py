"""Exporting runs as lm-evaluation-harness's results and samples files (EleutherAI/lm-evaluation-harness, 0.4.13)."""
