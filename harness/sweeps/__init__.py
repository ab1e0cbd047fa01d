"""From a YAML sweep to resolved run specs, with every mistake in it reported."""
