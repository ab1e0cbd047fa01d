"""How plugins are declared, found and given their parameters."""
