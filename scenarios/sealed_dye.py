"""The dye questions of a sealed data set, whose answers were drawn at random."""

from __future__ import annotations

from collections.abc import Iterator

from harness import Data, Instance, Reference, Source, Split, scenario
from harness.contamination import SEALED_DYE


@scenario(
    "sealed_dye",
    title="Sealed dye",
    source="`harness seal`; compare DyePack (arXiv:2505.23001)",
    data=Source(files={"test": "{{ path }}"}, anywhere=True, private=True),
    adapter={"method": "multiple_choice_joint", "max_train_instances": 0, "input_noun": "Question", "max_tokens": 5},
    metrics=("sealed_dye", "efficiency"),
    main_metric="sealed_dye",
    taxonomy={"task": "contamination test", "what": "a file", "who": "anybody", "when": "any time", "language": "any"},
    role=SEALED_DYE,
)
def sealed_dye(data: Data, *, path: str, copies: int | None = None) -> Iterator[Instance]:
    """The dye questions of a key that `harness seal` wrote; the published target is the correct reference.

    ``path`` is the key, absolute or relative to the data folder. ``copies`` is the number of copies in the model's
    training text, where it is known; it is only recorded.
    """
    del copies
    for row in data.rows(Split.TEST):
        if row["kind"] == "dye":
            references = tuple(
                Reference(text, correct=place == row["target"]) for place, text in enumerate(row["options"])
            )
            yield Instance(f"dye-{row['row']}", row["question"], references, split=Split.TEST)
