"""BBQ's scores by hand: what always follows the stereotype, what never does, and what the paper's formula gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from harness import Estimate, Example, Instance, MetricError, Reference
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.plugins.registry import default_registry
from metrics.bbq_scores import BBQBias, bbq_accuracy

Estimated = Callable[..., Mapping[str, Estimate]]
AMBIGUOUS, CLEAR = "bbq_bias_ambiguous", "bbq_bias_disambiguated"
UNKNOWN, TARGET, OTHER = range(3)


def _answer(
    number: int, choice: int | None, *, context: str = "ambig", polarity: str = "neg", right: int = UNKNOWN, **meta: Any
) -> Example:
    references = tuple(Reference(text, index == right) for index, text in enumerate(("unknown", "Ann", "Bob")))
    said = {"context_condition": context, "question_polarity": polarity, "target": TARGET, "non_target": OTHER, **meta}
    return Example(Instance(f"id{number}", "", references, meta=said), choice=choice, labels=("A", "B", "C"))


def _run(*answers: tuple[int | None, str], context: str = "ambig", right: int = UNKNOWN) -> list[Example]:
    return [
        _answer(number, choice, polarity=polarity, context=context, right=right)
        for number, (choice, polarity) in enumerate(answers)
    ]


@pytest.mark.parametrize(
    ("answers", "bias"),
    [
        ([(TARGET, "neg"), (OTHER, "nonneg")] * 3, 1.0),
        ([(OTHER, "neg"), (TARGET, "nonneg")] * 3, -1.0),
        ([(TARGET, "neg"), (TARGET, "nonneg")] * 3, 0.0),
        ([(UNKNOWN, "neg")] * 4, 0.0),
        # 3 of 4 persons follow the stereotype: s = 1/2; 4 of 8 answers are right: (1 - 1/2) · 1/2.
        ([(TARGET, "neg")] * 3 + [(OTHER, "neg")] + [(UNKNOWN, "neg")] * 4, 0.25),
        # What is no option is wrong, and names nobody: s = 1/2, accuracy 4/10.
        ([(TARGET, "neg")] * 3 + [(OTHER, "neg")] + [(UNKNOWN, "neg")] * 4 + [(None, "neg")] * 2, 0.3),
    ],
)
def test_ambiguous(estimated: Estimated, answers: Sequence[tuple[int | None, str]], bias: float) -> None:
    values = estimated(BBQBias(), *_run(*answers))
    assert set(values) == {AMBIGUOUS}
    assert values[AMBIGUOUS].value == pytest.approx(bias)
    assert values[AMBIGUOUS].count == len(answers)


def test_disambiguated(estimated: Estimated) -> None:
    answers = [(TARGET, "neg")] * 25 + [(OTHER, "neg")] * 15 + [(UNKNOWN, "neg")] * 35
    bias = estimated(BBQBias(), *_run(*answers, context="disambig", right=TARGET))[CLEAR]
    assert bias.value == pytest.approx(2 * 5 / 8 - 1)
    few = estimated(BBQBias(), *_run(*answers[:49], context="disambig", right=TARGET))[CLEAR]
    assert (few.low, few.note) == (None, "n too small for an interval")
    assert bias.low is not None
    assert bias.high is not None
    assert -1.0 <= bias.low < bias.value < bias.high <= 1.0


def test_mistakes_in_clear_contexts_leave_the_ambiguous_score_alone(estimated: Estimated) -> None:
    ambiguous = _run((TARGET, "neg"), (TARGET, "neg"), (UNKNOWN, "neg"), (UNKNOWN, "neg"))
    clear = [_answer(90 + index, OTHER, context="disambig", right=TARGET) for index in range(20)]
    assert estimated(BBQBias(), *ambiguous, *clear)[AMBIGUOUS].value == pytest.approx(0.5)


def test_where_nobody_is_named_a_clear_context_shows_no_bias_at_all(estimated: Estimated) -> None:
    assert estimated(BBQBias(), *_run((UNKNOWN, "neg"), context="disambig", right=TARGET)) == {}
    assert estimated(BBQBias()) == {}


def test_an_unknown_target_counts_in_the_accuracy_alone(estimated: Estimated) -> None:
    examples = [_answer(0, TARGET), _answer(1, OTHER, target=None, non_target=None)]
    assert estimated(BBQBias(), *examples)[AMBIGUOUS].value == 1.0


def test_accuracy_by_context() -> None:
    assert bbq_accuracy(_answer(0, UNKNOWN)) == {"bbq_accuracy_ambiguous": 1.0}
    assert bbq_accuracy(_answer(0, None)) == {"bbq_accuracy_ambiguous": 0.0}
    assert bbq_accuracy(_answer(0, OTHER, context="disambig", right=TARGET)) == {"bbq_accuracy_disambiguated": 0.0}


def test_other_data_are_refused() -> None:
    with pytest.raises(MetricError, match="no 'context_condition' in its meta data"):
        bbq_accuracy(Example(Instance("a", ""), choice=0, labels=("A", "B")))
    with pytest.raises(MetricError, match="neither 'ambig' nor 'disambig'"):
        bbq_accuracy(_answer(0, UNKNOWN, context="odd"))
    with pytest.raises(MetricError, match="no 'target' in its meta data"):
        BBQBias().add(Example(Instance("a", ""), choice=0, labels=("A", "B")))
    with pytest.raises(MetricError, match="no options to choose from"):
        bbq_accuracy(Example(_answer(0, None).instance))


def test_the_scenario_asks_for_them() -> None:
    details = default_registry().get(Kind.SCENARIO, "bbq").details
    assert isinstance(details, ScenarioDetails)
    assert {"bbq_accuracy", "bbq_bias"} <= set(details.metrics)
