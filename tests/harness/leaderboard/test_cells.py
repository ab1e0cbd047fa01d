"""The macro-average, its standard error and its interval."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from scipy.stats import beta

from harness.contracts import PROPORTION
from harness.leaderboard.cells import Failure, cell_of, main_stat, newest
from harness.storage.results import RunRecord


def subruns(make_run: Any, *cells: tuple[float | None, float | None, int]) -> dict[str, RunRecord]:
    return {
        str(k): make_run("hf:a", {"name": "mmlu", "subject": f"s{k}"}, mean, stderr=stderr, count=count)
        for k, (mean, stderr, count) in enumerate(cells)
    }


def test_only_the_main_metric_on_unperturbed_instances_of_the_evaluated_split_counts(make_run: Any) -> None:
    stat = main_stat(make_run("hf:a", "boolq", 0.6))
    assert stat is not None
    assert stat.mean == 0.6


@pytest.mark.parametrize(("mean", "reason"), [(0.6, ""), (None, "not testable: too few")])
def test_another_metric_without_a_number_does_not_hide_the_main_one(
    make_run: Any, mean: float | None, reason: str
) -> None:
    details = {"option_order": {"test": {"original": {"no_value": "not testable: too few"}}}}
    run = replace(make_run("hf:a", "boolq", mean), details=details)
    assert run.no_value == reason
    assert cell_of({"": run}, of=1).no_value_word == ("not testable" if reason else "")
    assert bool(cell_of({"": run}, of=1).no_value) is bool(reason)


@pytest.mark.parametrize("mean", [math.nan, math.inf, None])
def test_what_is_no_number_is_no_value(make_run: Any, mean: float | None) -> None:
    run = make_run("hf:a", "boolq", mean)
    assert main_stat(run) is None
    cell = cell_of({"": run}, of=1)
    assert cell.mean is None
    assert not cell.complete
    assert cell.failures == (Failure("boolq", "no value of exact_match on split test"),)


def test_a_single_runs_interval_is_its_own(make_run: Any) -> None:
    cell = cell_of(subruns(make_run, (0.6, 0.05, 80)), of=1)
    assert (cell.mean, cell.stderr, cell.low, cell.high, cell.count) == (0.6, 0.05, 0.5, 0.7, 80)


def test_macro_average_weighs_subjects_alike_whatever_their_sizes(make_run: Any) -> None:
    cell = cell_of(subruns(make_run, (0.2, 0.03, 1000), (0.7, 0.04, 10), (0.6, 0.12, 10)), of=3)
    assert cell.mean == pytest.approx(0.5)
    assert cell.stderr == pytest.approx(0.13 / 3)  # √(0.03² + 0.04² + 0.12²) = 0.13
    assert cell.count == 1020
    assert cell.complete


def test_macro_interval_recovers_the_variances_of_the_sub_runs(make_run: Any) -> None:
    # The made-up runs' intervals are mean ± 2·stderr: √(0.06² + 0.08² + 0.24²) / 3 = 0.26 / 3
    cell = cell_of(subruns(make_run, (0.2, 0.03, 1000), (0.7, 0.04, 10), (0.6, 0.12, 10)), of=3)
    assert cell.low == pytest.approx(0.5 - 0.26 / 3)
    assert cell.high == pytest.approx(0.5 + 0.26 / 3)


def test_nothing_right_twice_is_not_certainty(make_run: Any) -> None:
    """Two runs of 0 of 20: each has [0, 0.161] by Wilson, and so their mean has an upper end of 0.161·√2 / 2."""
    runs = subruns(make_run, (0.0, 0.0, 20), (0.0, 0.0, 20))
    wilson = {
        key: replace(run, stats=[replace(stat, ci95=(0.0, 0.161)) for stat in run.stats]) for key, run in runs.items()
    }
    cell = cell_of(wilson, of=2)
    assert cell.low == 0.0
    assert cell.high == pytest.approx(0.161 * math.sqrt(2) / 2)
    assert cell.spread == pytest.approx(0.161 * math.sqrt(2) / 4 / 1.959964, rel=1e-6)


def test_bounded_sub_runs_have_the_interval_of_a_proportion(make_run: Any) -> None:
    runs = {
        key: replace(run, stats=[replace(stat, scale=PROPORTION) for stat in run.stats])
        for key, run in subruns(make_run, *[(0.9, (0.09 / 50) ** 0.5, 50)] * 4).items()
    }
    cell = cell_of(runs, of=4)
    exact = beta(180.5, 20.5)  # Jeffreys's of 180 of 200
    assert (cell.low, cell.high) == pytest.approx((exact.ppf(0.025), exact.ppf(0.975)), abs=1e-3)
    perfect = {
        key: replace(run, stats=[replace(stat, mean=1.0, stderr=0.0, ci95=(0.94, 1.0)) for stat in run.stats])
        for key, run in runs.items()
    }
    cell = cell_of(perfect, of=4)
    assert cell.high == 1.0
    assert cell.low == pytest.approx(beta(200.5, 0.5).ppf(0.025), abs=2e-3)


def test_a_sub_run_without_a_standard_error_leaves_the_cell_without(make_run: Any) -> None:
    cell = cell_of(subruns(make_run, (0.5, 0.1, 6), (0.7, None, 1)), of=2)
    assert cell.mean == pytest.approx(0.6)
    assert (cell.stderr, cell.low, cell.high) == (None, None, None)


def test_the_order_of_sub_runs_changes_no_bit(make_run: Any) -> None:
    runs = subruns(make_run, (0.1, 0.1, 9), (0.2, 0.3, 7), (0.3, 0.2, 5), (1 / 3, 0.1, 3))
    assert cell_of(runs, of=4) == cell_of(dict(reversed(runs.items())), of=4)


def test_a_partial_cell_says_what_it_is_over_and_what_failed(make_run: Any) -> None:
    runs = {
        "0": make_run("hf:a", {"name": "mmlu", "subject": "anatomy"}, 0.5),
        "1": make_run("hf:a", {"name": "mmlu", "subject": "virology"}, None, error="out of memory"),
    }
    cell = cell_of(runs, of=3)
    assert (cell.mean, cell.have, cell.of, cell.complete) == (0.5, 1, 3, False)
    assert cell.failures == (Failure("mmlu:subject=virology", "out of memory"),)
    assert len(cell.runs) == 1


def test_a_failed_runs_numbers_are_not_shown(make_run: Any) -> None:
    cell = cell_of({"0": make_run("hf:a", "boolq", 0.5, error="3 of 100 examples have no answer")}, of=1)
    assert (cell.mean, cell.count, cell.have) == (None, 0, 0)


def test_the_newest_run_with_a_number_counts(make_run: Any) -> None:
    old, new, broken = (
        make_run("hf:a", "boolq", 0.5, suite="1", finished="2025-01-01"),
        make_run("hf:a", "boolq", 0.6, suite="2", finished="2025-01-02"),
        make_run("hf:a", "boolq", None, suite="3", finished="2025-01-03", error="no memory"),
    )
    assert newest([new, old, broken]) is new
    assert newest([broken]) is broken
