"""What changed between two suites: on the same instances where they are known, and honestly less sure where not."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness import Example, Instance, Split
from harness.contracts import PROPORTION, Stat
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, HarnessError
from harness.leaderboard.diff import diff_suites
from harness.leaderboard.diff_table import diff_table
from harness.output.result_table import FORMATS, render, show
from harness.statistics import holm, mcnemar_test, mean_estimate, paired_difference
from harness.storage.example_files import ExampleWriter
from harness.storage.results import RunRecord, run_directory, write_run

Write = Callable[..., RunRecord]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a run of right and wrong answers, ``1101``; with ``examples=False`` only its record."""

    def _write(suite: str, answers: str, *, scenario: str = "quiz", model: str = "fake:a", **changes: Any) -> RunRecord:
        settings, examples = changes.pop("settings", {}), changes.pop("examples", True)
        status, error = changes.pop("status", "ok"), changes.pop("error", None)
        spec = RunSpec(
            suite=suite,
            scenario=Component(name=scenario),
            adapter=Component(name="generation", arguments=settings),
            metrics=(Component(name="right"),),
            main_metric="right",
            model=Component(name=model),
            eval_split=Split.TEST,
            **changes,
        )
        scores = [float(answer) for answer in answers]
        directory = run_directory(tmp_path, spec)
        written = None
        if examples:
            with ExampleWriter(directory) as writer:
                for number, score in enumerate(scores):
                    writer.write(Example(Instance(f"i{number}", f"question {number}")), {"right": score})
            written = writer.written
        found = mean_estimate(scores, PROPORTION)
        interval = None if found.low is None or found.high is None else (found.low, found.high)
        stat = Stat(
            "right", "accuracy", "test", None, len(scores), found.value, found.stderr, interval, 0, 1, True,
            scale=PROPORTION,
        )  # fmt: skip
        record = RunRecord(
            directory=directory, name=spec.name, suite=suite, status=status, error=error, spec=spec, stats=[stat],
            efficiency={}, provenance={}, examples=written, started="", finished=changes.get("at", ""),
        )  # fmt: skip
        write_run(record)
        return record

    return _write


def _floats(text: str) -> list[float]:
    return [float(character) for character in text]


def test_the_same_instances_are_paired(write: Write) -> None:
    before, after = "0000011111", "1111111110"
    diff = diff_suites([write("old", before), write("new", after)], "old", "new")
    (change,) = diff.changes
    closed = paired_difference(_floats(after), _floats(before), PROPORTION)
    assert (change.before, change.after, change.count, change.test) == (0.5, 0.9, 10, "mcnemar")
    assert change.difference == pytest.approx(0.4)
    assert (change.low, change.high) == (closed.low, closed.high)
    assert change.p == change.p_holm == mcnemar_test(5, 1)
    assert change.better is None  # 0.22 is no proof
    assert change.notes == ()


def test_p_values_are_corrected_for_all_models_and_scenarios(write: Write) -> None:
    runs = [
        write(suite, answers, scenario=scenario, model=model)
        for model in ("fake:a", "fake:b")
        for scenario, pair in (("one", ("0" * 12, "1" * 12)), ("two", ("0110" * 3, "1010" * 3)))
        for suite, answers in zip(("old", "new"), pair, strict=True)
    ]
    changes = diff_suites(runs, "old", "new").changes
    assert [(change.model, change.scenario) for change in changes] == [
        ("fake:a", "one"), ("fake:b", "one"), ("fake:a", "two"), ("fake:b", "two"),
    ]  # fmt: skip
    values = [change.p for change in changes if change.p is not None]
    assert [change.p_holm for change in changes] == holm(values)
    assert [change.better for change in changes] == [True, True, None, None]  # what is shown comes first


def test_repeats_are_told_apart_by_their_seeds(write: Write) -> None:
    runs = [write(suite, "0011", seed=seed) for suite in ("old", "new") for seed in (0, 1)]
    table = diff_table(diff_suites(runs, "old", "new"))
    assert [row[1].text for row in table.rows] == ["quiz [seed=0]", "quiz [seed=1]"]


def test_repeats_with_another_setting_are_paired_by_their_seeds(write: Write) -> None:
    runs = [write("old", "0011", seed=seed) for seed in (0, 1)]
    runs += [write("new", "0011", seed=seed, settings={"max_tokens": 7}) for seed in (0, 1)]
    diff = diff_suites(runs, "old", "new")
    assert [change.settings for change in diff.changes] == ["[seed=0]", "[seed=1]"]
    assert diff.problems == ()


def test_without_examples_the_interval_is_that_of_independent_means(write: Write) -> None:
    before, after = write("old", "0" * 30 + "1" * 30, examples=False), write("new", "0" * 10 + "1" * 50, examples=False)
    (change,) = diff_suites([before, after], "old", "new").changes
    assert (change.test, change.paired, change.count) == ("normal", False, 60)
    one, other = before.stats[0], after.stats[0]
    assert one.ci95 is not None
    assert other.ci95 is not None
    assert change.low == pytest.approx(
        change.difference - math.hypot(other.mean - other.ci95[0], one.ci95[1] - one.mean)
    )
    # Newcombe's (1998) method 10, which Wilson's intervals give; his p would be that of a score test.
    assert change.p == pytest.approx(0.0001, abs=0.0003)
    assert change.better is True


