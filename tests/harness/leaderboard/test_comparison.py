"""Two runs joined instance by instance: what is compared, what is left out and counted, and what is refused."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness import Example, HarnessError, Instance, Reference, Split
from harness.cli import group
from harness.contracts import BOUNDED, PROPORTION, SIGNED, Stat
from harness.contracts.specs import Component, RunSpec
from harness.leaderboard.comparison import ComparisonFamily, adjusted, compare_models, compare_runs
from harness.leaderboard.comparison_table import comparison_table
from harness.output.result_table import render, show
from harness.plugins.registry import default_registry
from harness.statistics import (
    benjamini_hochberg,
    cluster_sums,
    clustered_difference,
    detectable_difference,
    holm,
    mcnemar_test,
    paired_difference,
    permutation_test,
)
from harness.storage.example_files import ExampleWriter
from harness.storage.instance_scores import InstanceScores, instance_key
from harness.storage.results import RunRecord, find_runs, run_directory, write_run

Scores = Mapping[str, float | None]
Run = Callable[..., RunRecord]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Writes a run from its scores by instance, ``id``, ``id/trial`` or ``id/trial/sample``."""

    def write(
        model: str, scores: Scores, *, scenario: str | dict[str, Any] = "quiz", text: str = "?", **changes: Any
    ) -> RunRecord:
        status, error = changes.pop("status", "ok"), changes.pop("error", None)
        spec = RunSpec(
            suite=changes.pop("suite", "s"),
            scenario=Component.model_validate(scenario),
            adapter=changes.pop("adapter", Component(name="generation")),
            metrics=changes.pop("metrics", (Component(name="right"),)),
            main_metric=changes.pop("main_metric", "right"),
            model=Component(name=f"fake:{model}", arguments=changes.pop("arguments", {})),
            eval_split=Split.TEST,
            **changes,
        )
        directory = run_directory(tmp_path, spec)
        with ExampleWriter(directory) as writer:
            for key, score in scores.items():
                id, _, trial = key.partition("/")
                trial, _, sample = trial.partition("/")
                for perturbation in (None, "typos"):
                    instance = Instance(id, text, perturbation=perturbation, meta={"passage": id[:2]})
                    example = Example(instance, trial=int(trial or 0), sample=int(sample or 0))
                    said = -1.0 if perturbation else score
                    writer.write(example, {} if said is None else {spec.main_metric: said})
        stat = Stat(spec.main_metric, "accuracy", "test", None, 1, 0.5, None, None, None, None, True, scale=BOUNDED)
        record = RunRecord(
            directory=directory,
            name=spec.name,
            suite=spec.suite,
            status=status,
            error=error,
            spec=spec,
            stats=[stat],
            efficiency={},
            provenance={},
            examples=writer.written,
            started="",
            finished=f"{len(scores):09}",
        )
        write_run(record)
        return record

    return write


def _scores(text: str) -> dict[str, float | None]:
    return {f"i{index}": float(character) for index, character in enumerate(text)}


def test_right_and_wrong_by_hand(run: Run) -> None:
    first, second = _scores("1111111000"), _scores("1100000010")
    found = compare_runs(run("a", first), run("b", second))
    assert (found.count, found.first, found.second) == (10, 0.7, 0.3)
    assert found.difference == pytest.approx(0.4)
    assert (found.test, found.p) == ("mcnemar", mcnemar_test(5, 1))
    assert found.p == pytest.approx(2 * (1 + 6) / 64)
    closed = paired_difference(list(first.values()), list(second.values()), PROPORTION)  # type: ignore[arg-type]
    assert (found.low, found.high, found.stderr) == (closed.low, closed.high, closed.stderr)
    assert (found.only_first, found.only_second, found.undefined, found.changed) == (0, 0, 0, 0)
    assert found.higher_is_better is True


def test_other_scores_are_permuted(run: Run) -> None:
    first, second = {"a": 0.5, "b": 0.9, "c": 0.3}, {"c": 0.1, "a": 0.4, "b": 0.2}
    found = compare_runs(run("a", first), run("b", second))
    assert (found.test, found.p) == ("permutation", permutation_test([0.5 - 0.4, 0.9 - 0.2, 0.3 - 0.1]))
    assert found.p == 2 / 8


