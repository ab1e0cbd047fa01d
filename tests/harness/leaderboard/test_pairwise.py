"""How sure it is that one model is better than another, against formulas written out, and ranks within a column."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t, ttest_rel

from harness.contracts import PROPORTION
from harness.leaderboard.pairwise import Contest, ContestResult, column_ranks, covariances_of_means, z_scores
from harness.statistics import paired_difference
from harness.storage.instance_scores import InstanceScores

KEYS = [f"{index:06d}".encode() for index in range(2000)]


def entry(*runs: dict[int, float], paired: bool = True) -> ContestResult:
    """The mean of runs, given as scores by instance."""
    means = [float(np.mean(np.array(list(run.values()), dtype=np.float32))) for run in runs]
    variances = [float(np.var(list(run.values()), ddof=1)) / len(run) for run in runs]
    scores = tuple(InstanceScores.of((KEYS[place], score) for place, score in run.items()) for run in runs)
    return ContestResult(
        math.fsum(means) / len(means),
        math.sqrt(math.fsum(variances)) / len(runs),
        len(runs) ** 2 / math.fsum(1 / len(run) for run in runs),
        scores if paired else (),
    )


def listed(*scores: float) -> dict[int, float]:
    return dict(enumerate(scores))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=60))
@settings(deadline=None)
def test_zeros_and_ones_are_tested_as_bonett_and_price_s_interval_says(pairs: list[tuple[bool, bool]]) -> None:
    first, second = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    found = z_scores(Contest("c", True, {"a": entry(listed(*first)), "b": entry(listed(*second))}))
    assert found[0, 1] == pytest.approx(-found[1, 0])
    interval = paired_difference(first, second, PROPORTION)
    assert interval.low is not None
    assert interval.high is not None
    middle, reach = (interval.low + interval.high) / 2, (interval.high - interval.low) / 2
    if interval.low > -1.0 and interval.high < 1.0:
        assert found[0, 1] == pytest.approx(middle / reach * 1.959963985, rel=1e-5, abs=1e-6)


def test_unbounded_scores_are_tested_by_student() -> None:
    rng = np.random.default_rng(0)
    first = rng.lognormal(1.0, 1.0, 25)
    second = first + rng.normal(0.4, 1.0, 25)
    entries = {"a": entry(listed(*first)), "b": entry(listed(*second))}
    p = norm.sf(z_scores(Contest("c", False, entries, None))[0, 1])
    assert p == pytest.approx(ttest_rel(second, first, alternative="greater").pvalue, rel=1e-4)


def test_scores_of_a_range_are_in_units_of_it() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.uniform(0, 1, (2, 40))
    small = Contest("c", True, {"a": entry(listed(*first)), "b": entry(listed(*second))})
    large = Contest("c", True, {"a": entry(listed(*(100 * first))), "b": entry(listed(*(100 * second)))}, (0.0, 100.0))
    assert z_scores(large) == pytest.approx(z_scores(small), rel=1e-4)


def test_pairing_follows_the_instances_whatever_their_order_and_number() -> None:
    rng = np.random.default_rng(2)
    hard = rng.normal(0, 1, 300)
    first, second = ((hard + rng.normal(shift, 0.5, 300) > 0).astype(float) for shift in (0.2, 0.0))
    whole = Contest("c", True, {"a": entry(listed(*first)), "b": entry(listed(*second))})
    backwards = dict(reversed(list(enumerate(second))))
    mixed = Contest("c", True, {"a": entry(listed(*first)), "b": entry(backwards)})
    assert z_scores(mixed) == pytest.approx(z_scores(whole))
    shorter = Contest("c", True, {"a": entry(listed(*first)), "b": entry(listed(*second[:299]))})
    assert z_scores(shorter) == pytest.approx(z_scores(whole), rel=0.05)
    elsewhere = entry({place + 1000: score for place, score in enumerate(second)})
    apart = Contest("c", True, {"a": entry(listed(*first)), "b": elsewhere})
    unpaired = Contest("c", True, {"a": entry(listed(*first), paired=False), "b": entry(listed(*second), paired=False)})
    assert z_scores(apart) == pytest.approx(z_scores(unpaired), rel=1e-6)
    assert abs(z_scores(apart)[0, 1]) < 0.8 * abs(z_scores(whole)[0, 1])


def test_a_mean_of_runs_adds_the_variances_of_its_parts() -> None:
    rng = np.random.default_rng(3)
    parts = [rng.normal(0, 1, (2, size)) for size in (40, 200)]
    entries = {
        name: entry(*({500 * at + n: score for n, score in enumerate(part[row])} for at, part in enumerate(parts)))
        for row, name in enumerate("ab")
    }
    differences = [part[0] - part[1] for part in parts]
    mean = sum(each.mean() for each in differences) / 2
    stderr = math.sqrt(sum(each.var(ddof=1) / len(each) for each in differences)) / 2
    p = norm.sf(z_scores(Contest("c", True, entries, None))[0, 1])
    assert entries["a"].count == pytest.approx(4 / (1 / 40 + 1 / 200))
    assert p == pytest.approx(t.sf(mean / stderr, entries["a"].count - 1), rel=1e-4)


def test_scores_that_are_not_what_the_result_is_a_mean_of_are_not_paired() -> None:
    other = entry(listed(*[0.5] * 50))
    first = entry(listed(*([0.0, 1.0] * 25)))
    stray = ContestResult(0.9, 0.05, 50, other.scores)
    paired = z_scores(Contest("c", True, {"a": first, "b": stray}))
    plain = z_scores(Contest("c", True, {"a": first, "b": ContestResult(0.9, 0.05, 50)}))
    assert paired.tolist() == plain.tolist()


def test_what_has_no_standard_error_is_not_tested() -> None:
    found = z_scores(
        Contest(
            "c",
            True,
            {"a": ContestResult(0.5, None, 10), "b": ContestResult(0.1, 0.1, 10), "c": ContestResult(0.2, 0.1, 10)},
        )
    )
    assert np.isnan(found[0, 1])
    assert np.isnan(found[2, 0])
    assert not np.isnan(found[1, 2])
    constant = Contest("c", True, {"a": ContestResult(5.0, 0.0, 10), "b": ContestResult(6.0, 0.0, 10)}, None)
    assert np.isnan(z_scores(constant)[0, 1])


def test_ranks_of_a_column() -> None:
    values = {"a": 0.9, "b": 0.89, "c": 0.5, "d": 0.1}
    column = Contest("c", True, {model: ContestResult(mean, 0.01, 1000) for model, mean in values.items()})
    assert column_ranks(column) == {"a": (1, 2), "b": (1, 2), "c": (3, 3), "d": (4, 4)}
    lower = Contest("c", False, column.results)
    assert column_ranks(lower) == {"a": (3, 4), "b": (3, 4), "c": (2, 2), "d": (1, 1)}
    assert column_ranks(Contest("c", True, {"a": ContestResult(0.5, 0.1, 10)})) == {}
    unknown = Contest("c", True, {"a": ContestResult(0.9), "b": ContestResult(0.1)})
    assert column_ranks(unknown) == {"a": (1, 2), "b": (1, 2)}


@pytest.mark.parametrize("tied", [True, False])
def test_ranks_hold_the_truth_all_at_once(tied: bool) -> None:
    rng = np.random.default_rng(5)
    shares = np.full(8, 0.6) if tied else np.linspace(0.4, 0.8, 8)
    held = 0
    for _ in range(200):
        hard = rng.standard_normal(50)
        rows = [(0.7 * hard + 0.714 * rng.standard_normal(50) < norm.ppf(share)).astype(float) for share in shares]
        found = column_ranks(Contest("c", True, {f"m{i}": entry(listed(*row)) for i, row in enumerate(rows)}))
        true = (
            [1 + int((shares > share).sum()) for share in shares],
            [8 - int((shares < share).sum()) for share in shares],
        )
        held += all(
            first <= low and high <= last for (first, last), low, high in zip(found.values(), *true, strict=True)
        )
    assert held / 200 >= 0.95


def test_scores_with_clusters_are_paired_by_cluster() -> None:
    """Copies of each instance in one cluster bring no certainty."""
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 2, (2, 40)).astype(float)
    alone = Contest("c", True, {"a": entry(listed(*first)), "b": entry(listed(*second))})

    def copied(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> ContestResult:
        each = [float(score) for score in np.repeat(scores, 5)]
        packed = InstanceScores.of(zip(KEYS, each, strict=False), np.repeat(np.arange(40), 5).tolist())
        return ContestResult(float(np.mean(each)), float(np.std(scores, ddof=1)) / math.sqrt(40), 40, (packed,))

    assert z_scores(Contest("c", True, {"a": copied(first), "b": copied(second)})) == pytest.approx(z_scores(alone))


def test_where_only_some_runs_know_the_clusters_the_others_are_in_them() -> None:
    scores = [float(n % 7 < 3) for n in range(100)]
    keyed = list(zip(KEYS, scores, strict=False))
    clustered = InstanceScores.of(keyed, [n // 2 for n in range(100)])
    plain = InstanceScores.of(keyed)
    assert covariances_of_means([clustered, plain]) == pytest.approx(covariances_of_means([clustered, clustered]))
    larger = InstanceScores.of(zip(KEYS, [*scores, 1.0], strict=False))
    assert covariances_of_means([clustered, larger])[0, 1] > 0
