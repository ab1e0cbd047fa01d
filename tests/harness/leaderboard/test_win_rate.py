"""The mean win rate against examples worked by hand, and against what must hold of any."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.leaderboard.pairwise import Contest, ContestResult
from harness.leaderboard.win_rate import mean_win_rates, ranks, win_rates
from harness.storage.instance_scores import InstanceScores


def contest(
    values: dict[str, float],
    *,
    name: str = "c",
    higher: bool = True,
    stderr: float | None = 0.01,
    bounds: tuple[float, float] | None = (0.0, 1.0),
) -> Contest:
    return Contest(name, higher, {model: ContestResult(mean, stderr, 1000) for model, mean in values.items()}, bounds)


@pytest.mark.parametrize(
    ("values", "higher", "expected"),
    [
        ({"a": 0.9, "b": 0.5, "c": 0.1}, True, {"a": 1.0, "b": 0.5, "c": 0.0}),
        ({"a": 0.9, "b": 0.5, "c": 0.1}, False, {"a": 0.0, "b": 0.5, "c": 1.0}),
        ({"a": 0.5, "b": 0.5}, True, {"a": 0.5, "b": 0.5}),
        ({"a": 0.5, "b": 0.5}, False, {"a": 0.5, "b": 0.5}),
        # b beats one and ties with one of three: (1 + ½)/3.
        ({"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.1}, True, {"a": 1.0, "b": 0.5, "c": 0.5, "d": 0.0}),
        ({"a": 0.9, "b": 0.9, "c": 0.9, "d": 0.1}, True, {"a": 2 / 3, "b": 2 / 3, "c": 2 / 3, "d": 0.0}),
        ({"a": 0.9, "b": 0.9, "c": 0.9, "d": 0.1}, False, {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3, "d": 1.0}),
        # Sums in another order: equal but for the last bits.
        ({"a": 0.1 + 0.2, "b": 0.3}, True, {"a": 0.5, "b": 0.5}),
        # Small numbers are not rounded away.
        ({"a": 1e-30, "b": 2e-30}, True, {"a": 0.0, "b": 1.0}),
        ({"a": -3.0, "b": -2.0}, True, {"a": 0.0, "b": 1.0}),
        ({"a": 0.5}, True, {}),
        ({}, True, {}),
    ],
)
def test_win_rates_by_hand(values: dict[str, float], higher: bool, expected: dict[str, float]) -> None:
    assert win_rates(contest(values, higher=higher)) == pytest.approx(expected)


def test_undefined_cells_are_left_out_of_the_average() -> None:
    found = mean_win_rates(
        [
            contest({"a": 0.9, "b": 0.5, "c": 0.1}, name="1"),  # a 1, b ½, c 0
            contest({"a": 0.2, "b": 0.3}, name="2"),  # a 0, b 1; c was not run
            contest({"a": 7.0, "c": 9.0}, name="3", higher=False),  # a 1, c 0; b was not run
            contest({"c": 0.4}, name="4"),  # nobody to compare with
        ]
    )
    assert {model: rate.value for model, rate in found.items()} == pytest.approx({"a": 2 / 3, "b": 3 / 4, "c": 0.0})
    assert {model: (rate.columns, rate.of) for model, rate in found.items()} == {"a": (3, 3), "b": (2, 3), "c": (2, 3)}


def test_one_model_has_no_win_rate() -> None:
    assert mean_win_rates([contest({"a": 0.9}), contest({"a": 0.2}, name="d")]) == {}


def of_scores(rows: dict[str, list[list[float]]], higher: bool = True) -> list[Contest]:
    """One contest for each column of instances' scores, in which the models answered the same instances."""
    names = [f"{index:06d}".encode() for index in range(10_000)]
    contests = []
    for column in range(len(next(iter(rows.values())))):
        entries = {}
        for model, columns in rows.items():
            scores = columns[column]
            entries[model] = ContestResult(
                float(np.mean(np.array(scores, dtype=np.float32))),
                float(np.std(scores, ddof=1)) / math.sqrt(len(scores)),
                len(scores),
                (InstanceScores.of(zip(names, scores, strict=False)),),
            )
        contests.append(Contest(str(column), higher, entries))
    return contests


def normal_columns(means: Sequence[tuple[float, ...]], covariance: list[list[float]], count: int) -> list[Contest]:
    """Columns whose instances' scores have these means, and whose means have this covariance, exactly."""
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal((count, len(covariance)))
    drawn -= drawn.mean(axis=0)
    drawn = drawn @ np.linalg.inv(np.linalg.cholesky(np.cov(drawn.T)).T)
    spread = drawn @ np.linalg.cholesky(np.array(covariance) * count).T
    rows = {
        f"m{i}": [(spread[:, i] + column[i]).tolist() for column in zip(*means, strict=True)]
        for i in range(len(covariance))
    }
    return of_scores(rows)


