"""The jobs that the contamination test needs plugins for; a plugin takes one with ``role=``."""

ORDER_TEST = "published-order test"
"""The adapter that asks a model about a data set in published and in shuffled order."""

EXAMPLES_FILE = "examples file"
"""The scenario whose parameter ``path`` names a file, one example a record, in published order."""
