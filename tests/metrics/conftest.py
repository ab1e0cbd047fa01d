"""Examples to score, made from texts alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from harness import Estimate, Example, Instance, Reference, RunMetric

Build = Callable[..., Example]


@pytest.fixture
def answered() -> Build:
    """Makes an example from a prediction, correct references, and the texts of other completions."""

    def build(prediction: str, *golds: str, others: tuple[str, ...] = (), id: str = "a", **fields: Any) -> Example:
        references = (*(Reference(gold, correct=True) for gold in golds), Reference("a wrong one"))
        texts = (prediction, *others)
        return Example(Instance(id, "", references), prediction=prediction, predictions=texts, **fields)

    return build


@pytest.fixture
def estimated() -> Callable[..., Mapping[str, Estimate]]:
    """Puts examples through a run metric."""

    def run(metric: RunMetric, *examples: Example) -> Mapping[str, Estimate]:
        for example in examples:
            metric.add(example)
        return metric.estimates()

    return run
