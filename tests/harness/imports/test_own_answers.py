"""Answers that exports add to other formats: damaged ones are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness import Example, Instance
from harness.contracts import Reference
from harness.imports.own_answers import own_answer, with_own_answer

EXAMPLE = Example(Instance("a", "Which?", (Reference("x", correct=True, relevance=2), Reference("y"))), choice=0)


def test_what_is_written_is_read() -> None:
    value = json.loads(json.dumps(own_answer([EXAMPLE]), allow_nan=False))
    bare = Example(Instance("a", "Which?", (Reference("x"), Reference("y"))), prediction="y", choice=1, unread=True)
    assert with_own_answer(bare, value) == EXAMPLE


@pytest.mark.parametrize(
    "change",
    [{"choice": 2}, {"choice": -1}, {"choices": [0, 2]}, {"correct": [2]}, {"correct": ["x"]}, {"relevance": [1]},
     {"texts": ["x"], "choice": 1}, {"choice_scores": 5}, {"readings": 5}],
)  # fmt: skip
def test_values_that_do_not_fit_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)):
        with_own_answer(EXAMPLE, {**own_answer([EXAMPLE]), **change})
