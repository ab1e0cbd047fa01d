"""A data set as a file of its own, one example a record, for a test of whether a model has seen it in that order."""

from __future__ import annotations

from collections.abc import Iterator

from harness import Data, Instance, Row, Source, Split, scenario
from harness.contamination import EXAMPLES_FILE


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
    """Any file of examples: lines of JSON or text, CSV, TSV, a list in JSON, Parquet; compressed or not.

    ``path`` is absolute or in the data folder. An example is its record verbatim; where a record is nothing but a
    ``text``, it is that text, and with ``column`` it is that column's.
    """
    for row in data.rows(Split.TEST):
        text = _example(row, column)
        yield Instance(f"{Split.TEST}-{row.number}", text, split=Split.TEST, published=text)


def _example(row: Row, column: str | None) -> str:
    if not column and list(row) != ["text"]:
        return row.published
    value = row[column or "text"]
    if not isinstance(value, str) or not value:
        raise row.error(f"column {column or 'text'!r} holds {value!r}, not the text of an example.")
    return value
