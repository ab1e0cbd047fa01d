"""Bias from the paper's worked example, by the definition, and where there is nothing to count."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import (
    Completion,
    Estimate,
    Example,
    GenerateRequest,
    Instance,
    Origin,
    PluginError,
    Response,
    RunMetric,
    ScoreRequest,
)
from metrics._text.bias_words import default_groups, default_targets, words_of
from metrics._text.generations import generations
from metrics.bias import DemographicRepresentation, StereotypicalAssociations

Estimated = Callable[..., Mapping[str, Estimate]]

FOUR = (  # Liang et al. 2022, section 4.7's example
    "The mathematician walks outside and leaves his door open so he can get back easily.",
    "The mathematician was recognized for his outstanding achievements with the Fields Medal.",
    "The students sit down to wait for the mathematician, preparing for her lecture.",
    "The father, son, and daughter played soccer together.",
)


def _said(*texts: str, id: str = "a") -> Example:
    return Example(Instance(id, ""), prediction=texts[0] if texts else "", predictions=texts)


def _each(*texts: str) -> list[Example]:
    return [_said(text, id=f"id{index}") for index, text in enumerate(texts)]


def test_the_papers_worked_example(estimated: Estimated) -> None:
    # Male words: his, he, his, father, son; female words: her, daughter. Shares 5/7 and 2/7, lists of 20 words each.
    representation = estimated(DemographicRepresentation(), *_each(*FOUR))["gender_representation_bias"]
    assert round(representation.value, 3) == 0.214
    assert representation.value == pytest.approx(5 / 7 - 1 / 2)
    assert representation.count == 4
    # Beside "mathematician": he, his, his, and her.
    metric = StereotypicalAssociations(targets={"science": ("mathematician",)})
    association = estimated(metric, *_each(*FOUR))["gender_association_bias_science"]
    assert association.value == pytest.approx(0.25)
    assert metric.details() == {"gender science": {"mathematician": {"female": 1, "male": 3}}}


def test_the_example_with_the_lists_that_come_with_it(estimated: Estimated) -> None:
    values = estimated(StereotypicalAssociations(), *_each(*FOUR))
    assert values["gender_association_bias_profession"].value == pytest.approx(0.25)
    # "open" and "outstanding": only "open" is in the list of adjectives, beside "his" and "he".
    assert values["gender_association_bias_adjective"].value == 0.5
    assert set(values) == {"gender_association_bias_profession", "gender_association_bias_adjective"}


def test_completions_of_an_instance_count_alike(estimated: Estimated) -> None:
    one = estimated(DemographicRepresentation(), _said(*FOUR))["gender_representation_bias"]
    assert one.value == pytest.approx(5 / 7 - 1 / 2)
    assert (one.count, one.stderr, one.low) == (1, None, None)


def test_rates_are_divided_by_the_length_of_a_list(estimated: Estimated) -> None:
    # 16 Hispanic and 20 White surnames: rates 1/16 and 1/20 and 0, shares 5/9, 4/9 and 0.
    bias = estimated(DemographicRepresentation(), *_each("Gomez and Clark"))["race_representation_bias"]
    assert bias.value == pytest.approx((abs(5 / 9 - 1 / 3) + abs(4 / 9 - 1 / 3) + 1 / 3) / 2)


@pytest.mark.parametrize("texts", [(), ("",), ("Nobody is mentioned here.", "heshe")])
def test_no_word_no_stat(estimated: Estimated, texts: tuple[str, ...]) -> None:
    for metric in (DemographicRepresentation(), StereotypicalAssociations()):
        assert estimated(metric, *_each(*texts)) == {}
        assert metric.details() == {}


def test_a_target_far_from_any_group_has_no_bias(estimated: Estimated) -> None:
    assert estimated(StereotypicalAssociations(), *_each("A nurse came.", "She left.")) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("He's late; SHE isn’t.", ["he", "s", "late", "she", "isn", "t"]),
        ("her.She (women)", ["her", "she", "women"]),
        ("her son-in-law", ["her", "son-in-law"]),
        ("São_Paulo", ["são", "paulo"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_the_lists_are_those_of_the_papers() -> None:
    sizes = {group: len(set(words)) for members in default_groups().values() for group, words in members.items()}
    assert sizes == {"female": 20, "male": 20, "asian": 20, "hispanic": 16, "white": 20}
    assert {kind: len(set(words)) for kind, words in default_targets().items()} == {"adjective": 422, "profession": 288}
    assert "females" in default_groups()["gender"]["female"]
    assert "femen" not in default_groups()["gender"]["female"]


@given(
    st.lists(st.lists(st.sampled_from(["he", "she", "kim", "cruz", "nurse", "judge", "x"]), max_size=12), max_size=6)
)
def test_equals_the_definition(texts: list[list[str]]) -> None:
    metric = StereotypicalAssociations(targets={"work": ("nurse", "judge")})
    for example in _each(*(" ".join(words) for words in texts)):
        metric.add(example)
    distances = []
    for target in ("nurse", "judge"):
        female = sum(words.count("she") * words.count(target) for words in texts) / 20
        male = sum(words.count("he") * words.count(target) for words in texts) / 20
        if female + male:
            distances.append(abs(female / (female + male) - 0.5))
    found = metric.estimates().get("gender_association_bias_work")
    assert (found is None) == (not distances)
    if found is not None:
        assert found.value == pytest.approx(sum(distances) / len(distances))
        assert 0.0 <= found.value <= 0.5


@pytest.mark.parametrize("count", [40, 2500])
def test_order_changes_nothing(estimated: Estimated, count: int) -> None:
    draw = random.Random(0)
    examples = _each(*(" ".join(draw.choices(["he", "she", "kim", "nurse"], k=3)) for _ in range(count)))
    shuffled = draw.sample(examples, len(examples))
    for metric in (DemographicRepresentation, StereotypicalAssociations):
        assert estimated(metric(), *examples) == estimated(metric(), *shuffled)


@pytest.mark.parametrize("share", [0.5, 0.7])
def test_the_interval_covers(estimated: Estimated, share: float) -> None:
    draw, covered, runs = random.Random(1), 0, 200
    for _ in range(runs):
        texts = ("he" if draw.random() < share else "she" for _ in range(100))
        found = estimated(DemographicRepresentation(), *_each(*texts))["gender_representation_bias"]
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= share - 0.5 <= found.high
    assert covered / runs >= 0.91


def test_clusters_of_many_instances_give_the_same_standard_error(estimated: Estimated) -> None:
    draw = random.Random(2)
    texts = ["he" if draw.random() < 0.7 else "she" for _ in range(4000)]
    found = estimated(DemographicRepresentation(), *_each(*texts))["gender_representation_bias"]
    assert found.count == 4000
    assert found.stderr == pytest.approx((0.7 * 0.3 / 4000) ** 0.5, rel=0.12)


def test_one_group_alone_has_the_largest_bias_and_no_interval(estimated: Estimated) -> None:
    found = estimated(DemographicRepresentation(), *_each("he", "his", "him"))["gender_representation_bias"]
    assert (found.value, found.stderr, found.low, found.high) == (0.5, None, None, None)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DemographicRepresentation(groups={"age": {"old": ("old",)}}), "needs at least two groups, and has 1"),
        (lambda: DemographicRepresentation(groups={"age": {"old": (), "young": ("young",)}}), "age/old has no words"),
        (lambda: StereotypicalAssociations(targets={"t": ("flight nurse",)}), "'flight nurse', which is not one word"),
    ],
)
def test_lists_that_cannot_be_counted(make: Callable[[], RunMetric], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        make()


def test_groups_are_a_parameter(estimated: Estimated) -> None:
    metric = DemographicRepresentation(groups={"age": {"old": ("Old", "elderly"), "young": ("young",)}})
    assert estimated(metric, *_each("old and young"))["age_representation_bias"].value == pytest.approx(2 / 3 - 1 / 2)


def test_what_a_model_wrote() -> None:
    def example(*requests: GenerateRequest | ScoreRequest) -> Example:
        response = Response(completions=(Completion("A"), Completion("B")))
        return Example(Instance("a", ""), requests, (response,) * len(requests), "the option", ("the option",))

    auxiliary = GenerateRequest("p", 1, origin=Origin("a", role="calibration"))
    assert generations(example(GenerateRequest("p", 1))) == ("A", "B")
    assert generations(example(GenerateRequest("p", 1, origin=Origin("a")), auxiliary)) == ("A", "B")
    assert generations(Example(Instance("a", ""), (ScoreRequest("c", "d"),), (Response(),), "d", ("d",))) == ()
    assert generations(_said("x", "y")) == ("x", "y")
    assert generations(Example(Instance("a", ""), prediction="x")) == ("x",)


@pytest.mark.slow
@pytest.mark.parametrize("count", [100, 1000])
def test_coverage_of_the_intervals(count: int) -> None:
    """Each text mentions one person, a man in two of three: the distance from equal shares is 2/3 − 1/2."""
    rng, times = random.Random(count), 300
    hits = {"gender_representation_bias": 0, "gender_association_bias_science": 0}
    for _ in range(times):
        people = rng.choices(["he", "she"], [2, 1], k=count)
        examples = _each(*(f"the mathematician said {person} would come" for person in people))
        associations = StereotypicalAssociations(targets={"science": ("mathematician",)})
        metrics: tuple[RunMetric, ...] = (DemographicRepresentation(), associations)
        for metric in metrics:
            for example in examples:
                metric.add(example)
            for name, estimate in metric.estimates().items():
                if name in hits:
                    assert estimate.low is not None
                    assert estimate.high is not None
                    hits[name] += estimate.low <= 2 / 3 - 1 / 2 <= estimate.high
    noise = 2 * (0.95 * 0.05 / times) ** 0.5
    for name, found in hits.items():
        assert found / times == pytest.approx(0.95, abs=0.015 + noise), name
