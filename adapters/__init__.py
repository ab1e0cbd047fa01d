"""The adaptation methods that come with the harness, one file each."""
