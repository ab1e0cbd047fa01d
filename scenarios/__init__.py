"""The scenarios that come with the harness: YAML where columns are mapped, Python where instances are computed."""