def test_it_says_why_there_is_no_interval(write: Write) -> None:
    [paired] = diff_suites([write("old", "1"), write("new", "0")], "old", "new").changes
    assert (paired.low, paired.notes) == (None, ("n too small for an interval",))


def test_it_is_the_same_read_the_other_way_round(write: Write) -> None:
    runs = [write("old", "0" * 30 + "1" * 30, examples=False), write("new", "0" * 10 + "1" * 50, examples=False)]
    (there,), (back,) = (diff_suites(runs, *pair).changes for pair in (("old", "new"), ("new", "old")))
    assert back.difference == -there.difference
    assert back.low == pytest.approx(-(there.high or 0))
    assert back.high == pytest.approx(-(there.low or 0))
    assert back.p == pytest.approx(there.p)
    assert back.better is False


def test_runs_with_other_settings_are_paired_if_there_is_no_choice_and_say_so(write: Write) -> None:
    runs = [write("old", "01", settings={"shots": 0}), write("new", "011", settings={"shots": 5})]
    (change,) = diff_suites(runs, "old", "new").changes
    assert change.count == 2
    assert change.notes == ("shots: 0 before, 5 after", "instances not compared: 1 only after")
    runs.append(write("new", "01", settings={"shots": 7}))
    with pytest.raises(DataError, match="1 runs in old and 2 in new with different settings"):
        diff_suites(runs, "old", "new")


def test_equal_settings_come_before_others(write: Write) -> None:
    runs = [write("old", "01"), write("new", "01"), write("new", "11", settings={"shots": 5})]
    diff = diff_suites(runs, "old", "new")
    assert [change.difference for change in diff.changes] == [0.0]
    assert any("only in new" in problem for problem in diff.problems)


def test_what_cannot_be_compared_is_said(write: Write) -> None:
    runs = [write("old", "01"), write("new", "01")]
    runs += [write("old", "01", scenario="gone"), write("new", "01", scenario="fresh")]
    runs += [
        write("old", "01", scenario="broken"),
        write("new", "01", scenario="broken", status="failed", error="no memory"),
    ]
    diff = diff_suites(runs, "old", "new")
    assert len(diff.changes) == 1
    text = "\n".join(diff.problems)
    assert "only in old: fake:a on gone · Generation." in text
    assert "only in new: fake:a on fresh · Generation." in text
    assert "in new, no memory" in text
    with pytest.raises(DataError, match="nothing in common"):
        diff_suites(runs[2:4], "old", "new")


def _cells(text: str) -> Sequence[str]:
    return [cell.strip() for line in text.splitlines() if line.startswith("| fake:a") for cell in line.split("|")]


def test_every_format_says_the_same(write: Write) -> None:
    diff = diff_suites([write("old", "0" * 12), write("new", "1" * 12)], "old", "new")
    (row,) = csv.DictReader(io.StringIO(render(diff_table(diff), "csv")))
    assert (row["before_suite"], row["after_suite"], float(row["difference"])) == ("old", "new", 1.0)
    assert json.loads(render(diff_table(diff), "json"))["changes"][0]["p_holm"] == diff.changes[0].p_holm
    console = Console(file=io.StringIO(), width=180)
    show(diff_table(diff), console)
    assert isinstance(console.file, io.StringIO)
    for text in (console.file.getvalue(), render(diff_table(diff), "md"), render(diff_table(diff), "latex")):
        assert "+1.000" in text or "+1.000" in text.replace("{-}", "-")
        assert "<0.001" in text.replace("&lt;", "<").replace(r"\textless{}", "<")
        assert "McNemar" in text
    assert "latex" in FORMATS
    with pytest.raises(HarnessError, match="no format 'html'"):
        render(diff_table(diff), "html")


def test_a_narrow_terminal_shows_every_name_and_number_whole(write: Write) -> None:
    name = "a_scenario_with_quite_a_long_name"
    diff = diff_suites([write("old", "01" * 6, scenario=name), write("new", "1" * 12, scenario=name)], "old", "new")
    console = Console(file=io.StringIO(), width=80)
    show(diff_table(diff), console)
    assert isinstance(console.file, io.StringIO)
    table = console.file.getvalue().partition("change: ")[0]
    assert max(map(len, table.splitlines())) <= 80
    assert name in table
    (change,) = diff.changes
    assert f"[{change.low:+.3f}, {change.high:+.3f}]" in table


def test_names_are_no_markup(write: Write) -> None:
    model = "fake:=x|*<b>\u202e"
    diff = diff_suites([write("old", "01", model=model), write("new", "01", model=model)], "old", "new")
    markdown = render(diff_table(diff), "md")
    assert r"fake:=x\|\*&lt;b>\u202e" in markdown
    assert "\u202e" not in markdown + render(diff_table(diff), "csv") + render(diff_table(diff), "latex")