def test_what_only_one_has_is_left_out_and_counted(run: Run) -> None:
    first = {"a": 1.0, "b": 0.0, "c": None, "d": 1.0, "e": 1.0}
    second = {"x": 0.0, "d": 0.0, "c": 1.0, "b": None}
    found = compare_runs(run("a", first), run("b", second))
    assert (found.count, found.difference) == (1, 1.0)
    assert (found.only_first, found.only_second, found.undefined) == (2, 1, 2)
    assert (found.low, found.high) == (None, None)


def test_only_the_trials_that_both_have_count(run: Run) -> None:
    first = {"a/0": 1.0, "a/1": 0.0, "a/2": 0.0, "b/0": 1.0}
    second = {"a/0": 0.0, "a/1": 0.0, "b/1": 1.0}
    found = compare_runs(run("a", first), run("b", second))
    assert (found.count, found.first, found.second, found.undefined) == (1, 0.5, 0.0, 1)


def test_instances_whose_text_differs_are_not_compared(run: Run) -> None:
    first, second = run("a", _scores("10")), run("b", _scores("10"), text="another question")
    with pytest.raises(HarnessError, match=r"none of the 2 instances in common .* 2 of them differ in what was asked"):
        compare_runs(first, second)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scenario": "other"}, "different scenarios, quiz and other"),
        ({"scores": {"z": 1.0}}, "have no instance in common"),
        ({"main_metric": "left"}, "different main metrics, right and left; choose one with --metric"),
        ({"status": "failed", "error": "it broke"}, "failed: it broke"),
        ({"scores": {"i0": None}}, r"right"),
    ],
)
def test_what_cannot_be_compared_is_said(run: Run, changes: dict[str, Any], message: str) -> None:
    first = run("a", _scores("10"))
    scores = changes.pop("scores", _scores("10"))
    with pytest.raises(HarnessError, match=message):
        compare_runs(first, run("b", scores, **changes))


def test_an_unknown_metric_gets_a_suggestion(run: Run) -> None:
    with pytest.raises(HarnessError, match=r"rihgt. Did you mean 'right'"):
        compare_runs(run("a", _scores("10")), run("b", _scores("10")), "rihgt")


def test_other_settings_are_noted(run: Run) -> None:
    other = Component(name="generation", arguments={"max_tokens": 5})
    found = compare_runs(run("a", _scores("10")), run("a", _scores("01"), adapter=other, seed=1))
    assert found.notes == ("adapter differs: generation and generation:max_tokens=5", "seed differs: 0 and 1")


PLAIN = {"name": "quiz", "prompt": "plain"}


def test_two_prompts_of_a_scenario_are_compared_by_the_main_metric_of_each(run: Run) -> None:
    first = run("a", _scores("1101"))
    second = run("a", _scores("1000"), scenario=PLAIN, main_metric="acc", text="Written in another way?")
    found = compare_runs(first, second)
    assert (found.metric, found.first, found.second, found.count) == ("right", 0.75, 0.25, 4)
    assert found.low is not None
    assert found.notes == (
        "prompts differ: the scenario's own and plain",
        "metrics differ: Right of the first run and Acc of the second",
    )
    assert "prompts differ: plain and the scenario's own" in compare_runs(second, first).notes


def test_two_prompts_whose_metrics_have_different_scales_are_not_compared(run: Run) -> None:
    second = run("a", _scores("1000"), scenario=PLAIN, main_metric="acc")
    yes_or_no = replace(second, stats=[replace(second.stats[0], scale=PROPORTION)])
    assert compare_runs(run("a", _scores("1101")), yes_or_no).count == 4
    other = replace(second, stats=[replace(second.stats[0], scale=SIGNED)])
    with pytest.raises(HarnessError, match="different main metrics, right and acc; choose one with --metric"):
        compare_runs(run("a", _scores("1101")), other)


def test_two_prompts_that_were_asked_of_other_instances_are_not_compared(run: Run) -> None:
    first, second = run("a", {"x": 1.0}, max_eval_instances=1), run("a", {"y": 1.0}, scenario=PLAIN)
    with pytest.raises(HarnessError, match=r"no instance in common: .* Run both without max_eval_instances\."):
        compare_runs(first, second)


def _suite(run: Run) -> None:
    for name, first, second in (
        ("one", "1" * 12, "0" * 12),
        ("two", "1" * 9, "0" * 8 + "1"),
        ("three", "1010", "1001"),
    ):
        run("a", _scores(first), scenario=name)
        run("b", _scores(second), scenario=name)
    run("a", _scores("1"), scenario="lonely")
    run("a", _scores("1"), scenario="far")
    run("b", {"z": 1.0}, scenario="far")


