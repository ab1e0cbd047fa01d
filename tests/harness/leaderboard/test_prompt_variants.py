"""Variants of a prompt: one cell over instances and prompts, and comparisons over the prompts that both have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.contracts import BOUNDED, PROPORTION, Scale
from harness.contracts.specs import UNCHANGED, ChangedPrompt
from harness.leaderboard.aggregate import build_board
from harness.leaderboard.cells import Cell, main_stat
from harness.leaderboard.paired_scores import Answers, compare_answers, compare_prompts
from harness.leaderboard.prompt_spread import VariedRun, parts
from harness.leaderboard.prompt_variants import counting_run
from harness.leaderboard.scales import DIFFERENT
from harness.statistics import combined, condition_effects, mean_estimate, paired_condition_effects
from harness.storage.instance_scores import InstanceScores
from harness.storage.results import RunRecord
from tests.harness.leaderboard.test_repeats import with_scores

SCORES = {UNCHANGED: "1101001110", "in upper case": "1100011110", "reversed": "0111000110", "terse": "1111111110"}


def varied(make_run: Any, scores: dict[str, str], model: str = "hf:a", **settings: Any) -> list[RunRecord]:
    found = []
    for place, (words, each) in enumerate(scores.items()):
        run = make_run(model, settings.get("scenario", "boolq"), 0.5, settings={"prefix": f"p{place}", "shots": 5})
        change = None if words == UNCHANGED else ChangedPrompt(description=words, original={"prefix": "p0"})
        spec = run.spec.model_copy(update={"prompt_variant": change, "seed": settings.get("seed", 0)})
        run = replace(run, spec=spec, name=spec.name, finished=f"2025-01-0{place + 1}T00:00:00")
        found.append(with_scores(run, each, settings.get("clusters")))
    return found


def only_cell(runs: list[RunRecord]) -> Cell:
    ((cell,),) = [row.cells for row in build_board(runs).rows]
    assert cell is not None
    return cell


def table_of(scores: dict[str, str]) -> np.ndarray:
    return np.array([[float(score) for score in each] for each in scores.values()]).T


def test_a_cell_is_the_mean_over_instances_and_prompts_with_an_interval_over_both(make_run: Any) -> None:
    runs = varied(make_run, SCORES)
    cell = only_cell(runs)
    expected = condition_effects(table_of(dict(sorted(SCORES.items()))), PROPORTION).estimate
    assert (cell.mean, cell.stderr, cell.count) == pytest.approx((expected.value, expected.stderr, 10), abs=1e-6)
    assert (cell.low, cell.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert set(cell.runs) == {f"{run.suite}/{run.name}" for run in runs}
    assert cell.prompts is not None
    assert cell.prompts.descriptions == (UNCHANGED, "in upper case", "reversed", "terse")
    assert cell.prompts.effects.means == pytest.approx((0.6, 0.6, 0.5, 0.9))
    assert (cell.prompts.best, cell.prompts.worst) == (3, 2)
    assert cell.prompts.unchanged == pytest.approx(0.6)
    board = build_board(runs)
    assert [column.settings for column in board.columns] == [{}]
    deviation = cell.prompts.effects.deviation
    note = f"hf:a on boolq: the mean over 4 prompts, whose means have a standard deviation of {deviation:.3f}."
    assert note in board.notes


def test_two_prompts_give_an_interval_for_these_prompts_and_say_so(make_run: Any) -> None:
    two = dict(list(SCORES.items())[:2])
    cell = only_cell(varied(make_run, two))
    means = table_of(two).mean(axis=1).tolist()
    expected = mean_estimate(means, PROPORTION)
    assert (cell.low, cell.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    notes = build_board(varied(make_run, two)).notes
    assert "hf:a on boolq: the mean over 2 prompts, and its interval for these prompts." in notes


def test_prompts_without_scores_of_instances_count_with_their_noise(make_run: Any) -> None:
    runs = [replace(run, instance_scores=None) for run in varied(make_run, SCORES)]
    cell = only_cell(runs)
    assert cell.prompts is not None
    assert not cell.prompts.paired
    assert cell.prompts.effects.deviation == pytest.approx(float(np.std([0.6, 0.6, 0.5, 0.9], ddof=1)))
    assert any("have a standard deviation of at most 0.173." in note for note in build_board(runs).notes)


def test_a_failed_prompt_is_left_out_and_named(make_run: Any) -> None:
    runs = varied(make_run, SCORES)
    failed = replace(runs[2], status="failed", error="no answer", stats=[], instance_scores=None)
    cell = only_cell([*runs[:2], failed, runs[3]])
    assert cell.prompts is not None
    assert cell.prompts.descriptions == (UNCHANGED, "in upper case", "terse")
    assert [(failure.run, failure.error) for failure in cell.failures] == [(failed.name, "no answer")]


def rescaled(run: RunRecord, scale: Scale | None, scores: str | None = None) -> RunRecord:
    """Return a run whose main metric declares another scale, perhaps with other scores."""
    stats = [replace(stat, scale=scale) if stat.metric == "exact_match" else stat for stat in run.stats]
    values = None if scores is None else [(f"{place:06d}".encode(), float(each)) for place, each in enumerate(scores)]
    return replace(
        run, stats=stats, instance_scores=run.instance_scores if values is None else InstanceScores.of(values)
    )


@pytest.mark.parametrize(
    ("scale", "scores", "interval", "note"),
    [
        (BOUNDED, None, True, ""),
        (Scale("bounded", 0.0, 10.0), "9101001110", False, DIFFERENT),
        (None, None, False, DIFFERENT),
        (PROPORTION, "9101001110", False, "no interval: the metric does not declare its scale"),
    ],
)
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("repeats", [True, False])
def test_runs_that_declare_different_scales_have_a_mean_and_an_interval_only_on_a_common_one(
    make_run: Any, scale: Scale | None, scores: str | None, interval: bool, note: str, last: bool, repeats: bool
) -> None:
    runs = varied(make_run, dict(list(SCORES.items())[:1]))
    if repeats:
        runs += varied(make_run, dict(list(SCORES.items())[:1]), seed=1)
    else:
        runs = varied(make_run, SCORES)
    place = -1 if last else 0
    runs[place] = rescaled(runs[place], scale, scores)
    found = main_stat(counting_run(runs))
    assert found is not None
    assert (found.ci95 is not None, found.note if note else "") == (interval, note)
    cell = only_cell(runs)
    assert cell.mean == pytest.approx(found.mean)
    unpaired = only_cell([replace(run, instance_scores=None) for run in runs])
    assert unpaired.mean is not None


def test_repeats_are_pooled_within_each_prompt(make_run: Any) -> None:
    runs = [*varied(make_run, SCORES), *varied(make_run, SCORES, seed=1)]
    pooled = counting_run(runs)
    assert isinstance(pooled, VariedRun)
    assert len(pooled.variants) == 4
    assert {part.name for part in parts(pooled)} == {run.name for run in runs}
    assert only_cell(runs).prompts == only_cell(varied(make_run, SCORES)).prompts


def test_only_instances_that_every_prompt_scored_count_and_the_others_are_missing(make_run: Any) -> None:
    scores = {**SCORES, "terse": "111111111"}
    cell = only_cell(varied(make_run, scores))
    assert (cell.count, cell.missing) == (9, 1)


def test_the_effects_of_prompts_on_several_subjects_do_not_average_out(make_run: Any) -> None:
    shifted = {UNCHANGED: "1111100000", "a": "1111111100", "b": "1100000000", "c": "1111111110"}
    subjects = [
        varied(make_run, shifted, scenario={"name": "mmlu", "subject": subject}) for subject in ("anatomy", "virology")
    ]
    joined, one = only_cell([run for runs in subjects for run in runs]), only_cell(subjects[0])
    assert joined.prompts is not None
    assert one.prompts is not None
    assert joined.prompts.effects.means == pytest.approx(one.prompts.effects.means)
    assert joined.prompts.effects.noise == pytest.approx(one.prompts.effects.noise / 2)
    over = joined.prompts.effects.instances
    assert over.stderr is not None
    assert one.prompts.effects.instances.stderr == pytest.approx(over.stderr * 2**0.5)
    expected = combined(over, one.prompts.effects.means, one.prompts.effects.noise / 2, PROPORTION).estimate
    assert (joined.stderr, joined.low, joined.high) == pytest.approx((expected.stderr, expected.low, expected.high))


def test_other_statistics_are_means_over_prompts_too(make_run: Any) -> None:
    pooled = counting_run(varied(make_run, SCORES))
    f1 = {stat.metric: stat for stat in pooled.stats if stat.split == "test" and stat.overall}["f1_score"]
    assert f1.mean == pytest.approx(0.5 / 7)


def answers(scores: dict[str, str]) -> list[Answers]:
    return [{f"{place:02d}": {0: (float(score), 1)} for place, score in enumerate(each)} for each in scores.values()]


def test_models_are_compared_under_the_same_prompts(make_run: Any) -> None:
    other = {words: each[::-1] for words, each in SCORES.items()}
    found = compare_prompts(answers(SCORES), answers(other), PROPORTION, "exact_match")
    expected = paired_condition_effects(table_of(SCORES), table_of(other), PROPORTION)
    assert (found.difference, found.low, found.high) == pytest.approx(
        (expected.estimate.value, expected.estimate.low, expected.estimate.high)
    )
    assert (found.test, found.binary) == ("crossed", False)
    assert found.p == pytest.approx(expected.p())


def test_a_comparison_over_prompts_says_nothing_of_what_it_could_show(make_run: Any) -> None:
    first = {str(place): "1" * (60 + 8 * place) + "0" * (40 - 8 * place) for place in range(4)}
    second = {str(place): "1" * 60 + "0" * 40 for place in range(4)}
    both = compare_prompts(answers(first), answers(second), PROPORTION, "exact_match")
    alone = compare_answers(answers(first)[2], answers(second)[2], PROPORTION, "exact_match")
    assert both.count == alone.count == 100
    assert both.detectable() is None
    assert alone.detectable() is not None


def test_an_instance_that_one_prompt_did_not_score_is_not_compared() -> None:
    first, second = answers(SCORES), answers(SCORES)
    first[2] = {**first[2], "03": {0: (None, 1)}}
    del second[1]["04"]  # type: ignore[attr-defined]
    found = compare_prompts(first, second, PROPORTION, "exact_match")
    assert (found.count, found.undefined) == (8, 2)


def test_with_two_prompts_the_comparison_is_for_these() -> None:
    found = compare_prompts(answers(SCORES)[:2], answers(SCORES)[2:], PROPORTION, "exact_match")
    assert "the interval is for these prompts" in found.note
    assert found.test == "permutation"
