"""The rows of a data set that were not published, for comparison with the published ones."""

from __future__ import annotations

from collections.abc import Iterator

from harness import Data, Instance, Source, Split, scenario
from harness.contamination import HELD_OUT_FILE
from scenarios._examples import example


@scenario(
    "held_out_file",
    title="Held-out rows",
    source="The file's authors",
    data=Source(files={"test": "{{ path }}"}, anywhere=True, private=True),
    adapter={"method": "membership", "moments": False},
    metrics=("membership", "efficiency"),
    main_metric="membership",
    options=False,
    taxonomy={"task": "contamination test", "what": "a file", "who": "anybody", "when": "any time", "language": "any"},
    role=HELD_OUT_FILE,
)
def held_out_file(data: Data, *, path: str, column: str | None = None) -> Iterator[Instance]:
    """Rows that were held back when others were published; `harness contamination held-out` compares the two.

    ``path`` and ``column`` are as for ``published_file``.
    """
    for row in data.rows(Split.TEST):
        text = example(row, column)
        yield Instance(f"{Split.TEST}-{row.number}", text, split=Split.TEST, published=text)
