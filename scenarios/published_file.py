"""A data set as one file with one example per record, for testing whether a model depends on this order."""

from __future__ import annotations

from collections.abc import Iterator

from harness import Data, Instance, Source, Split, scenario
from harness.contamination import EXAMPLES_FILE
from scenarios._examples import example


@scenario(
    "published_file",
    title="A published file",
    source="The file's authors",
    data=Source(files={"test": "{{ path }}"}, anywhere=True),
    adapter={"method": "exchangeability"},
    metrics=("contamination", "efficiency"),
    main_metric="contamination",
    options=False,
    taxonomy={"task": "contamination test", "what": "a file", "who": "anybody", "when": "any time", "language": "any"},
    role=EXAMPLES_FILE,
)
def published_file(data: Data, *, path: str, column: str | None = None) -> Iterator[Instance]:
    """Any file of examples: JSON Lines, plain text lines, CSV, TSV, a JSON list, or Parquet; compressed or not.

    ``path`` is absolute or relative to the data folder. An example is its record verbatim; if a record consists only of
    a ``text``, the example is that text. With ``column`` it is the value of that column.
    """
    for row in data.rows(Split.TEST):
        text = example(row, column)
        yield Instance(f"{Split.TEST}-{row.number}", text, split=Split.TEST, published=text)
