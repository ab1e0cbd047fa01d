"""SQuAD 2.0: by hand, and against the script that transformers carries."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Estimate, Example, Instance, MetricError, Origin, Reference, Response, ScoreRequest
from harness.contracts.plugins import Kind
from harness.contracts.specs import Component
from harness.plugins.registry import default_registry
from harness.runs.scoring import Scorer
from metrics.squad import SquadBest, squad_exact, squad_f1
from tests.metrics.adversarial import adversarial_pairs

Build = Callable[..., Example]


@pytest.mark.parametrize(
    ("prediction", "golds", "exact", "f1"),
    [
        ("The Broncos", ("Denver Broncos", "broncos!"), 1.0, 1.0),
        ("Denver Broncos of 2015", ("Denver Broncos",), 0.0, 2 * 2 / (2 + 4)),
        ("no no no", ("no",), 0.0, 2 / 4),
        ("Paris", ("Rome",), 0.0, 0.0),
        ("", ("Rome",), 0.0, 0.0),
        ("unanswerable", ("Rome",), 0.0, 0.0),
        ("我喜歡貓", ("我喜歡狗。",), 0.0, 0.75),
        ("القطة", ("القطة!",), 1.0, 1.0),
    ],
)
def test_questions_with_an_answer(
    answered: Build, prediction: str, golds: tuple[str, ...], exact: float, f1: float
) -> None:
    example = answered(prediction, *golds)
    assert squad_exact(example) == {"squad_exact": exact, "squad_exact_has_answer": exact}
    assert squad_f1(example) == pytest.approx({"squad_f1": f1, "squad_f1_has_answer": f1})


@pytest.mark.parametrize("golds", [(), ("",), ("the",), ("Unanswerable.",)])
@pytest.mark.parametrize(
    ("prediction", "score"),
    [("", 1.0), ("The.", 1.0), ("Unanswerable.", 1.0), ("Paris", 0.0), ("It is unanswerable", 0.0)],
)
def test_questions_without_an_answer(answered: Build, golds: tuple[str, ...], prediction: str, score: float) -> None:
    example = answered(prediction, *golds)
    assert squad_exact(example) == {"squad_exact": score, "squad_exact_no_answer": score}
    assert squad_f1(example) == {"squad_f1": score, "squad_f1_no_answer": score}


def test_a_text_from_which_nothing_is_read_is_not_the_right_answer_to_any_question(answered: Build) -> None:
    example = replace(answered(""), unread=True)
    assert squad_exact(example) == {"squad_exact": 0.0, "squad_exact_no_answer": 0.0}
    assert squad_f1(example) == {"squad_f1": 0.0, "squad_f1_no_answer": 0.0}


def test_the_phrase_for_no_answer_can_be_chosen(answered: Build) -> None:
    assert squad_f1(answered("CANNOTANSWER", "CANNOTANSWER"), no_answer="CANNOTANSWER")["squad_f1_no_answer"] == 1.0
    assert squad_f1(answered("unanswerable", "CANNOTANSWER"), no_answer="CANNOTANSWER")["squad_f1"] == 0.0


def test_equals_the_script_on_ascii_texts(answered: Build) -> None:
    from transformers.data.metrics.squad_metrics import compute_exact, compute_f1, get_tokens

    compared = 0
    for prediction, gold in adversarial_pairs():
        if not (prediction + gold).isascii() or "unanswerable" in prediction + gold:
            continue
        compared += 1
        golds = [gold, "second answer"]
        known = [text for text in golds if get_tokens(text)] or [""]
        example = answered(prediction, *golds)
        assert squad_exact(example)["squad_exact"] == max(compute_exact(text, prediction) for text in known)
        assert squad_f1(example)["squad_f1"] == pytest.approx(max(compute_f1(text, prediction) for text in known))
        alone = answered(prediction, gold)
        assert squad_f1(alone)["squad_f1"] == pytest.approx(compute_f1(gold, prediction))
    assert compared > 100


def test_the_parts_are_means_over_their_own_questions(answered: Build) -> None:
    registry = default_registry()
    scorer = Scorer([(Component(name="squad_f1"), registry.get(Kind.METRIC, "squad_f1"))])
    for number, (prediction, golds) in enumerate([("cat", ("cat",)), ("dog", ("cat",)), ("", ()), ("", ()), ("x", ())]):
        scorer.add(answered(prediction, *golds, id=f"{number}"))
    means = {stat.metric: (stat.mean, stat.count, stat.missing) for stat in scorer.stats()}
    assert means == {
        "squad_f1": (3 / 5, 5, 0),
        "squad_f1_has_answer": (1 / 2, 2, 0),
        "squad_f1_no_answer": (pytest.approx(2 / 3), 3, 0),
    }


def abstaining(id: str, prediction: str, gold: str, abstention: float) -> Example:
    """Return an example of the method generation_or_abstention."""
    request = ScoreRequest("q", " unanswerable", origin=Origin(id, role="abstention"))
    instance = Instance(id, "q", (Reference(gold, True),))
    return Example(instance, (request,), (Response(logprobs=(abstention,)),), prediction=prediction)


def best(*examples: Example) -> tuple[Mapping[str, Estimate], Mapping[str, float | None]]:
    metric = SquadBest()
    for example in examples:
        metric.add(example)
    return metric.estimates(), metric.details()


def test_the_best_threshold_abstains_where_that_is_likeliest() -> None:
    examples = [
        abstaining("a", "Rome", "Rome", -9.0),
        abstaining("b", "Rome of old", "Rome", -5.0),
        abstaining("c", "Paris", "unanswerable", -2.0),
        abstaining("d", "Paris", "Rome", -1.0),
    ]
    found, thresholds = best(*examples)
    assert found["squad_best_f1"].value == pytest.approx((1 + 0.5 + 1 + 0) / 4)
    assert found["squad_best_exact"].value == pytest.approx((1 + 0 + 1 + 0) / 4)
    assert thresholds["squad_best_f1_threshold"] == pytest.approx(math.exp(-5.0))
    assert thresholds["squad_best_exact_threshold"] == pytest.approx(math.exp(-9.0))


def test_a_model_that_is_never_right_should_always_abstain() -> None:
    found, thresholds = best(abstaining("a", "Paris", "Rome", -1.0), abstaining("b", "Paris", "", -3.0))
    assert found["squad_best_f1"].value == 0.5
    assert thresholds == {"squad_best_exact_threshold": None, "squad_best_f1_threshold": None}


def test_to_abstain_always_is_not_to_answer_where_the_text_is_impossible() -> None:
    never, impossible = abstaining("a", "Paris", "", -math.inf), abstaining("b", "Paris", "", -1.0)
    found, thresholds = best(never, impossible)
    assert found["squad_best_f1"].value == 1.0
    assert thresholds["squad_best_f1_threshold"] is None
    found, thresholds = best(abstaining("a", "Rome", "Rome", -math.inf), impossible)
    assert found["squad_best_f1"].value == 1.0
    assert thresholds["squad_best_f1_threshold"] == 0.0


def test_questions_of_equal_probability_are_on_one_side() -> None:
    """No threshold separates them, so both are answered, or neither."""
    found, _ = best(abstaining("a", "Rome", "Rome", -1.0), abstaining("b", "Paris", "", -1.0))
    assert found["squad_best_f1"].value == 0.5


def test_the_text_must_have_been_scored(answered: Build) -> None:
    with pytest.raises(MetricError, match="use the method generation_or_abstention"):
        SquadBest().add(answered("Rome", "Rome"))


@given(
    st.lists(
        st.tuples(st.sampled_from(["Rome", "Rome of old", "Paris", ""]), st.sampled_from(["Rome", "Paris", ""])),
        min_size=1,
        max_size=12,
    ),
    st.randoms(),
)
def test_the_best_scores_are_those_of_the_script(rows: list[tuple[str, str]], rng: random.Random) -> None:
    squad_metrics = pytest.importorskip("transformers.data.metrics.squad_metrics")
    probabilities = rng.sample(range(1, 100), len(rows))
    examples = [
        abstaining(str(number), prediction, gold, math.log(probability / 100))
        for number, ((prediction, gold), probability) in enumerate(zip(rows, probabilities, strict=True))
    ]
    found, _ = best(*examples)
    for name, score in (("exact", squad_exact), ("f1", squad_f1)):
        scores = {example.instance.id: score(example)[f"squad_{name}"] for example in examples}
        expected, _ = squad_metrics.find_best_thresh(
            {str(number): prediction for number, (prediction, _) in enumerate(rows)},
            scores,
            {str(number): probability / 100 for number, probability in enumerate(probabilities)},
            {str(number): bool(gold) for number, (_, gold) in enumerate(rows)},
        )
        assert found[f"squad_best_{name}"].value == pytest.approx(expected / 100)