def test_vectors_worked_out_elsewhere() -> None:
    two = [(0.5, 0.4, 0.7), (0.6, 0.55, 0.72)]
    found = mean_win_rates(normal_columns(two, [[0.0025, 0.001], [0.001, 0.0024]], 100))
    assert [[rate.low, rate.high] for rate in found.values()] == [
        pytest.approx([0.0, 2 / 3]),
        pytest.approx([1 / 3, 1.0]),
    ]
    three = [(0.5, 0.4, 0.7, 0.5), (0.6, 0.55, 0.72, 0.45), (0.9, 0.8, 0.95, 0.7)]
    found = mean_win_rates(normal_columns(three, (0.0015 * np.eye(3) + 0.0008).tolist(), 100))
    assert [(rate.low, rate.high) for rate in found.values()] == [(0.0, 0.5), (0.0, 0.5), (1.0, 1.0)]
    assert [(rate.first, rate.last) for rate in found.values()] == [(2, 3), (2, 3), (1, 1)]


def test_two_models_that_are_alike_may_win_all_or_nothing_and_two_far_apart_only_one() -> None:
    alike = mean_win_rates([contest({"a": 0.5, "b": 0.5})])["a"]
    assert (alike.low, alike.value, alike.high) == (0.0, 0.5, 1.0)
    assert (alike.first, alike.last) == (1, 2)
    assert alike.undecided
    apart = mean_win_rates([contest({"a": 0.9, "b": 0.1})])
    assert (apart["a"].low, apart["a"].value, apart["a"].high) == (1.0, 1.0, 1.0)
    assert (apart["b"].low, apart["b"].high) == (0.0, 0.0)
    assert [(rate.first, rate.last) for rate in apart.values()] == [(1, 1), (2, 2)]
    assert not apart["a"].undecided


def test_the_same_instances_tell_models_apart_that_others_cannot() -> None:
    """One model is right wherever the other one is and on 30 of 400 more; apart, these are within the noise."""
    harder = [float(index % 2) for index in range(400)]
    better = [1.0 if index < 60 else score for index, score in enumerate(harder)]
    columns = of_scores({"a": [better], "b": [harder]})
    paired = mean_win_rates(columns)["a"]
    assert (paired.low, paired.value, paired.high) == (1.0, 1.0, 1.0)
    apart = [
        replace(each, results={name: replace(entry, scores=()) for name, entry in each.results.items()})
        for each in columns
    ]
    unpaired = mean_win_rates(apart)["a"]
    assert (unpaired.low, unpaired.value, unpaired.high) == (0.0, 1.0, 1.0)


def test_a_result_without_a_standard_error_counts_as_undecided() -> None:
    found = mean_win_rates(
        [
            Contest("1", True, {"a": ContestResult(0.9, None), "b": ContestResult(0.1, 0.01, 1000)}),
            Contest("2", True, {"a": ContestResult(0.9, 0.01, 1000), "b": ContestResult(0.1, 0.01, 1000)}),
            Contest("3", True, {"c": ContestResult(0.9, None), "d": ContestResult(0.1, None)}),
        ]
    )
    assert (found["a"].value, found["a"].low, found["a"].high) == (1.0, 0.5, 1.0)
    assert (found["c"].value, found["c"].low, found["c"].high) == (1.0, None, None)


def test_where_columns_have_more_or_fewer_models_the_lightest_wins_are_counted() -> None:
    """A win over one of four models weighs an eighth here, one over the only other model a half."""
    many = contest({"a": 0.9, "b": 0.1, "c": 0.1, "d": 0.1, "e": 0.1}, name="many")
    rate = mean_win_rates([many, contest({"a": 0.5, "b": 0.5}, name="two")])["a"]
    assert [rate.low, rate.value, rate.high] == pytest.approx([0.5, 0.75, 1.0])
    columns = [contest({"a": 0.9, "b": 0.1}, name=str(k)) for k in range(3)]
    rate = mean_win_rates([*columns, contest({"a": 0.2, "c": 0.9, "d": 0.9}, name="x")])["a"]
    assert [rate.low, rate.value, rate.high] == pytest.approx([0.5, 0.75, 0.75])


def test_the_ranks_of_two_models_say_what_their_intervals_say() -> None:
    """The difference has z = 2.35: certain at the level 0.95, and not at 0.975."""
    found = mean_win_rates([contest({"a": 0.53, "b": 0.47}, stderr=0.06 / 2.35 / math.sqrt(2))])
    assert [(rate.low, rate.high) for rate in found.values()] == [(1.0, 1.0), (0.0, 0.0)]
    assert [(rate.first, rate.last) for rate in found.values()] == [(1, 1), (2, 2)]


