"""The metrics that come with the harness, one file for each family."""
