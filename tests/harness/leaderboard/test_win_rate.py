"""The mean win rate against examples worked by hand, and against what must hold of any."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.leaderboard.win_rate import Contest, Entry, best, mean_win_rates, ranks, win_rates


def contest(values: dict[str, float], *, name: str = "c", higher: bool = True, stderr: float | None = 0.01) -> Contest:
    return Contest(name, higher, {model: Entry(mean, stderr) for model, mean in values.items()})


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


def test_interval_of_two_models_is_that_of_a_coin_when_they_are_alike_and_a_point_when_far_apart() -> None:
    alike = mean_win_rates([contest({"a": 0.5, "b": 0.5})])["a"]
    assert (alike.low, alike.value, alike.high) == (0.0, 0.5, 1.0)
    apart = mean_win_rates([contest({"a": 0.9, "b": 0.1})])["a"]
    assert (apart.low, apart.value, apart.high) == (1.0, 1.0, 1.0)


def test_interval_is_the_quantiles_of_the_win_rates_of_normal_draws() -> None:
    """Forty columns where a wins with probability p = Φ(0.5/√2): the mean's spread is √(p(1 − p)/40)."""
    columns = [contest({"a": 0.5, "b": 0.0}, name=str(k), stderr=1.0) for k in range(40)]
    rate = mean_win_rates(columns, draws=20_000)["b"]
    p = 0.5 * math.erfc(0.5 / 2)
    reach = 1.96 * math.sqrt(p * (1 - p) / 40)
    assert rate.value == 0.0
    assert rate.low == 0.0, "the interval reaches to the point"
    assert rate.high == pytest.approx(p + reach, abs=0.02)


def test_a_result_without_a_standard_error_leaves_the_interval_out_but_not_the_point() -> None:
    found = mean_win_rates(
        [
            Contest("1", True, {"a": Entry(0.9, None), "b": Entry(0.1, 0.1)}),
            Contest("2", True, {"c": Entry(0.9, 0.1), "d": Entry(0.1, 0.1)}),
        ]
    )
    assert (found["a"].value, found["a"].low, found["b"].high) == (1.0, None, None)
    assert found["c"].low is not None


def test_certain_results_have_intervals_without_width() -> None:
    rate = mean_win_rates([contest({"a": 0.2, "b": 0.2, "c": 0.1}, stderr=0.0)])["a"]
    assert (rate.low, rate.value, rate.high) == (0.75, 0.75, 0.75)


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


@pytest.mark.parametrize(
    ("values", "higher", "expected"),
    [
        ({"a": 0.9, "b": 0.5}, True, {"a"}),
        ({"a": 0.9, "b": 0.5}, False, {"b"}),
        ({"a": 0.9, "b": 0.9, "c": 0.5}, True, {"a", "b"}),
        ({"a": 0.9}, True, set()),
        ({"a": 0.0, "b": 0.0}, True, set()),
        ({"a": 0.5, "b": 0.5, "c": 0.5}, False, set()),
    ],
)
def test_best_needs_a_rival(values: dict[str, float], higher: bool, expected: set[str]) -> None:
    assert best(contest(values, higher=higher)) == expected


MODELS = st.sampled_from("abcdef")
MEANS = st.one_of(st.integers(0, 3).map(lambda n: n / 4), st.floats(-1e6, 1e6, allow_subnormal=False))
TABLES = st.lists(st.tuples(st.booleans(), st.dictionaries(MODELS, MEANS)), max_size=5).map(
    lambda rows: [contest(values, name=str(k), higher=higher) for k, (higher, values) in enumerate(rows)]
)
FULL = st.integers(2, 6).flatmap(
    lambda models: st.lists(st.tuples(st.booleans(), st.lists(MEANS, min_size=models, max_size=models)), min_size=1)
)


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_win_rates_are_as_if_every_pair_were_compared(table: list[Contest]) -> None:
    found = mean_win_rates(table, draws=20)
    for model, rate in found.items():
        expected = []
        for column in table:
            if model not in column.entries or len(column.entries) < 2:
                continue
            own = float(f"{column.entries[model].mean:.12g}") * (1 if column.higher_is_better else -1)
            others = [
                float(f"{entry.mean:.12g}") * (1 if column.higher_is_better else -1)
                for other, entry in column.entries.items()
                if other != model
            ]
            wins = sum(Fraction(own > other) + Fraction(own == other, 2) for other in others)
            expected.append(wins / len(others))
        assert rate.value == pytest.approx(float(sum(expected) / len(expected)))
        assert rate.columns == len(expected)
        assert rate.low is not None
        assert rate.high is not None
        assert 0.0 <= rate.low <= rate.value <= rate.high <= 1.0


@given(FULL)
@settings(max_examples=60, deadline=None)
def test_with_every_cell_defined_the_models_average_one_half(rows: list[tuple[bool, list[float]]]) -> None:
    table = [
        contest({f"m{k}": mean for k, mean in enumerate(means)}, name=str(position), higher=higher)
        for position, (higher, means) in enumerate(rows)
    ]
    found = mean_win_rates(table, draws=2)
    assert math.fsum(rate.value for rate in found.values()) / len(found) == pytest.approx(0.5)


@given(TABLES, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_neither_order_matters_to_the_last_bit(table: list[Contest], shuffler: random.Random) -> None:
    mixed = []
    for column in table:
        items = list(column.entries.items())
        shuffler.shuffle(items)
        mixed.append(Contest(column.name, column.higher_is_better, dict(items)))
    shuffler.shuffle(mixed)
    assert mean_win_rates(mixed, draws=20) == mean_win_rates(table, draws=20)
