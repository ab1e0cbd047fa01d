"""How much completions differ, by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from harness import Completion, Example, GenerateRequest, Instance, MetricError, Response
from metrics.diversity import monte_carlo_entropy, self_bleu

Build = Callable[..., Example]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("the cat sat on the mat",) * 3, 1.0),
        (("red", "blue"), 0.0),
        # Two of the four completions are equal; the others share no word with any.
        (("a b c d e", "a b c d e", "f g h i j", "k l m n o"), 0.5),
        (("alone",), None),
        (("alone", " "), None),
    ],
)
def test_self_bleu(answered: Build, texts: tuple[str, ...], expected: float | None) -> None:
    score = self_bleu(answered(texts[0], others=texts[1:]))
    assert score == (None if expected is None else pytest.approx(expected, abs=0.01))


def _drawn(*logprobs: float | None) -> Example:
    response = Response(completions=tuple(Completion("x", logprob=logprob) for logprob in logprobs))
    return Example(Instance("a", ""), (GenerateRequest("x", 5, temperature=1.0),), (response,))


def test_entropy_of_a_fair_choice_is_its_logarithm() -> None:
    assert monte_carlo_entropy(_drawn(*[math.log(1 / 8)] * 5)) == pytest.approx(math.log(8))
    assert monte_carlo_entropy(_drawn(-1.0, -3.0)) == 2.0
    assert monte_carlo_entropy(_drawn()) is None


def test_a_certain_completion_has_no_entropy_however_it_is_rounded() -> None:
    assert monte_carlo_entropy(_drawn(1e-4, 0.0)) == 0.0


def test_a_missing_log_probability_is_no_certainty() -> None:
    with pytest.raises(MetricError, match="no log-probability"):
        monte_carlo_entropy(_drawn(-1.0, None))


def test_an_empty_completion_has_no_entropy() -> None:
    texts = (Completion("x", -1.0), Completion("", 0.0))
    example = Example(Instance("a", ""), (GenerateRequest("x", 5, temperature=1.0),), (Response(completions=texts),))
    assert monte_carlo_entropy(example) is None
