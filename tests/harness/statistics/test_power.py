"""How many instances a comparison needs, and what it could have shown."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from harness.contracts.scales import BOUNDED, COUNT, PROPORTION, SMOOTH
from harness.statistics import clustered_difference, permutation_test
from harness.statistics.power import (
    bounded_variance,
    detectable_difference,
    fewest_units,
    instances_needed,
    paired_variance,
)

VARIANCES = st.floats(0.0, 2.0)
DETECTS = st.floats(0.005, 0.9)
STEPS = st.sampled_from([0.0, 0.25, 1.0])
POWERS = st.floats(0.1, 0.99)
LEVELS = st.floats(0.0005, 0.09)


def mcnemar_power(instances: int, disagreeing: float, difference: float) -> float:
    """The exact power of the exact test at .05, by summing over all numbers of disagreements and of gains."""
    power = 0.0
    for number in range(instances + 1):
        weight = float(binom.pmf(number, instances, disagreeing))
        if weight < 1e-9:
            continue
        gains = np.arange(number + 1)
        p = np.minimum(1.0, 2.0 * binom.cdf(np.minimum(gains, number - gains), number, 0.5))
        chances = binom.pmf(gains, number, (disagreeing + difference) / 2 / disagreeing)
        power += weight * float(chances[p <= 0.05].sum())
    return power


@pytest.mark.parametrize(
    ("disagreeing", "difference", "by_hand"),
    [(0.20, 0.02, 3922.08), (0.20, 0.10, 154.60), (0.50, 0.20, 95.72)],
)
def test_without_a_step_it_is_connors_formula(disagreeing: float, difference: float, by_hand: float) -> None:
    # z(.975)·√ψ + z(.8)·√(ψ − δ²), squared, over δ²
    written = (1.959964 * math.sqrt(disagreeing) + 0.841621 * math.sqrt(disagreeing - difference**2)) ** 2
    assert written / difference**2 == pytest.approx(by_hand, abs=0.01)
    assert instances_needed(disagreeing - difference**2, difference) == math.ceil(by_hand)


@pytest.mark.parametrize(
    ("disagreeing", "difference"), [(0.2, 0.05), (0.5, 0.05), (0.1, 0.05), (0.5, 0.2), (0.2, 0.1), (0.05, 0.03)]
)
def test_the_exact_test_of_right_and_wrong_answers_has_the_power_asked_for(
    disagreeing: float, difference: float
) -> None:
    needed = instances_needed(disagreeing - difference**2, difference, step=1.0)
    assert 0.8 <= mcnemar_power(needed, disagreeing, difference) < 0.85
    assert mcnemar_power(round(0.9 * needed), disagreeing, difference) < 0.8


def test_simulated_scores_between_the_bounds_are_shown_as_often_as_asked() -> None:
    rng = np.random.default_rng(7)
    needed = instances_needed(0.09, 0.1)
    shown = 0
    for _ in range(200):
        differences = np.clip(rng.normal(0.1, 0.3, needed), -1.0, 1.0).tolist()
        shown += permutation_test(differences, resamples=1_000) < 0.05
    assert 0.7 < shown / 200 < 0.9


@given(variance=VARIANCES, detect=DETECTS, step=STEPS, power=POWERS, level=LEVELS)
def test_the_number_of_instances_can_show_the_difference_and_one_fewer_cannot(
    variance: float, detect: float, step: float, power: float, level: float
) -> None:
    needed = instances_needed(variance, detect, step=step, power=power, level=level)
    found = detectable_difference(variance, needed, step=step, power=power, level=level)
    assert found is not None
    assert found <= detect * (1 + 1e-6)
    fewer = detectable_difference(variance, needed - 1, step=step, power=power, level=level)
    assert fewer is None or fewer >= detect * (1 - 1e-6)


@given(variance=VARIANCES, detect=DETECTS, step=STEPS, more=st.floats(1.0, 3.0))
def test_more_is_needed_for_a_smaller_difference_more_power_more_variance_and_a_stricter_level(
    variance: float, detect: float, step: float, more: float
) -> None:
    needed = instances_needed(variance, detect, step=step)
    assert instances_needed(variance, detect / more, step=step) >= needed
    assert instances_needed(variance * more, detect, step=step) >= needed
    assert instances_needed(variance, detect, step=step, power=1 - 0.2 / more) >= needed
    assert instances_needed(variance, detect, step=step, level=0.05 / more) >= needed
    assert instances_needed(variance, detect, step=step * more) >= needed


@given(variance=VARIANCES, count=st.integers(6, 100_000), step=STEPS, more=st.integers(1, 1_000))
def test_more_instances_show_smaller_differences(variance: float, count: int, step: float, more: int) -> None:
    before = detectable_difference(variance, count, step=step)
    after = detectable_difference(variance, count + more, step=step)
    assert before is not None
    assert after is not None
    assert after <= before


def test_of_many_instances_it_is_two_point_eight_standard_errors() -> None:
    found = detectable_difference(0.3, 1_000_000)
    assert found == pytest.approx((1.959964 + 0.841621) * math.sqrt(0.3 / 1_000_000), rel=0.001)


def test_too_few_instances_or_clusters_can_show_nothing() -> None:
    assert fewest_units(0.05) == 6
    assert permutation_test([1.0] * 6) <= 0.05 < permutation_test([1.0] * 5)
    assert detectable_difference(0.1, 5) is None
    assert detectable_difference(0.1, 500, units=5) is None
    assert detectable_difference(0.1, 500, units=6) is not None
    assert detectable_difference(0.5, 8, step=1.0, widest=0.5) is None


def test_answers_that_never_disagree_do_not_promise_that_none_would() -> None:
    same = [1.0, 0.0] * 15
    variance = paired_variance(same, same, PROPORTION)
    assert variance == pytest.approx(2 / 32)
    found = detectable_difference(variance, 30, step=1.0)
    assert found is not None
    assert found > 6 / 30 - 0.02  # an exact test needs six answers that differ, all in one direction


def test_the_variance_is_that_of_the_differences() -> None:
    first, second = [3.0, 5.0, 8.0, 1.0], [1.0, 5.0, 2.0, 2.0]
    assert paired_variance(first, second, COUNT) == pytest.approx(np.var([2, 0, 6, -1], ddof=1))
    assert paired_variance(first, second, None) == paired_variance(first, second, COUNT)
    assert paired_variance([0.2, 0.4], [0.2, 0.4], SMOOTH) == 0.0
    assert paired_variance([0.2, 0.4], [0.2, 0.4], BOUNDED) == pytest.approx(0.5 / 2.5)


def test_of_clusters_it_is_that_of_the_clustered_standard_error() -> None:
    rng = random.Random(3)
    clusters = [number // 4 for number in range(200)]
    shared = {number: rng.gauss(0, 1) for number in range(50)}
    first = [shared[cluster] + rng.gauss(0, 0.5) for cluster in clusters]
    second = [rng.gauss(0, 0.5) for _ in clusters]
    estimate = clustered_difference(first, second, clusters, None)
    assert estimate.stderr is not None
    found = paired_variance(first, second, None, clusters)
    assert found == pytest.approx(200 * estimate.stderr**2)
    assert found > 2.0 * paired_variance(first, second, None)
    alone = list(range(200))
    assert paired_variance(first, second, None, alone) == pytest.approx(paired_variance(first, second, None))


def test_parts_that_differ_in_their_means_add_no_variance() -> None:
    first = [0.0, 1.0] * 50 + [10.0, 11.0] * 50
    second = [0.0] * 200
    parts = ["easy"] * 100 + ["hard"] * 100
    assert paired_variance(first, second, None, parts=parts) == pytest.approx(0.25, rel=0.02)
    assert paired_variance(first, second, None) > 25.0


@given(shares=st.tuples(st.floats(0, 1), st.floats(0, 1)), seed=st.integers(0, 10_000))
def test_the_bound_holds_for_models_that_answer_independently(shares: tuple[float, float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (rng.random(400) < share for share in shares)
    bound = bounded_variance(PROPORTION)
    assert bound == 0.5
    exact = sum(share * (1 - share) for share in shares)
    assert exact <= bound
    agreement = float((first == second).mean())
    measured = float(np.var(first.astype(float) - second.astype(float)))
    at_agreement = bounded_variance(PROPORTION, agreement)
    assert at_agreement is not None
    assert measured <= at_agreement + 1e-12


def test_an_unbounded_score_has_no_bound() -> None:
    assert bounded_variance(COUNT) is None


@pytest.mark.parametrize("wrong", [{"power": 1.2}, {"power": 0.01}, {"level": 0.0}, {"level": 1.0}])
def test_arguments_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="level < power"):
        instances_needed(0.2, 0.02, **wrong)
    with pytest.raises(ValueError, match="level < power"):
        detectable_difference(0.2, 100, **wrong)  # type: ignore[arg-type]
    for variance, detect in ((-0.1, 0.02), (math.nan, 0.02), (0.2, 0.0), (0.2, -0.1), (0.2, math.inf)):
        with pytest.raises(ValueError, match="must be"):
            instances_needed(variance, detect)
    with pytest.raises(ValueError, match="from 0 to 1"):
        bounded_variance(PROPORTION, 1.5)
    with pytest.raises(ValueError, match="two or more pairs"):
        paired_variance([1.0], [0.0], PROPORTION)
