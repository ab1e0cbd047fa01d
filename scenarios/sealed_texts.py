"""The items of a sealed data set of which one text was published and others were kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from harness import Data, Instance, Reference, Source, Split, scenario
from harness.contamination import SEALED_TEXTS


@scenario(
    "sealed_texts",
    title="Sealed texts",
    source="`harness seal`",
    data=Source(files={"test": "{{ path }}"}, anywhere=True, private=True),
    adapter={"method": "sealed_choice"},
    metrics=("sealed_choice", "efficiency"),
    main_metric="sealed_choice",
    options=False,
    taxonomy={"task": "contamination test", "what": "a file", "who": "anybody", "when": "any time", "language": "any"},
    role=SEALED_TEXTS,
)
def sealed_texts(
    data: Data, *, path: str, kind: Literal["twin", "canary"], copies: int | None = None
) -> Iterator[Instance]:
    """The texts of the twins or canaries of a key that `harness seal` wrote.

    The published text is the correct reference. ``path`` is the key, absolute or relative to the data folder; ``kind``
    says which of its items are meant. ``copies`` is the number of copies in the model's training text, where it is
    known; it is only recorded.
    """
    del copies
    for row in data.rows(Split.TEST):
        if row["kind"] != kind:
            continue
        texts, published = row["texts"], row["published"]
        references = tuple(Reference(text, correct=place == published) for place, text in enumerate(texts))
        yield Instance(f"{kind}-{row['row']}", row["prefix"], references, split=Split.TEST)
