"""Where a scenario's rows come from: local files, the Hugging Face Hub, and scenarios written in YAML."""
