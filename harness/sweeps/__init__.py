"""From a YAML sweep to resolved run specs, with every error in it reported."""