def test_models_over_a_suite_are_one_family(run: Run, tmp_path: Path) -> None:
    _suite(run)
    family = compare_models(find_runs(tmp_path, ["s"]), "fake:a", "fake:b")
    found = {comparison.scenario: comparison for comparison in family.comparisons}
    assert list(found) == ["one", "three", "two"]
    p = [comparison.p for comparison in family.comparisons]
    assert [comparison.p_holm for comparison in family.comparisons] == holm(p)
    assert [comparison.p_bh for comparison in family.comparisons] == benjamini_hochberg(p)
    assert found["one"].p_holm == pytest.approx(3 * 2 / 2**12)
    assert len(family.problems) == 2
    assert any("lonely · Generation: fake:b has no matching run." in problem for problem in family.problems)
    assert any("far · Generation" in problem and "no instance in common" in problem for problem in family.problems)


def test_a_name_of_several_models_must_be_made_clear(run: Run, tmp_path: Path) -> None:
    for arguments in ({}, {"dtype": "float32"}, {"dtype": "bfloat16"}):
        run("a", _scores("10"), arguments=arguments)
    run("b", _scores("10"))
    run("d", _scores("10"), arguments={"temperature": 1.0})
    run("c", _scores("10"), arguments={"dtype": "float32"})
    run("c", _scores("10"), arguments={"dtype": "bfloat16"})
    runs = find_runs(tmp_path)
    assert compare_models(runs, "fake:a", "fake:b").comparisons
    assert compare_models(runs, "fake:a:dtype=float32", "fake:b").comparisons
    assert compare_models(runs, "fake:a,dtype=Float32", "fake:d,temperature=1").comparisons
    with pytest.raises(HarnessError, match="'fake:c' matches several models: fake:c:dtype=bfloat16, fake:c:dt"):
        compare_models(runs, "fake:c", "fake:b")
    with pytest.raises(HarnessError, match=r"no run of model 'fake:bb' found. Did you mean 'fake:b'\?"):
        compare_models(runs, "fake:bb", "fake:a")


def test_nothing_in_common_is_said_with_the_reasons(run: Run, tmp_path: Path) -> None:
    run("a", _scores("1"), scenario="one")
    run("b", _scores("1"), scenario="two")
    with pytest.raises(HarnessError, match=r"nothing in common to compare.\none · Generation: .*no matching run"):
        compare_models(find_runs(tmp_path), "fake:a", "fake:b")


def test_every_format_says_the_same(run: Run, tmp_path: Path) -> None:
    _suite(run)
    family = compare_models(find_runs(tmp_path), "fake:a", "fake:b")
    value = json.loads(render(comparison_table(family), "json"))
    assert [row["scenario"] for row in value["comparisons"]] == ["one", "two", "three"]  # the largest first
    family = dataclasses.replace(family, comparisons=tuple(sorted(family.comparisons, key=lambda one: -one.difference)))
    rows = list(csv.DictReader(io.StringIO(render(comparison_table(family), "csv"))))
    assert [float(row["difference"]) for row in rows] == [row.difference for row in family.comparisons]
    assert {(row["first_name"], row["second_name"]) for row in rows} == {("fake:a", "fake:b")}
    console = Console(file=io.StringIO(), width=180)
    show(comparison_table(family), console)
    assert isinstance(console.file, io.StringIO)
    for text in (console.file.getvalue(), render(comparison_table(family), "md")):
        assert "+1.000 [+" in text
        assert "<0.001" in text
        assert "Right ↑" in text
        assert "exact McNemar" in text
        assert "adjusted for 3 comparisons" in text
        assert "lonely · Generation: fake:b has no matching run." in text


def test_names_are_neither_formulas_nor_markup(run: Run, tmp_path: Path) -> None:
    for model in ("=a|*b*", "c"):
        run(model, _scores("10"), scenario="=1+1")
    table = comparison_table(compare_models(find_runs(tmp_path), "fake:=a|*b*", "fake:c"))
    (row,) = csv.DictReader(io.StringIO(render(table, "csv")))
    assert row["scenario"] == "'=1+1"
    assert "fake:=a\\|\\*b\\*" in render(table, "md")
    assert r"fake:=a\textbar{}{*}b{*} compared with fake:c." in render(table, "latex")


