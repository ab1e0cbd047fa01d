"""The jobs that the contamination test needs plugins for; a plugin takes one with ``role=``."""

ORDER_TEST = "published-order test"
"""The adapter that asks a model about a data set in published and in shuffled order."""

GENERATED_ORDER_TEST = "published-order test by generated text"
"""The adapter for models that give no log-probabilities of a text."""

EXAMPLES_FILE = "examples file"
"""The scenario whose parameter ``path`` names a file, one example a record, in published order."""

HELD_OUT_FILE = "held-out rows"
"""The scenario that reads a file as that of ``EXAMPLES_FILE`` does, and keeps its rows private."""

QUESTIONS_FILE = "questions file"
"""The scenario whose parameter ``path`` names a file of multiple-choice questions, and whose parameters ``question``,
``options`` and ``answer`` name its columns."""

OPTION_TEST = "option-order test"
"""The adapter that asks a model about multiple-choice questions with their options in published and other orders."""

SEALED_TEXTS = "sealed texts"
"""The scenario of a key's items of which several texts exist; its parameters are ``path`` and ``kind``."""

SEALED_DYE = "sealed dye"
"""The scenario of a key's dye questions; its parameter is ``path``."""

EXAMPLE_SCORES = "scores of single examples"
"""The adapter that scores each example of a data set by itself."""