def test_metrics_of_the_same_instances_are_less_certain_than_columns_of_their_own() -> None:
    """Four weak results, z = 1.6: together they show something only if they are independent."""
    columns = [contest({"a": 0.53, "b": 0.47}, stderr=0.06 / 1.6 / math.sqrt(2), name=str(k)) for k in range(4)]
    assert (mean_win_rates(columns)["a"].low or 0.0) > 0.0
    assert mean_win_rates([replace(each, instances="one") for each in columns])["a"].low == 0.0


def _covered(gap: float, count: int, times: int) -> tuple[float, float]:
    """Return how often all win rates, and all rank sets, of three models over five columns hold the truth."""
    rng = np.random.default_rng(count)
    truth = {"a": 0.0, "b": 0.5, "c": 1.0}
    rates = ranked = 0
    for _ in range(times):
        rows: dict[str, list[list[float]]] = {model: [] for model in truth}
        for _ in range(5):
            hard = rng.standard_normal(count)
            for place, model in enumerate(truth):
                answers = hard + rng.standard_normal(count) < math.sqrt(2) * 2.5 * gap * (place - 1)
                rows[model].append(answers.astype(float).tolist())
        found = mean_win_rates(of_scores(rows))
        rates += all((rate.low or 0.0) <= truth[model] <= (rate.high or 0.0) for model, rate in found.items())
        ranked += all(rate.first <= 3 - 2 * truth[model] <= rate.last for model, rate in found.items())
    return rates / times, ranked / times


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, 100])
def test_coverage(count: int) -> None:
    rates, ranked = _covered(0.05, count, 200)
    assert rates >= 0.95
    assert ranked >= 0.95


def test_thirty_models_and_a_hundred_columns_take_a_moment() -> None:
    rng = np.random.default_rng(0)
    columns = [
        Contest(str(k), True, {f"m{i}": ContestResult(float(rng.uniform()), 0.01, 1000) for i in range(30)})
        for k in range(100)
    ]
    start = time.process_time()
    assert len(mean_win_rates(columns)) == 30
    assert time.process_time() - start < 5.0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"a": 0.9, "b": 0.5, "c": 0.1}, {"a": 1, "b": 2, "c": 3}),
        ({"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.1}, {"a": 1, "b": 2, "c": 2, "d": 4}),
        ({"a": 0.1 + 0.2, "b": 0.3}, {"a": 1, "b": 1}),
        ({}, {}),
    ],
)
def test_ranks_are_shared_by_ties(values: dict[str, float], expected: dict[str, int]) -> None:
    assert ranks(values) == expected


MODELS = st.sampled_from("abcdef")
MEANS = st.one_of(st.integers(0, 3).map(lambda n: n / 4), st.floats(-1e6, 1e6, allow_subnormal=False))
TABLES = st.lists(st.tuples(st.booleans(), st.dictionaries(MODELS, MEANS)), max_size=5).map(
    lambda rows: [contest(values, name=str(k), higher=higher, bounds=None) for k, (higher, values) in enumerate(rows)]
)
FULL = st.integers(2, 6).flatmap(
    lambda models: st.lists(st.tuples(st.booleans(), st.lists(MEANS, min_size=models, max_size=models)), min_size=1)
)


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_win_rates_are_as_if_every_pair_were_compared(table: list[Contest]) -> None:
    found = mean_win_rates(table)
    for model, rate in found.items():
        expected = []
        for column in table:
            if model not in column.results or len(column.results) < 2:
                continue
            own = float(f"{column.results[model].mean:.12g}") * (1 if column.higher_is_better else -1)
            others = [
                float(f"{entry.mean:.12g}") * (1 if column.higher_is_better else -1)
                for other, entry in column.results.items()
                if other != model
            ]
            wins = sum(Fraction(own > other) + Fraction(own == other, 2) for other in others)
            expected.append(wins / len(others))
        assert rate.value == pytest.approx(float(sum(expected) / len(expected)))
        assert rate.columns == len(expected)
        assert rate.low is not None
        assert rate.high is not None
        assert 0.0 <= rate.low <= rate.value <= rate.high <= 1.0
        assert rate.first <= ranks({name: each.value for name, each in found.items()})[model] <= rate.last


@given(FULL)
@settings(max_examples=60, deadline=None)
def test_with_every_cell_defined_the_models_average_one_half(rows: list[tuple[bool, list[float]]]) -> None:
    table = [
        contest({f"m{k}": mean for k, mean in enumerate(means)}, name=str(position), higher=higher, bounds=None)
        for position, (higher, means) in enumerate(rows)
    ]
    found = mean_win_rates(table)
    assert math.fsum(rate.value for rate in found.values()) / len(found) == pytest.approx(0.5)


@given(TABLES, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_neither_order_matters_to_the_last_bit(table: list[Contest], shuffler: random.Random) -> None:
    mixed = []
    for column in table:
        items = list(column.results.items())
        shuffler.shuffle(items)
        mixed.append(Contest(column.name, column.higher_is_better, dict(items)))
    shuffler.shuffle(mixed)
    assert mean_win_rates(mixed) == mean_win_rates(table)
