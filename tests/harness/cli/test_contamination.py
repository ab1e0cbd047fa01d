"""``harness contamination``: tests, reports and diagnoses, and what is said when something cannot be tested."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
from rich.console import Console

from adapters._order.repairing import Repair
from harness import Split
from harness.cli.contamination import REPAIRS
from harness.cli.contamination_names import folded, short_labels
from harness.cli.contamination_report import show_report
from harness.contamination.order_tests import JudgedTest
from harness.contamination.report import Report, TestFamily, build_report
from harness.contracts.specs import Component, RunSpec
from harness.storage.results import RunRecord

WORDS = ("amber", "birch", "comet", "delta", "ember", "fjord", "grove", "heath")


@pytest.fixture
def file(folder: Path) -> Path:
    """Forty examples in a random order, one record a line."""
    rng = Random(0)
    path = folder / "examples.jsonl"
    records = [{"q": " ".join(rng.sample(WORDS, 3)), "a": rng.randrange(1000)} for _ in range(40)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


ASKED = ("contamination", "test", "fake:0", "--data", "examples.jsonl", "--context", "300", "--shuffles", "4")


@pytest.mark.usefixtures("file")
def test_a_file_is_tested_and_reported(harness: Any) -> None:
    said = harness(*ASKED, "--permutations", "12", "--rows", "0:20", "--control-rows", "20:40")
    assert "Report: harness contamination report contamination\n" in said.err
    assert said.code == 0
    assert "examples.jsonl" in said.out
    assert "c examples.jsonl [20:40]" in said.out
    assert "no dependence" in said.out
    assert "clean" not in said.out
    again = harness("contamination", "report", "contamination", "--json")
    target, control = json.loads(again.out)["models"][0]["tests"]
    assert (target["n_used"], control["n_used"]) == (20, 20)
    assert (control["p_holm"], control["log10_q_bh"]) == (None, None)
    assert target["headline_log10_p"] > -2
    assert (target["neighbours"]["blocks"], target["neighbours"]["largest_block"]) == (3, 8)
    assert "pairs" in said.out
    assert "next  " not in said.out
    assert 0 < target["p_permutation"] <= 1
    assert target["cost"]["requests"] > 8 * 5
    assert control["role"] == "control"


def test_the_same_command_again_asks_nothing(harness: Any, file: Path) -> None:
    first = harness(*ASKED, "--json")
    second = harness(*ASKED, "--json")
    assert json.loads(first.out) == json.loads(second.out)
    assert "skipped" in second.err or "finished" in second.err
    # Other bytes are other data.
    file.write_text(file.read_text().replace("amber", "umber"))
    assert json.loads(harness(*ASKED, "--json").out) != json.loads(first.out)


@pytest.mark.usefixtures("file")
def test_the_report_has_the_tokens_that_were_asked_for_and_those_computed(harness: Any) -> None:
    """A second start has all answers in the cache: it asks for as many tokens and computes none."""
    first, second = harness(*ASKED), harness(*ASKED, "--force")
    asked, computed = cost_of(first.out)
    assert 0 < computed <= asked
    assert cost_of(second.out) == (asked, 0)
    (test,) = json.loads(harness("contamination", "report", "contamination", "--json").out)["models"][0]["tests"]
    assert (test["cost"]["tokens"], test["computed_tokens"]) == (asked, 0)


def cost_of(shown: str) -> tuple[int, int]:
    """Return the tokens that were asked for and those computed."""
    (line,) = re.findall(r"cost: [\d,]+ requests for ([\d,]+) tokens; ([\d,]+) computed", shown)
    asked, computed = (int(number.replace(",", "")) for number in line)
    return asked, computed


def test_a_test_is_one_line_where_no_terminal_is(harness: Any, file: Path) -> None:
    name = "examples_of_a_benchmark_0-40_x50.jsonl"
    file.rename(file.with_name(name))
    said = harness(*(name if part == "examples.jsonl" else part for part in ASKED))
    (line,) = [line for line in said.out.splitlines() if line.startswith(name)]
    assert "no dependence" in line


@pytest.mark.parametrize(("width", "shown"), [(80, "1e-25"), (100, "1.0e-25")])
def test_a_test_is_one_line_of_a_terminal(width: int, shown: str) -> None:
    found: dict[str, Any] = {
        "n_used": 400,
        "log10_p_t": -5.2,
        "log10_p_exact": -8.3,
        "headline_log10_p": -25.0,
        "neighbours": {"log10_p": -25.3},
    }
    name = "sample_multiple_choice"
    spec = RunSpec(
        suite="t",
        scenario=Component(name=name),
        adapter=Component(name="exchangeability"),
        metrics=(Component(name="contamination"),),
        main_metric="contamination",
        model=Component(name="hf:a"),
        eval_split=Split.TEST,
    )
    kept: dict[str, Any] = {"stats": (), "efficiency": {}, "provenance": {}, "examples": None}
    kept |= {"error": None, "started": "", "finished": ""}
    record = RunRecord(directory=Path("run"), name="run", suite="t", status="ok", spec=spec, **kept)
    tests = tuple(
        JudgedTest(record, "test", found, log10_p_holm=-0.7, log10_q_bh=-24.7, log10_q_by=-24.4) for _ in range(2)
    )
    file = io.StringIO()
    show_report(Report((TestFamily("hf:a", False, tests, -5.9, -23.7, -24.5),)), Console(file=file, width=width))
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if line.startswith(name)]
    assert len(rows) == 2
    assert all(f" {shown} " in row and row.rstrip().endswith("no dependence") for row in rows)


@pytest.mark.usefixtures("file")
def test_scores_are_computed_again_from_the_examples(harness: Any) -> None:
    before = json.loads(harness(*ASKED, "--json").out)
    (run,) = Path("results/contamination").iterdir()
    assert harness("score", str(run)).code == 0
    after = json.loads(harness("contamination", "report", "--json").out)
    for key in ("headline_log10_p", "shard_scores", "neighbours"):
        assert before["models"][0]["tests"][0][key] == after["models"][0]["tests"][0][key]


def test_files_of_the_same_rows_are_re_tests(harness: Any, folder: Path, file: Path) -> None:
    lines = file.read_text().splitlines()
    (folder / "first.jsonl").write_text("\n".join(lines[:30]) + "\n")
    (folder / "plain.txt").write_text("".join("{q}, {a}\n".format(**json.loads(line)) for line in lines))
    said = harness(*ASKED, "--data", "first.jsonl", "--data", "plain.txt", "--json")
    assert said.code == 0
    (family,) = json.loads(said.out)["models"]
    assert [test["retest_of"] is not None for test in family["tests"]].count(True) == 2
    assert family["log10_fisher"] is None


@pytest.mark.parametrize(("log10_p_pairs", "advised"), [(-0.5, True), (-13.0, False)])
def test_more_shuffles_are_advised_only_where_they_may_change_the_verdict(log10_p_pairs: float, advised: bool) -> None:
    shards = [{"canonical": 7.5, "shuffled": [float(one) for one in range(1, 10)]}] * 8  # exact p: 8e-04 to 0.09
    found = {
        "headline_log10_p": -3.0, "n_used": 40, "r": 8, "shuffles": 9, "shard_scores": shards,
        "neighbours": {"log10_p": log10_p_pairs},
    }  # fmt: skip
    spec = RunSpec(
        suite="s", scenario=Component(name="file"), adapter=Component(name="a"), metrics=(Component(name="m"),),
        main_metric="m", model=Component(name="m"), eval_split=Split.TEST,
    )  # fmt: skip
    kept: dict[str, Any] = {"stats": (), "efficiency": {}, "provenance": {}, "examples": None, "error": None}
    kept |= {"details": {"m": {"test": {"original": found}}}, "started": "", "finished": ""}
    record = RunRecord(directory=Path("run"), name="run", suite="s", status="ok", spec=spec, **kept)
    stream = io.StringIO()
    show_report(build_report([record]), Console(file=stream, width=200))
    assert "other shuffles would give exact p from" in stream.getvalue()
    assert ("more --shuffles would settle it" in stream.getvalue()) is advised


def test_diagnose_asks_no_model(harness: Any, folder: Path, file: Path) -> None:
    assert harness("contamination", "diagnose", "examples.jsonl").code == 0
    lines = file.read_text().splitlines()
    (folder / "sorted.jsonl").write_text("\n".join(sorted(lines)) + "\n")
    said = harness("contamination", "diagnose", "sorted.jsonl")
    assert said.code == 1
    assert "the order is not exchangeable" in said.out


def test_diagnose_says_which_of_several_has_no_order(harness: Any, folder: Path, file: Path) -> None:
    (folder / "one.txt").write_text("a\n")
    said = harness("contamination", "diagnose", file.name, "one.txt")
    assert said.code == 2
    assert "one.txt: there is only 1 example" in said.err


def test_too_few_examples_are_not_testable(harness: Any, folder: Path) -> None:
    (folder / "few.txt").write_text("a\nb\nc\nd\n")
    said = harness("contamination", "test", "fake:0", "--data", "few.txt", "--context", "300")
    assert said.code == 1
    assert "few.txt: not testable: with 4 examples no p-value at the level 0.01 is possible" in said.out
    (record,) = Path("results/contamination").glob("*/run.json")
    assert json.loads(record.read_text())["efficiency"]["queries"] == 0
    assert "fake:0: 1 data set, not testable, level 0.01" in said.out
    said = harness("contamination", "diagnose", "few.txt")
    assert said.code == 1
    assert "not testable: with 4 examples" in said.out


def test_a_failure_is_told_once(harness: Any, file: Path) -> None:
    said = harness("contamination", "test", "fake:0", "--data", file.name, "--rows", "0:41", "--context", "300")
    assert said.code == 2
    assert (said.out + said.err).count("there are only 40 examples") == 1


@pytest.mark.usefixtures("file")
def test_a_failed_test_has_a_row_and_its_reason(harness: Any) -> None:
    failing = ("contamination", "test", "fake:0", "--data", "examples.jsonl", "--suite", "failing")
    said = harness(*failing, "--rows", "0:20", "--control-rows", "20:40")  # the model does not say its window
    assert said.code == 2
    shown = harness("contamination", "report", "failing").out
    assert "fake:0: 2 failed tests\n" in shown
    rows = [line.split() for line in shown.splitlines() if line.rstrip().endswith("failed")]
    assert [(row[:-6], row[-1]) for row in rows] == [
        (["examples.jsonl"], "failed"), (["c", "examples.jsonl"], "failed")
    ]  # fmt: skip
    assert "examples.jsonl [0:20], examples.jsonl [20:40] failed: the model does not say" in shown
    (family,) = json.loads(harness(*failing, "--json").out)["models"]
    assert (family["tests"], family["failed"][0]["role"], family["failed"][0]["rows"]) == ([], "target", None)
    assert "set --context" in family["failed"][0]["error"]


@pytest.mark.parametrize(
    ("options", "shared", "advice"),
    [
        (("--rows", "0:20", "--control-rows", "10:40"), "10:20", "Name other rows with --control-rows"),
        (("--control-rows", "0:40"), "0:40", "Name the rows to test with --rows"),
    ],
)
@pytest.mark.usefixtures("file")
def test_control_rows_that_are_tested_are_refused(
    harness: Any, options: tuple[str, ...], shared: str, advice: str
) -> None:
    said = harness(*ASKED, *options)
    assert said.code == 2
    assert f"rows {shared} are also tested" in said.err
    assert advice in said.err


@pytest.mark.usefixtures("file")
def test_all_faulty_files_are_named_before_a_model_is_asked(harness: Any) -> None:
    Path("empty.jsonl").touch()
    said = harness(*ASKED, "--data", "missing.jsonl", "--data", "empty.jsonl")
    assert said.code == 2
    assert "missing.jsonl does not exist" in said.err
    assert "empty.jsonl: has no rows" in said.err
    assert not Path("results").exists()


@pytest.mark.usefixtures("file")
def test_what_is_not_testable_is_said_before_a_model_is_opened(harness: Any) -> None:
    Path("few.txt").write_text("a\nb\nc\nd\n")
    said = harness("contamination", "test", "hf:./nope", "--data", "examples.jsonl", "--data", "few.txt")
    assert said.code == 2
    told, model = said.err.split("hf:./nope:")
    assert "few.txt: with 4 examples no p-value at the level 0.01 is possible" in " ".join(told.split())
    assert "examples.jsonl" not in said.err
    assert "no such folder" in model


def test_what_is_counted_in_headings(harness: Any, folder: Path, file: Path) -> None:
    (folder / "first.jsonl").write_text("\n".join(file.read_text().splitlines()[:30]) + "\n")
    (folder / "few.txt").write_text("a\nb\nc\nd\n")
    said = harness(*ASKED, "--data", "first.jsonl", "--data", "few.txt", "--control-model", "fake:1")
    assert "fake:0: 1 of 2 data sets tested, 1 re-test, level 0.01\n" in said.out
    assert "fake:1: 1 re-test, 2 controls, level 0.01\n" in said.out


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("truthfulqa_0-100_x10.jsonl", ["truthfulqa_0-100_x10", ".jsonl"]),
        ("mmlu:subject=high_school_physics", ["mmlu:subject=high_", "school_physics"]),
        ("boolq.jsonl [0:100]", ["boolq.jsonl [0:100]"]),
        ("a" * 30, ["a" * 22, "a" * 8]),
    ],
)
def test_names_are_broken_at_separators(name: str, lines: list[str]) -> None:
    assert folded(name, 22).split("\n") == lines


def test_the_repairs_are_those_of_the_adapter() -> None:
    names, _ = get_args(Repair)
    assert set(get_args(names)) == set(REPAIRS)


def test_diagnose_says_which_repair_it_made_and_why(harness: Any, folder: Path, file: Path) -> None:
    lines = [f"{number}. {line}" for number, line in enumerate(file.read_text().splitlines(), start=1)]
    (folder / "numbered.txt").write_text("\n".join(lines) + "\n")
    said = harness("contamination", "diagnose", "numbered.txt")
    assert said.code == 0
    assert "held the ids of 40 of 40 examples in place, because the text shows an order: leading numbers" in said.out
    said = harness("contamination", "diagnose", "numbered.txt", "--repair", "none")
    assert said.code == 1
    assert "Without --repair, the harness repairs it: held the ids" in said.out


def test_what_is_printed_of_a_test(harness: Any, file: Path) -> None:
    said = harness(*ASKED, "--permutations", "12", "--rows", "0:30")
    assert "fake:0: 1 data set, level 0.01" in said.out
    assert "examples.jsonl [0:30]: simple permutation test of the whole data set: p = 0." in said.out
    assert "8 shards with 4 shuffles each; other shuffles would give exact p from" in said.out


@pytest.mark.parametrize("columns", [80, 50])
def test_notes_are_folded_at_the_width(
    harness: Any, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    note = "8 shards with 4 shuffles each; other shuffles would give exact p from"
    assert note in harness(*ASKED).out
    lines = [f"{number}. {line}" for number, line in enumerate(file.read_text().splitlines(), start=1)]
    (folder / "numbered.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = harness(*ASKED).out, harness("contamination", "diagnose", "numbered.txt").out
    assert note in " ".join(shown[0].split())
    assert "because the text shows an order: leading numbers" in " ".join(shown[1].split())
    for line in "".join(shown).splitlines():
        assert len(line.rstrip()) <= columns, line


def test_files_of_one_name_are_told_apart() -> None:
    labels = [f"published_file:path=/data/{part}/test.jsonl" for part in ("a/x", "b/x")] + ["boolq"]
    assert list(short_labels(labels).values()) == ["a/x/test.jsonl", "b/x/test.jsonl", "boolq"]
    assert list(short_labels(labels[:1]).values()) == ["test.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("test", "fake:0", "--data", "examples.jsonl"), 2, "does not say how many tokens its window holds"),
        (("test", "fake:0", "--data", "nothing.jsonl"), 2, "nothing.jsonl does not exist"),
        (("diagnose", "nothing"), 2, "--data nothing [scenario]: there is no scenario named"),
        (("test", "fake:0", "--data", "mmlu:subject=anatmy"), 2, "Did you mean 'anatomy'"),
        (("test", "fake:0", "--data", "examples.jsonl", "--rows", "9"), 2, "'--rows': '9' is not a range"),
        (("test", "fake:0", "--data", "examples.jsonl", "--control-rows", "a"), 2, "'--control-rows': 'a' is not"),
        (
            ("test", "fake:0", "--data", "examples.jsonl", "--rows", "0:9", "--control-rows", "30:50"),
            2,
            "--control-rows (in a sweep: rows) is 30:50, but there are only 40 examples",
        ),
        (("test", "fake:0", "--data", "examples.jsonl", "--repair", "blocks=k"), 2, "has no 'k' for blocks"),
        (
            ("test", "fake:0", "--data", "examples.jsonl", "--repair", "shuffle"),
            2,
            "'shuffle' is not a repair. Known: strip_ids, permute_under_ids, collapse_near_duplicates, blocks=KEY,",
        ),
        (("test", "fake:0", "--data", "examples.jsonl", "--context", "300", "--shards", "30"), 2, "can be 1 to 20"),
        (("report",), 2, "not a results folder"),
    ],
)
@pytest.mark.usefixtures("file")
def test_mistakes(harness: Any, arguments: tuple[str, ...], code: int, message: str) -> None:
    said = harness("contamination", *arguments)
    assert said.code == code
    assert message in said.err
    assert "Traceback" not in said.err
