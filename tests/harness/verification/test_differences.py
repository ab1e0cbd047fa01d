"""Which differences of scores count as rounding."""

from __future__ import annotations

import math

import pytest

from harness import Completion, Example, Instance, Response, Split
from harness.verification.differences import LogprobDifferences, ScoreChange, compare_examples

TOLERANCE = 0.25


def changed(logprobs: tuple[float | None, float | None], scores: tuple[float, float]) -> tuple[str, ...]:
    """Return what changed about an example with the same text, whose log-probability and score may differ."""
    instance = Instance(id="a", input="x", references=(), split=Split.TEST)
    responses = [Response((Completion("Yes", logprob, 1),)) for logprob in logprobs]
    before, after = (
        [(Example(instance=instance, requests=(), responses=(response,)), {"score": score})]
        for response, score in zip(responses, scores, strict=True)
    )
    noted: dict[str, ScoreChange] = {}
    found = compare_examples(("a", None, 0, 0, 0), before, after, [], TOLERANCE, LogprobDifferences(), noted)
    assert noted["score"].changed == (found is not None and "score" in found.changed)
    return found.changed if found is not None else ()


@pytest.mark.parametrize("scores", [(0.50, 0.74), (4.0, 5.0), (1.0, 1.01)])
@pytest.mark.parametrize("logprobs", [(None, None), (-1.0, -1.0)])
def test_another_score_of_the_same_answer_is_a_change(
    logprobs: tuple[float | None, float | None], scores: tuple[float, float]
) -> None:
    assert changed(logprobs, scores) == ("score",)


@pytest.mark.parametrize("score", [math.exp, lambda logprob: logprob, lambda logprob: math.exp(-logprob)])
@pytest.mark.parametrize("logprobs", [(-1.0, -1.1), (-5.0, -4.9), (-0.1, -0.3)])
def test_a_score_that_follows_rounding_is_none(logprobs: tuple[float, float], score: object) -> None:
    assert callable(score)
    assert changed(logprobs, (score(logprobs[0]), score(logprobs[1]))) == ()


def test_rounding_does_not_excuse_a_larger_difference() -> None:
    assert changed((-1.0, -1.01), (0.50, 0.74)) == ("score",)
    assert changed((-1.0, -1.01), (0.50, 0.505)) == ()
    assert changed((-1.0, -2.0), (0.1, 0.4)) == ("score", "log-probability")
