"""What is read from the answers to a test of the published order.

A model whose log-likelihood of a shard is higher by a lot in published order is found out, one that does not care is
not; all shards at their best give the smallest p-value there is, (m + 1)^-r; one test too few gives no headline.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Example, Instance, MetricError, Response
from harness.contamination.statistics.boundaries import Boundary, Stretch
from metrics.contamination import Contamination

DATA = {
    "n_examples": 40,
    "n_used": 40,
    "n_tokens": 1000,
    "context": 100,
    "seed": 0,
    "role": "target",
    "exchangeable": True,
    "diagnostics": {},
    "repairs": [],
}


def shard(number: int, scores: Sequence[float], **data: Any) -> Example:
    meta: dict[str, Any] = {"asked": "shard", "number": number}
    if data:
        meta["data"] = {**DATA, **data}
    responses = tuple(
        Response(logprobs=(score / 2, score / 2), prompt_tokens=10, completion_tokens=90) for score in scores
    )
    return Example(Instance(f"shard-{number}", "", meta=meta), (), responses)


def layout(r: int, m: int, **data: Any) -> dict[str, Any]:
    return {"shards": {"r": r, "k_min": 5, "k_max": 5, "shuffles": m}, **data}


def sharded(table: Sequence[Sequence[float]], **data: Any) -> Contamination:
    metric = Contamination()
    for number, scores in enumerate(table):
        metric.add(shard(number, scores, **(layout(len(table), len(scores) - 1, **data) if number == 0 else {})))
    return metric


def noise(r: int, m: int, bonus: float = 0.0, seed: int = 0) -> list[list[float]]:
    rng = Random(seed)
    return [[-100 + rng.gauss(0, 1) + (bonus if k == 0 else 0) for k in range(m + 1)] for _ in range(r)]


def test_all_shards_at_their_best() -> None:
    metric = sharded(noise(8, 25, bonus=50))
    details = metric.details()
    assert details["headline_log10_p"] == pytest.approx(-8 * math.log10(26))
    assert details["verdict"] == "depends on the published order"
    assert metric.estimates()["contamination"].value == pytest.approx(8 * math.log10(26))


def test_no_dependence() -> None:
    details = sharded(noise(20, 10)).details()
    assert details["log10_p_exact"] > -2
    assert details["verdict"] == "no dependence found"


def test_an_order_that_is_not_exchangeable_has_no_p_value() -> None:
    metric = sharded(noise(8, 25, bonus=50), exchangeable=False)
    details = metric.details()
    reason = "the text alone shows that the order is not exchangeable"
    assert (details["verdict"], details["not_testable"]) == ("not testable", reason)
    assert details["no_value"] == f"not testable: {reason}"
    assert details["headline_log10_p"] is None
    assert not any(key.startswith("log10_p") for key in details)
    assert metric.estimates() == {}


def test_p_values_beyond_a_float_survive() -> None:
    metric = sharded(noise(200, 99, bonus=50))
    log10_p = metric.details()["headline_log10_p"]
    assert log10_p == pytest.approx(-400)
    assert json.loads(json.dumps(metric.details()))["headline_log10_p"] == log10_p


def test_cost_is_in_passes() -> None:
    cost = sharded(noise(8, 9)).details()["cost"]
    assert cost == {"requests": 80, "tokens": 8000, "passes": 8.0, "seconds": 0.0}


def test_order_of_the_examples_makes_no_difference() -> None:
    table = noise(8, 5, bonus=1)
    forward, backward = Contamination(), Contamination()
    examples = [shard(number, scores, **layout(8, 5)) for number, scores in enumerate(table)]
    for one in examples:
        forward.add(one)
    for one in reversed(examples):
        backward.add(one)
    assert forward.details()["log10_p_exact"] == backward.details()["log10_p_exact"]


def test_a_missing_shard_leaves_no_headline() -> None:
    metric = Contamination()
    for number, scores in enumerate(noise(8, 5)[:7]):
        metric.add(shard(number, scores, **layout(8, 5)))
    assert metric.estimates() == {}
    assert metric.details() == {}


def stretch(number: int, rng: Random, bonus: float, size: int = 12) -> tuple[Stretch, list[float]]:
    neutral = tuple(example for example in range(size) for _ in range(3))
    boundaries = tuple(Boundary(number * size + place, tuple(range(place, size))) for place in range(size - 1))
    bets = Stretch(size, neutral, boundaries)
    scores = [rng.gauss(-30, 1) for _ in neutral]
    for boundary in boundaries:
        scores += [rng.gauss(-30, 1) + (bonus if k == 0 else 0) for k in range(len(boundary.candidates))]
    return bets, scores


def next_example(bonus: float, seed: int = 0, stretches: int = 4, **settings: Any) -> Contamination:
    metric, rng = Contamination(), Random(seed)
    chosen = {"stop": False, "alpha": 0.001, "stretches": stretches, **settings}
    for number in range(stretches):
        bets, scores = stretch(number, rng, bonus)
        meta: dict[str, Any] = {"asked": "next_example", "number": number, "bets": bets.as_json()}
        if number == 0:
            meta["data"] = {**DATA, "next_example": chosen}
        responses = tuple(Response(logprobs=(score,)) for score in scores)
        metric.add(Example(Instance(f"next-{number}", "", meta=meta), (), responses))
    return metric


def test_what_comes_next_is_known() -> None:
    found = next_example(20.0).details()["next_example"]
    assert found["top1_rate"] == 1.0
    assert found["mean_rank"] == 1.0
    # Candidates number 12, 11, … 2 at the boundaries of each of the four stretches.
    assert found["log10_p"] == pytest.approx(-4 * math.log10(math.factorial(12)), abs=0.01)
    assert found["stopped_at"] is not None
    assert [rank for _, rank, _ in found["per_boundary_rank"]] == [1] * 44


def test_with_stopping_the_p_value_is_that_of_the_evidence() -> None:
    found = next_example(20.0, stop=True).details()["next_example"]
    assert found["log10_p_rank"] is None
    assert found["log10_p"] == -found["max_log10_E"]
    assert found["max_log10_E"] > 3


def test_next_example_keeps_its_level() -> None:
    """Of 40 nulls 2 are expected below 0.05; that there are more than 8 has probability 0.0001."""
    found = [next_example(0.0, seed=seed, stretches=2).details()["next_example"]["log10_p"] for seed in range(40)]
    assert sum(log10_p <= math.log10(0.05) for log10_p in found) <= 8
    assert sum(log10_p <= math.log10(0.6) for log10_p in found) >= 10  # it rejects as often as it may, not never


def block(number: int, scores: Sequence[float], groups: Sequence[int], **data: Any) -> Example:
    meta: dict[str, Any] = {"asked": "neighbours", "number": number, "groups": list(groups)}
    if data:
        meta["data"] = {**DATA, "neighbours": {"head": 64, "blocks": 1}, **data}
    return Example(Instance(f"b-{number}", "", meta=meta), (), tuple(Response(logprobs=(one,)) for one in scores))


def neighbours(bonus: float, blocks: int = 3, size: int = 6, missing: int = 0) -> dict[str, Any]:
    """Return the details if each example is likelier after the one before it, by a bonus in nats."""
    metric, rng = Contamination(), Random(0)
    for number in range(blocks - missing):
        pairs = [(one, other) for one in range(size) for other in range(size) if one != other]
        scores = [rng.gauss(-30, 1) + (bonus if other == one + 1 else 0) for one, other in pairs]
        first = {"neighbours": {"head": 64, "blocks": blocks}} if number == 0 else {}
        metric.add(block(number, scores, [0] * size, **first))
    return dict(metric.details())


def test_neighbours_that_fit_are_found() -> None:
    found = neighbours(20.0)
    assert found["neighbours"]["log10_p"] == pytest.approx(-3 * math.log10(720))
    assert found["neighbours"]["log10_p_floor"] == pytest.approx(-3 * math.log10(720))
    assert (found["neighbours"]["blocks"], found["neighbours"]["largest_block"], found["headline_tests"]) == (3, 6, 1)
    assert found["headline_log10_p"] == found["neighbours"]["log10_p"]
    assert -2 < neighbours(0.0)["headline_log10_p"] <= 0
    assert neighbours(20.0, missing=1) == {}


def test_a_first_look_uses_none_of_the_neighbour_tests_level() -> None:
    metric, rng = Contamination(), Random(0)
    look = {"shuffles": 5, "share": 0.2, "clear": 1e-4, "open": 0.2}
    data = {**layout(8, 25, first_look=look), "neighbours": {"head": 64, "blocks": 1}, "n_used": 6}
    for number, scores in enumerate(noise(8, 5)):
        one = shard(number, scores, **(data if number == 0 else {}))
        metric.add(replace(one, instance=one.instance.replace(meta={**one.instance.meta, "look": 1})))
    pairs = [(one, other) for one in range(6) for other in range(6) if one != other]
    metric.add(block(0, [rng.gauss(0, 1) + 20 * (other == one + 1) for one, other in pairs], [0] * 6))
    found = metric.details()
    assert found["headline_tests"] == 2
    assert found["headline_log10_p"] == pytest.approx(math.log10(2 / 720))


def looked(first: Sequence[Sequence[float]], more: Sequence[Sequence[float]] = (), m: int = 10) -> dict[str, Any]:
    metric = Contamination()
    look = {"shuffles": len(first[0]) - 1, "share": 0.2, "clear": 1e-4, "open": 0.5}
    for number, scores in enumerate(first):
        one = shard(number, scores, **(layout(len(first), m, first_look=look) if number == 0 else {}))
        metric.add(replace(one, instance=one.instance.replace(meta={**one.instance.meta, "look": 1})))
    for number, scores in enumerate(more):
        two = shard(number, scores)
        metric.add(replace(two, instance=two.instance.replace(meta={**two.instance.meta, "look": 2})))
    return dict(metric.details())


def test_a_first_look_alone_has_its_share_of_the_level() -> None:
    found = looked(noise(8, 5, bonus=50))
    assert found["headline_log10_p"] == pytest.approx(-8 * math.log10(6) - math.log10(0.2))
    assert (found["looks"]["second"], found["shuffles"], found["looks"]["second_cost"]["requests"]) == (False, 5, 0)


def test_a_second_look_counts_with_what_is_left_of_the_level() -> None:
    table = noise(8, 10, bonus=1)
    found = looked([row[:6] for row in table], [row[6:] for row in table])
    whole, first = sharded(table).details(), sharded([row[:6] for row in table]).details()
    assert found["log10_p_exact"] == whole["log10_p_exact"]
    assert found["looks"]["first_log10_p"] == first["log10_p_exact"]
    assert found["headline_log10_p"] == pytest.approx(
        min(first["log10_p_exact"] - math.log10(0.2), whole["log10_p_exact"] - math.log10(0.8))
    )
    assert (found["shuffles"], found["looks"]["second_cost"]["requests"], found["cost"]["requests"]) == (10, 40, 88)


def test_a_second_look_that_is_not_complete_gives_no_result() -> None:
    table = noise(8, 10)
    assert looked([row[:6] for row in table], [row[6:] for row in table[:7]]) == {}


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 5))
def test_the_simple_test_is_besag_and_clifford(scores: list[int], h: int) -> None:
    metric = Contamination()
    metric.add(shard(0, [3.0, 1.0, 0.0, -1.0], **layout(1, 3)))
    meta = {"asked": "whole", "number": 0, "h": h, "most": len(scores)}
    responses = tuple(Response(logprobs=(float(score),)) for score in [2, *scores])
    metric.add(Example(Instance("whole-001", "", meta=meta), (), responses))
    details = metric.details()
    better = 0
    for drawn, score in enumerate(scores, start=1):
        better += score >= 2
        if better == h:
            assert details["p_permutation"] == pytest.approx(h / drawn)
            break
    else:
        assert details["p_permutation"] == pytest.approx((1 + better) / (len(scores) + 1))


def test_other_examples_are_refused() -> None:
    with pytest.raises(MetricError, match="only reads the answers of the adapters exchangeability"):
        Contamination().add(Example(Instance("1", "question")))
    with pytest.raises(MetricError, match="no finite log-probabilities"):
        Contamination().add(Example(Instance("1", "", meta={"asked": "shard", "number": 0}), (), (Response(),)))
    with pytest.raises(MetricError, match="between 0 and 1"):
        Contamination(alpha=0)
