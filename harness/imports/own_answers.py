"""The references and answer of an example as JSON values, which exports add where another format would change them.

Other programs recognise options by letter, number or text, and read an answer again from what the model wrote. With
these values, an import of our own files gives the original references and answer instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.contracts import Example, Instance, Reference
from harness.installation import DISTRIBUTION

KEY = DISTRIBUTION
"""Key of our own values in another program's files."""


def own_answer(examples: Sequence[Example], *, texts: bool = False) -> dict[str, Any]:
    """Return the JSON values for an instance's examples, which are one record in the other format.

    Args:
        examples: The examples, by sample; all of their predictions are kept, and everything else of the first.
        texts: True if the format changes the texts of references.
    """
    first = examples[0]
    value: dict[str, Any] = {"correct": [index for index, one in enumerate(first.references) if one.correct]}
    if any(one.relevance is not None for one in first.references):
        value["relevance"] = [one.relevance for one in first.references]
    if texts:
        value["texts"] = [one.text for one in first.references]
    found = {name: getattr(first, name) for name in _ANSWER}
    found["predictions"] = tuple(text for one in examples for text in one.predictions)
    return value | {name: _encoded(item) for name, item in found.items() if item != _DEFAULTS[name]}


def with_own_answer(example: Example, value: Mapping[str, Any]) -> Example:
    """Return an example with the references and answer restored from the JSON of :func:`own_answer`.

    Raises:
        ValueError: They do not fit the references, or are not what an export writes; KeyError and TypeError likewise.
    """
    texts = value.get("texts") or [one.text for one in example.references]
    grades = value.get("relevance") or [None] * len(texts)
    correct = set(_integers(value["correct"]))
    answer = {name: read(value[name]) if name in value else _DEFAULTS[name] for name, read in _ANSWER.items()}
    chosen = () if answer["choice"] is None else (answer["choice"],)
    if not all(0 <= index < len(texts) for index in (*correct, *chosen, *(answer["choices"] or ()))):
        raise ValueError(f"there are only {len(texts)} references")
    references = tuple(
        Reference(str(text), index in correct, None if grade is None else int(grade))
        for index, (text, grade) in enumerate(zip(texts, grades, strict=True))
    )
    return replace(example, instance=example.instance.replace(references=references), **answer)


def _encoded(item: Any) -> Any:
    if isinstance(item, tuple):
        return [_encoded(one) for one in item]
    # JSON has no infinities, which scores of impossible options are.
    return str(item) if isinstance(item, float) and not math.isfinite(item) else item


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in value)


def _integers(value: Any) -> tuple[int, ...]:
    return tuple(int(one) for one in value)


def _numbers(value: Any) -> tuple[float, ...]:
    return tuple(float(one) for one in value)


def _readings(value: Any) -> dict[str, str | None]:
    return {str(name): None if text is None else str(text) for name, text in value.items()}


_ANSWER: Mapping[str, Callable[[Any], Any]] = {
    "prediction": str,
    "predictions": _texts,
    "choice": int,
    "choice_scores": _numbers,
    "choices": _integers,
    "probability": float,
    "unread": bool,
    "readings": _readings,
    "labels": _texts,
}
"""The fields of an example that say how its answer was read, with what restores them from JSON."""

_DEFAULTS: Mapping[str, Any] = {name: getattr(Example(Instance("", "")), name) for name in _ANSWER}
