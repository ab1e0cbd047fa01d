"""F1 over classes from its definition and by hand, with the bootstrap's interval."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from harness import Estimate, Example, Instance, MetricError, Reference
from metrics.classification import Classification

Estimated = Callable[..., Mapping[str, Estimate]]
MACRO, MICRO = "classification_macro_f1", "classification_micro_f1"


def _said(prediction: str, *golds: str, id: str = "a", trial: int = 0) -> Example:
    references = tuple(Reference(gold, correct=True) for gold in golds)
    return Example(Instance(id, "", references), prediction=prediction, trial=trial)


def _run(pairs: list[tuple[str, str]]) -> list[Example]:
    return [_said(prediction, gold, id=f"id{index}") for index, (prediction, gold) in enumerate(pairs)]


def test_by_hand(estimated: Estimated) -> None:
    # yes: TP 1, FP 1, FN 1, so 1/2; no: TP 1, FP 0, FN 1, so 2/3; "maybe" is no class.
    pairs = [("Yes.", "yes"), ("yes", "No"), (" no ", "No"), ("maybe", "yes")]
    values = estimated(Classification(), *_run(pairs))
    assert values[MACRO].value == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert values[MICRO].value == pytest.approx(2 * 2 / (4 + 3))
    assert values[MACRO].count == 4


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_definition_from_precision_and_recall(estimated: Estimated, seed: int) -> None:
    rng = random.Random(seed)
    classes = ["red", "green", "blue", "grey"]
    pairs = [(rng.choice([*classes, "unknown", ""]), rng.choice(classes)) for _ in range(200)]
    hits = {c: pairs.count((c, c)) for c in classes}
    given, present = (Counter(side) for side in zip(*pairs, strict=True))
    pooled = sum(hits.values()) / sum(given[c] for c in classes), sum(hits.values()) / len(pairs)
    macro = sum(_harmonic(hits[c] / given[c], hits[c] / present[c]) for c in classes) / len(classes)
    values = estimated(Classification(), *_run(pairs))
    for name, expected in ((MACRO, macro), (MICRO, _harmonic(*pooled))):
        assert values[name].value == pytest.approx(expected)
        low, high = values[name].low, values[name].high
        assert low is not None
        assert high is not None
        assert low < expected < high


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall)


def test_micro_f1_of_known_classes_is_accuracy_with_its_standard_error(estimated: Estimated) -> None:
    pairs = [("yes", "yes")] * 150 + [("no", "yes")] * 50
    micro = estimated(Classification(labels=("Yes", "No")), *_run(pairs))[MICRO]
    assert micro.value == 0.75
    assert micro.stderr == pytest.approx((0.75 * 0.25 / 200) ** 0.5, rel=0.06)


def test_classes_that_never_occur_are_left_out_of_the_mean(estimated: Estimated) -> None:
    examples = _run([("yes", "yes"), ("yes", "no")])
    without, with_unused = Classification(), Classification(labels=("yes", "no", "never"))
    assert (
        estimated(without, *examples)[MACRO].value
        == estimated(with_unused, *examples)[MACRO].value
        == pytest.approx(1 / 3)
    )


def test_articles_are_kept(estimated: Estimated) -> None:
    assert estimated(Classification(), *_run([("A", "A"), ("B", "B")]))[MACRO].value == 1.0


def test_several_classes_in_one_prediction(estimated: Estimated) -> None:
    examples = (_said("red, Blue", "red", "blue"), _said("red", "blue", id="b"), _said("", id="c"))
    values = estimated(Classification(delimiter=","), *examples)
    assert values[MACRO].value == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert values[MICRO].value == pytest.approx(2 * 2 / (3 + 3))


def test_trials_of_an_instance_are_resampled_together(estimated: Estimated) -> None:
    once = _run([("yes", "yes"), ("no", "yes"), ("no", "no"), ("yes", "no")] * 5)
    thrice = [_said(e.prediction, e.correct[0].text, id=e.instance.id, trial=trial) for trial in range(3) for e in once]
    one, three = estimated(Classification(), *once), estimated(Classification(), *thrice)
    assert three[MACRO].value == one[MACRO].value
    assert three[MACRO].count == one[MACRO].count == 20
    assert three[MACRO].stderr == pytest.approx(one[MACRO].stderr)


def test_nothing_gives_no_number(estimated: Estimated) -> None:
    assert estimated(Classification()) == {}


@pytest.mark.parametrize(
    ("metric", "example", "message"),
    [
        (Classification(), _said("yes"), "needs one correct class, and there are 0"),
        (Classification(), _said("yes", "yes", "no"), "needs one correct class, and there are 2"),
        (Classification(labels=("yes", "no")), _said("yes", "perhaps"), "'perhaps' is not one of the labels"),
    ],
)
def test_an_instance_without_its_class_is_refused(metric: Classification, example: Example, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        metric.add(example)
