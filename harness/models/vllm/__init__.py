"""Models that run in a vLLM engine in this process."""
