"""Which measures stand for a category, and how they are pooled."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.leaderboard.pairwise import Contest
from harness.leaderboard.site.measures import (
    Measure,
    relevant,
    representatives,
    representing,
    win_rates,
)
from harness.leaderboard.site.snapshot import Snapshot
from harness.plugins.registry import Registry, default_registry
from tests.harness.leaderboard.site.conftest import stat

REPRESENTATIVES = representatives(default_registry())


def measure(category: str, metric: str, worst: str | None = None, higher: bool | None = True) -> Measure:
    contest = Contest(metric, bool(higher), {})
    return Measure(category, 0, metric, worst, higher, {}, contest, represents=metric in REPRESENTATIVES)


def test_the_plugins_declare_what_represents_a_category() -> None:
    assert {"ece_10_bin", "toxic_frac", "seconds"} == REPRESENTATIVES  # HELM's choices


def names(measures: list[Measure]) -> list[tuple[str, str, str | None]]:
    return [(found.category, found.metric, found.worst) for found in measures]


def test_accuracy_is_the_main_metric_and_robustness_its_worst() -> None:
    measures = [
        measure("accuracy", "exact_match"),
        measure("accuracy", "f1_score"),
        measure("robustness", "exact_match", "robustness"),
        measure("robustness", "f1_score", "robustness"),
        measure("calibration", "brier_score"),
        measure("calibration", "ece_10_bin"),
        measure("efficiency", "prompt_tokens"),
        measure("efficiency", "seconds"),
    ]
    assert names(representing(measures, "exact_match")) == [
        ("accuracy", "exact_match", None),
        ("robustness", "exact_match", "robustness"),
        ("calibration", "ece_10_bin", None),
        ("efficiency", "seconds", None),
    ]


def test_every_bias_with_a_direction_counts_and_a_category_without_its_usual_measure_uses_what_it_has() -> None:
    measures = [
        measure("toxicity", "toxic_frac"),
        measure("toxicity", "expected_max_toxicity"),
        measure("bias", "gender"),
        measure("bias", "race"),
        measure("bias", "undirected", higher=None),
        measure("calibration", "brier_score"),
        measure("accuracy", "exact_match"),
    ]
    assert names(representing(measures, "expected_max_toxicity")) == [
        ("toxicity", "expected_max_toxicity", None),
        ("bias", "gender", None),
        ("bias", "race", None),
        ("calibration", "brier_score", None),
    ]


def test_groups_and_single_perturbations_are_not_compared() -> None:
    plain = stat("exact_match", "accuracy", 0.5)
    assert relevant(plain)
    assert relevant(stat("exact_match", "fairness", 0.5, worst="fairness"))
    assert not relevant(dataclasses.replace(plain, group="sex=f"))
    assert not relevant(dataclasses.replace(plain, perturbation="typos", computed_on="perturbed"))
    assert not relevant(stat("exact_match", "robustness", 0.5, worst="typos"))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_a_category_of_one_column_ranks_models_by_it(make_run: Any, means: list[float]) -> None:
    runs = [make_run(f"hf:{n}", "boolq", mean) for n, mean in enumerate(means)]
    (view,) = Snapshot(runs, Registry()).boards
    (found,) = view.categories["accuracy"]
    assert found.contested
    rates = win_rates([found])
    for n, mean in enumerate(means):
        others = [other for m, other in enumerate(means) if m != n]
        wins = sum((mean > other) + 0.5 * (mean == other) for other in others) / len(others)
        assert abs(rates[f"hf:{n}"].value - wins) < 1e-9 or len({f"{m:.12g}" for m in means}) < len(set(means))


def test_sample_data_count_only_where_there_are_no_others(make_run: Any) -> None:
    runs = [make_run(f"hf:{n}", "boolq", n / 10, sample=True) for n in range(2)]
    (view,) = Snapshot(runs, Registry()).boards
    assert [m.contested for m in view.categories["accuracy"]] == [True]
    runs += [make_run(f"hf:{n}", "imdb", n / 10) for n in range(2)]
    (view,) = Snapshot(runs, Registry()).boards
    assert [m.contested for m in view.categories["accuracy"]] == [False, True]


def test_the_rate_of_a_category_counts_a_scenario_once_as_the_board_does(make_run: Any) -> None:
    """All suites together have BoolQ with two limits and two prompts; the largest counts."""
    runs = [
        make_run(f"hf:{n}", {"name": "boolq", **prompt}, mean, count=count, limit=count, suite=suite)
        for suite, count, prompt, means in (
            ("small", 20, {}, (0.1, 0.9)),
            ("large", 100, {}, (0.8, 0.2)),
            ("other", 100, {"prompt": "other"}, (0.3, 0.7)),
        )
        for n, mean in enumerate(means)
    ]
    view = Snapshot(runs, Registry()).boards[0]
    assert len(view.board.columns) == 3
    board = {row.model: row.win_rate for row in view.board.rows}
    assert win_rates(view.categories["accuracy"]) == board
    assert board["hf:0"] is not None
    assert (board["hf:0"].value, board["hf:0"].of) == (1.0, 1)


def test_a_column_without_the_usual_measure_of_a_category_does_not_count_with_another(make_run: Any) -> None:
    def efficient(name: str, model: str, metrics: list[str]) -> Any:
        run = make_run(model, name, 0.5)
        return dataclasses.replace(run, stats=[*run.stats, *(stat(each, "efficiency", 1.0) for each in metrics)])

    registry = default_registry()
    runs = [
        *(efficient("boolq", model, ["completion_tokens", "seconds"]) for model in ("hf:a", "hf:b")),
        *(efficient("imdb", model, ["completion_tokens"]) for model in ("hf:a", "hf:b")),
    ]
    (view,) = Snapshot(runs, registry).boards
    assert [measure.metric for measure in view.categories["efficiency"]] == ["seconds"]
    (view,) = Snapshot(runs[2:], registry).boards
    assert [measure.metric for measure in view.categories["efficiency"]] == ["completion_tokens"]
