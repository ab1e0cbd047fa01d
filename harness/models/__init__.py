"""The model backends that come with the harness, one file each."""
