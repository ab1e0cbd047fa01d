"""Changes between neighbouring checkpoints: paired by instance, told apart or not, as a table and as curves."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from harness.contracts import PROPORTION
from harness.contracts.specs import UNCHANGED
from harness.leaderboard.checkpoint_table import curve_records, signal_table
from harness.leaderboard.paired_scores import compare_answers, compare_prompts
from harness.output.result_table import render
from harness.statistics import paired_condition_effects, paired_variance
from harness.storage.results import RunRecord
from tests.harness.leaderboard.test_prompt_variants import answers, varied
from tests.harness.leaderboard.test_repeats import with_scores

N = 100
PROMPTS = {UNCHANGED: 30, "in upper case": 34, "reversed": 26, "terse": 40}
"""The share of right answers under each variant of a prompt."""


def right(count: int, start: int = 0) -> str:
    """Return the scores of instances of which ``count`` are right, from a place on."""
    return "".join("1" if (place - start) % N < count else "0" for place in range(N))


def training(make_run: Any, scores: list[str], name: str = "run-a", scenario: Any = "boolq") -> list[RunRecord]:
    return [
        with_scores(make_run(f"hf:/x/{name}/step-{100 * place}", scenario, 0.5), each)
        for place, each in enumerate(scores, start=1)
    ]


def test_neighbours_are_compared_on_the_same_instances(make_run: Any) -> None:
    scores = [right(30), right(32), right(70)]
    (record,) = signal_table(training(make_run, scores)).records
    values = [[float(score) for score in each] for each in scores]
    variances = [paired_variance(after, before, PROPORTION) / N for before, after in pairwise(values)]
    assert record["noise"] == pytest.approx(math.sqrt(sum(variances) / 2))
    assert record["signal"] == pytest.approx(math.sqrt((0.02**2 + 0.38**2) / 2 - sum(variances) / 2))
    assert record["signal_to_noise"] == pytest.approx(record["signal"] / record["noise"])
    assert (record["pairs"], record["told_apart"]) == (2, 1)  # two of a hundred more is no evidence, 38 are
    assert (record["checkpoints"], record["first_step"], record["last_step"], record["count"]) == (3, 100, 300, N)
    assert (record["first"], record["last"], record["paired"]) == (pytest.approx(0.3), pytest.approx(0.7), True)


def test_what_could_be_shown_is_that_of_a_comparison_corrected_for_the_neighbours(make_run: Any) -> None:
    scores = [right(30), right(32), right(34)]
    (record,) = signal_table(training(make_run, scores)).records
    answers = [{str(place): {0: (float(score), 0)} for place, score in enumerate(each)} for each in scores]
    found = [compare_answers(answers[k + 1], answers[k], PROPORTION, "exact_match").detectable(2) for k in range(2)]
    assert found[0] is not None
    assert record["could_show"] == pytest.approx(found[0])
    assert record["told_apart"] == 0
    assert record["needed"] is None or record["needed"] > N


def test_pairing_tells_apart_what_the_errors_of_each_do_not(make_run: Any) -> None:
    scores = [right(40), right(50), right(60)]
    runs = training(make_run, scores)
    unpaired = [replace(run, instance_scores=None) for run in runs]
    (paired,), (alone,) = signal_table(runs).records, signal_table(unpaired).records
    assert (paired["told_apart"], alone["told_apart"]) == (2, 0)
    assert (paired["paired"], alone["paired"]) == (True, False)
    assert paired["noise"] < alone["noise"]
    assert any("checkpoints are not paired" in note.text for note in signal_table(unpaired).notes)


def test_errors_of_zero_show_nothing(make_run: Any) -> None:
    runs = [replace(run, instance_scores=None) for run in training(make_run, [right(0), right(N)])]
    runs = [replace(run, stats=[replace(stat, stderr=0.0) for stat in run.stats]) for run in runs]
    (record,) = signal_table(runs).records
    assert record["noise"] == 0.0
    assert (record["told_apart"], record["could_show"], record["needed"]) == (0, None, None)


def test_trainings_are_compared_by_their_last_checkpoints(make_run: Any) -> None:
    runs = [
        *training(make_run, [right(30), right(50), right(60)]),
        *training(make_run, [right(30), right(40), right(40)], "run-b"),
    ]
    table = signal_table(runs)
    first, second = table.records
    assert first["training_signal"] == second["training_signal"] == pytest.approx(0.2)
    noise = (math.sqrt(((0.3 - 0.4667) ** 2 + (0.5 - 0.4667) ** 2 + (0.6 - 0.4667) ** 2) / 2) + 0.05774) / 2
    assert first["training_noise"] == pytest.approx(noise, abs=1e-4)
    assert any("Heineman" in note.text for note in table.notes)


def test_subjects_are_averaged_and_a_checkpoint_that_lacks_one_is_left_out(make_run: Any) -> None:
    subjects = [{"name": "mmlu", "subject": name} for name in ("anatomy", "virology")]
    runs = [
        *training(make_run, [right(30), right(60), right(60)], scenario=subjects[0]),
        *training(make_run, [right(30), right(50)], scenario=subjects[1]),
    ]
    (record,) = signal_table(runs).records
    assert (record["checkpoints"], record["last_step"]) == (2, 200)
    assert (record["first"], record["last"]) == (pytest.approx(0.3), pytest.approx(0.55))
    values = [[float(score) for score in right(count)] for count in (30, 60, 50)]
    variance = sum(paired_variance(after, values[0], PROPORTION) / N for after in values[1:]) / 4
    assert record["noise"] == pytest.approx(math.sqrt(variance))


def test_curves_have_a_row_for_each_checkpoint_by_step(make_run: Any) -> None:
    runs = training(make_run, [right(30), right(40), right(50)])
    lone = with_scores(make_run("hf:owner/model", "boolq", 0.5), right(90))
    found = list(curve_records([*reversed(runs), lone]))
    assert [(record["series"], record["step"], record["mean"]) for record in found] == [
        ("hf:/x/run-a", 100, pytest.approx(0.3)),
        ("hf:/x/run-a", 200, pytest.approx(0.4)),
        ("hf:/x/run-a", 300, pytest.approx(0.5)),
    ]
    assert all(record["low"] < record["mean"] < record["high"] for record in found)


def test_without_checkpoints_the_table_says_how_to_declare_them(make_run: Any) -> None:
    table = signal_table([with_scores(make_run("hf:owner/model", "boolq", 0.5), right(90))])
    assert "about: {series: NAME, step: 1000}" in render(table, "md")
    assert list(table.records) == []


def test_names_of_trainings_are_shown_as_text(make_run: Any) -> None:
    table = signal_table(training(make_run, [right(30), right(60)], "<b>\x1b[31mx"))
    assert "\x1b" not in render(table, "md")
    assert "<b>" not in render(table, "md").replace("\\<b>", "").replace("&lt;b>", "")


def changed(share: int, place: int) -> str:
    """Return the scores of 100 instances under a prompt, which agree mostly with those under other prompts."""
    return right(share, 3 * place)


EARLIER = {words: changed(share, place) for place, (words, share) in enumerate(PROMPTS.items())}
LATER = {words: changed(share + 16, place) for place, (words, share) in enumerate(PROMPTS.items())}


def checkpoints(make_run: Any, *scores: dict[str, str], **settings: Any) -> list[RunRecord]:
    return [
        run
        for place, each in enumerate(scores, start=1)
        for run in varied(make_run, each, f"hf:/x/run-a/step-{100 * place}", **settings)
    ]


def test_checkpoints_are_compared_under_the_variants_of_the_prompt_that_both_have(make_run: Any) -> None:
    runs = checkpoints(make_run, EARLIER, LATER)
    table = signal_table(runs)
    (record,) = table.records
    found = compare_prompts(answers(LATER), answers(EARLIER), PROPORTION, "exact_match")
    assert found.stderr is not None
    assert record["paired"]
    assert record["noise"] == pytest.approx(found.stderr)
    assert record["signal"] == pytest.approx(math.sqrt(found.difference**2 - found.stderr**2))
    assert (found.p < 0.05, record["told_apart"]) == (True, 1)
    assert (record["could_show"], record["needed"]) == (None, None)
    assert any("over the variants of the prompt that both checkpoints have" in note.text for note in table.notes)
    (alone,) = signal_table([replace(run, instance_scores=None) for run in runs]).records
    assert not alone["paired"]
    assert alone["noise"] > record["noise"]


def test_variants_that_only_one_checkpoint_has_are_left_out(make_run: Any) -> None:
    few = dict(list(LATER.items())[1:])
    (record,) = signal_table(checkpoints(make_run, EARLIER, few)).records
    shared = {words: EARLIER[words] for words in few}
    found = compare_prompts(answers(few), answers(shared), PROPORTION, "exact_match")
    assert (record["paired"], record["noise"]) == (True, pytest.approx(found.stderr))
    (one,) = signal_table(checkpoints(make_run, EARLIER, {UNCHANGED: LATER[UNCHANGED]})).records
    alone = compare_prompts(answers(LATER)[:1], answers(EARLIER)[:1], PROPORTION, "exact_match")
    assert alone.variance is not None
    assert one["noise"] == pytest.approx(math.sqrt(alone.variance / N))
    assert one["could_show"] == pytest.approx(alone.detectable())


def test_checkpoints_without_a_common_variant_are_not_paired(make_run: Any) -> None:
    others = {f"other {words}": each for words, each in LATER.items()}
    table = signal_table(checkpoints(make_run, EARLIER, others))
    assert [record["paired"] for record in table.records] == [False]
    assert any("or because they share no variant of the prompt" in note.text for note in table.notes)


def test_two_variants_are_compared_for_these_prompts(make_run: Any) -> None:
    before, after = ({words: each[words] for words in list(each)[:2]} for each in (EARLIER, LATER))
    (record,) = signal_table(checkpoints(make_run, before, after)).records
    found = compare_prompts(answers(after), answers(before), PROPORTION, "exact_match")
    assert found.variance is not None
    assert (record["paired"], record["noise"]) == (True, pytest.approx(math.sqrt(found.variance / N)))
    assert record["could_show"] == pytest.approx(found.detectable())


def test_the_effects_of_prompts_on_subjects_do_not_average_out(make_run: Any) -> None:
    later = {words: right(len(words) * 8, 5) for words in EARLIER}  # some prompts gain much more than others
    one, both = (
        signal_table(
            [
                run
                for subject in subjects
                for run in checkpoints(make_run, EARLIER, later, scenario={"name": "mmlu", "subject": subject})
            ]
        ).records[0]
        for subjects in (("anatomy",), ("anatomy", "virology"))
    )
    tables = [np.array([[float(score) for score in each] for each in side.values()]).T for side in (later, EARLIER)]
    effects = paired_condition_effects(tables[0], tables[1], PROPORTION)
    over, deviation = effects.instances.stderr, effects.deviation
    assert over is not None
    assert deviation is not None
    assert one["noise"] == pytest.approx(effects.estimate.stderr)
    assert both["noise"] == pytest.approx(math.sqrt(over**2 / 2 + (deviation**2 + effects.noise / 2) / 4), rel=0.02)
    assert both["noise"] > one["noise"] / math.sqrt(2) * 1.2


def test_equal_differences_under_all_prompts_show_nothing(make_run: Any) -> None:
    nothing, all_right = ({words: right(count) for words in EARLIER} for count in (0, N))
    (record,) = signal_table(checkpoints(make_run, nothing, all_right)).records
    assert (record["noise"], record["told_apart"]) == (0.0, 0)