def test_a_narrow_terminal_shows_every_number_whole(run: Run, tmp_path: Path) -> None:
    _suite(run)
    family = compare_models(find_runs(tmp_path), "fake:a", "fake:b")
    stream = io.StringIO()
    show(comparison_table(family), Console(file=stream, width=80))
    table = stream.getvalue().partition("difference: ")[0]
    assert max(map(len, table.splitlines())) <= 80
    for comparison in family.comparisons:
        assert comparison.scenario in table
        assert f"[{comparison.low:+.3f}, {comparison.high:+.3f}]" in table
        assert f"{comparison.first:.3f}" in table


def test_runs_that_differ_in_a_setting_are_told_apart(run: Run, tmp_path: Path) -> None:
    for model in "ab":
        for shots in (0, 5):
            adapter = Component(name="generation", arguments={"max_train_instances": shots})
            run(model, _scores("1010"), adapter=adapter)
    run("a", _scores("1010"), adapter=Component(name="generation", arguments={"max_train_instances": 9}))
    family = compare_models(find_runs(tmp_path), "fake:a", "fake:b")
    assert [comparison.settings for comparison in family.comparisons] == [
        "[max_train_instances=0]", "[max_train_instances=5]",
    ]  # fmt: skip
    assert "quiz · Generation [max_train_instances=9]: fake:b has no matching run." in family.problems
    text = render(comparison_table(family), "md")
    assert "quiz [max_train_instances=0]" in text
    assert "quiz [max_train_instances=5]" in text


def test_what_is_left_out_is_shown(run: Run) -> None:
    first = {"a": 1.0, "b": 0.0, "c": None, "d": 1.0}
    one = compare_runs(run("a", first), run("b", {"d": 0.0, "c": 1.0, "x": 1.0}))
    text = render(comparison_table(ComparisonFamily("f", "s", adjusted([one]))), "md")
    assert "2 only first, 1 only second, 1 undefined" in text


def test_scores_that_a_run_metric_gives_are_those_of_the_record(run: Run) -> None:
    """No example has a Brier score; here they are 0.04 and 0.64 of every instance."""
    runs = []
    for model, probability in (("a", 0.8), ("b", 0.2)):
        record = run(model, _scores("1111"), main_metric="brier_score", metrics=(Component(name="brier_score"),))
        instances = [Instance(f"i{index}", "?", (Reference("yes", True),)) for index in range(4)]
        with ExampleWriter(record.directory) as writer:
            for instance in instances:
                writer.write(Example(instance, prediction="yes", probability=probability), {})
        recorded = InstanceScores.of([(instance_key(instance), (1 - probability) ** 2) for instance in instances])
        runs.append(replace(record, examples=writer.written, instance_scores=recorded))
    for found in (compare_runs(runs[0], runs[1]), compare_runs(runs[0], runs[1], registry=default_registry())):
        assert (found.count, found.test) == (4, "permutation")
        assert found.first == pytest.approx(0.04)
        assert found.second == pytest.approx(0.64)
    others = [replace(one, spec=one.spec.model_copy(update={"main_metric": "exact_match"})) for one in runs]
    computed = compare_runs(others[0], others[1], "brier_score", default_registry())
    assert (computed.first, computed.second) == pytest.approx((0.04, 0.64))
    without = [replace(one, instance_scores=None) for one in runs]
    with pytest.raises(HarnessError, match="single instances for brier_score"):
        compare_runs(without[0], without[1], registry=default_registry())


def test_the_command(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "180")
    first, second = run("a", _scores("1100")), run("b", _scores("0100"))
    group(["compare", str(first.directory), str(second.directory), "--format", "csv"], standalone_mode=False)
    by_folder = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    arguments = ["compare", "fake:a", "fake:b", "--suite", "s", "--results-dir", str(tmp_path), "--format", "csv"]
    group(arguments, standalone_mode=False)
    by_model = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert by_folder[0]["difference"] == by_model[0]["difference"] == "0.25"
    group(arguments[:-2], standalone_mode=False)
    assert "+0.250 [" in capsys.readouterr().out
    with pytest.raises(HarnessError, match=r"fake:a is not .*; to compare two models, name a suite"):
        group(["compare", "fake:a", "fake:b"], standalone_mode=False)


def test_samples_count_with_their_mean(run: Run) -> None:
    first = {"a/0/0": 1.0, "a/0/1": 0.0, "a/1/0": 1.0, "a/1/1": 1.0, "b/0/0": 0.0, "b/1/0": None, "b/1/1": 1.0}
    second = {"a/0": 0.0, "a/1": 1.0, "b/0": 1.0, "b/1": 0.5}
    found = compare_runs(run("a", first), run("b", second))
    assert (found.first, found.second) == pytest.approx(((0.75 + 0.5) / 2, (0.5 + 0.75) / 2))


