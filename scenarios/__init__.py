"""The scenarios that come with it: YAML files where data are mapped, Python modules where computed."""