def test_runs_with_the_same_clusters_are_compared_over_them(run: Run) -> None:
    first = {f"p{n // 3}-{n}": float(n % 2 == 0 or n > 10) for n in range(18)}
    second = {name: float(n % 3 == 0) for n, name in enumerate(first)}
    plain = compare_runs(run("a", first), run("b", second))
    found = compare_runs(run("a", first, cluster="passage"), run("b", second, cluster="passage"))
    members = [name[:2] for name in sorted(first)]
    pairs = [(first[name], second[name]) for name in sorted(first)]
    expected = clustered_difference([one for one, _ in pairs], [other for _, other in pairs], members, BOUNDED)
    assert (found.difference, found.low, found.high) == (plain.difference, expected.low, expected.high)
    sums = cluster_sums([one - other for one, other in pairs], members)
    assert (found.test, found.p) == ("permutation", permutation_test(sums))
    assert plain.test == "mcnemar"
    mixed = compare_runs(run("a", first, cluster="passage"), run("b", second))
    assert (mixed.test, mixed.notes) == ("mcnemar", ("cluster differs: passage and ",))


def test_what_a_comparison_could_show_follows_from_its_variance_and_not_from_what_it_found(run: Run) -> None:
    """With variance v of 400 instances, two guarding disagreements included: δ with power .8 at the level."""
    one = {f"i{number}": float(number % 10 < 7) for number in range(400)}
    other = {f"i{number}": float(number % 10 in (0, 1, 2, 3, 4, 5, 7)) for number in range(400)}
    found = compare_runs(run("a", one), run("b", other))
    assert (found.difference, found.differing, found.units, found.widest) == (0.0, 80, 400, 1.0)
    assert found.variance is not None
    assert found.could_show is not None
    assert found.variance == pytest.approx((80 * 400 / 399 + 2) / 402)
    assert found.could_show == pytest.approx(detectable_difference(found.variance, 400, step=1.0))
    worse = {name: score if number % 5 else 0.0 for number, (name, score) in enumerate(other.items())}
    lower = compare_runs(run("a", one), run("c", worse))
    assert lower.p < 0.001
    assert lower.variance is not None
    assert lower.could_show == pytest.approx(detectable_difference(lower.variance, 400, step=1.0))
    family = adjusted([found, lower, found, found])
    corrected = detectable_difference(found.variance, 400, step=1.0, level=0.05 / 4)
    assert family[0].could_show == pytest.approx(corrected)
    assert corrected is not None
    assert corrected > found.could_show


def test_too_few_instances_could_show_nothing(run: Run) -> None:
    few = compare_runs(run("a", {f"i{n}": 1.0 for n in range(5)}), run("b", {f"i{n}": 0.0 for n in range(5)}))
    assert few.could_show is None
    table = comparison_table(ComparisonFamily("a", "b", adjusted([few])))
    assert "none" in render(table, "terminal")
    assert json.loads(render(table, "json"))["comparisons"][0]["could_show"] is None
    more = compare_runs(run("a", {f"i{n}": 1.0 for n in range(50)}), run("b", {f"i{n}": 1.0 for n in range(50)}))
    table = comparison_table(ComparisonFamily("a", "b", adjusted([more])))
    assert more.could_show is not None
    assert f"±{more.could_show:.3f}" in render(table, "terminal")
    assert "the smallest true difference that is shown with a power of 0.8;" in " ".join(
        render(table, "terminal").split()
    )


def test_repeats_of_a_model_are_one_side_of_the_comparison(run: Run) -> None:
    for seed, scores in enumerate(("1100", "1010", "1110")):
        run("a", _scores(scores), seed=seed)
    run("b", _scores("0100"), sampling_seed=9)
    root = run("b", _scores("0000"), sampling_seed=8).directory.parent.parent
    (found,) = compare_models(find_runs(root), "fake:a", "fake:b").comparisons
    first, second = [1.0, 2 / 3, 2 / 3, 0.0], [0.0, 0.5, 0.0, 0.0]
    assert (found.first, found.second) == pytest.approx((sum(first) / 4, sum(second) / 4))
    assert found.p == permutation_test([one - other for one, other in zip(first, second, strict=True)])
    assert found.notes[:2] == (
        "fake:a: the mean over 3 repeats, which differ in their seeds",
        "fake:b: the mean over 2 repeats, which differ in their seeds",
    )
