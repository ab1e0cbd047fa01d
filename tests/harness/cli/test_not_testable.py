"""Data sets whose order cannot be tested: every output has the word and the reason, and none has a p-value."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

FEW = "with 4 examples no p-value at the level 0.01 is possible (the smallest is 0.083); 6 examples are needed"
SORTED = "the text alone shows that the order is not exchangeable: "
WORDS = ("amber", "birch", "comet", "delta", "ember", "fjord", "grove", "heath")


@pytest.fixture
def runs(folder: Path, harness: Any) -> dict[str, Path]:
    """The run folders of a file with four lines, and of one that is sorted, by the file's name; with one model."""
    rng = Random(0)
    (folder / "few.txt").write_text("a\nb\nc\nd\n")
    lines = sorted(" ".join(rng.sample(WORDS, 4)) for _ in range(60))
    (folder / "sorted.txt").write_text("\n".join(lines) + "\n")
    said = harness("contamination", "test", "fake:0", "--data", "few.txt", "--data", "sorted.txt", "--context", "300")
    assert said.code == 1
    assert said.err.count("not testable: ") == 2
    found = {}
    for file in Path("results/contamination").glob("*/run.json"):
        record = json.loads(file.read_text())
        assert (record["status"], record["error"], record["efficiency"]["queries"]) == ("ok", None, 0)
        found[Path(record["spec"]["scenario"]["path"]).name] = file.parent
    return found


def flat(text: str) -> str:
    """Return a text in one line, without the marks that LaTeX needs."""
    return " ".join(text.replace("{-}", "-").split())


@pytest.mark.usefixtures("runs")
def test_the_report(harness: Any) -> None:
    said = harness("contamination", "report")
    lines = {line.split()[0]: line.split()[1:] for line in said.out.splitlines() if line.startswith(("few", "sorted"))}
    assert lines["few.txt"] == ["4", "–", "–", "–", "not", "testable"]
    assert lines["sorted.txt"] == ["60", "–", "–", "–", "not", "testable"]
    assert f"few.txt: not testable: {FEW}" in flat(said.out)
    assert f"sorted.txt: not testable: {SORTED}alphabetical order (p = " in flat(said.out)
    assert "See `harness contamination diagnose`" in flat(said.out)
    tests = json.loads(harness("contamination", "report", "--json").out)["models"][0]["tests"]
    assert {(test["verdict"], test["p_holm"], test["headline_log10_p"]) for test in tests} == {
        ("not testable", None, None)
    }


@pytest.mark.parametrize("form", ["terminal", "md", "latex"])
@pytest.mark.usefixtures("runs")
def test_the_leaderboard(harness: Any, form: str) -> None:
    said = flat(harness("leaderboard", "--format", form).out)
    assert said.count("not testable") == 4  # two cells, and a note for each
    assert f"fake:0: not testable: {FEW}." in said
    assert f"fake:0: not testable: {SORTED}alphabetical order" in said
    assert "0/2" in said
    assert "0.000" not in said


@pytest.mark.usefixtures("runs")
def test_the_leaderboard_for_programs(harness: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(harness("leaderboard", "--format", "csv").out)))
    assert [(row["status"], row["mean"], row["count"], row["errors"]) for row in rows] == [
        ("not testable", "", "0", "")
    ] * 2
    assert any(row["no_value"].endswith(f"few.txt: not testable: {FEW}") for row in rows)
    board = json.loads(harness("leaderboard", "--format", "json").out)
    assert [cell["mean"] for cell in board["cells"]] == [None, None]
    assert all(cell["no_value"][0]["error"].startswith("not testable: ") for cell in board["cells"])
    assert [column["test"] for column in board["columns"]] == [True, True]


@pytest.mark.parametrize("form", ["terminal", "md", "latex", "csv", "json"])
def test_the_statistics(harness: Any, runs: dict[str, Path], form: str) -> None:
    said = flat(harness("stats", str(runs["few.txt"]), "--format", form).out)
    assert f"not testable: {FEW}" in said
    if form == "csv":
        row, *_ = csv.DictReader(io.StringIO(harness("stats", str(runs["few.txt"]), "--format", form).out))
        assert (row["metric"], row["mean"], row["count"]) == ("contamination", "", "0")


def test_comparisons(harness: Any, runs: dict[str, Path]) -> None:
    assert harness("contamination", "test", "fake:1", "--data", "few.txt", "--context", "300").code == 1
    (other,) = (path for path in Path("results/contamination").iterdir() if "fake-1" in path.name)
    said = harness("compare", str(runs["few.txt"]), str(other))
    assert said.code == 2
    assert f"has no value to compare, not testable: {FEW}" in said.err
    said = harness("contamination", "test", "fake:0", "--data", "few.txt", "--context", "300", "--suite", "again")
    assert said.code == 1
    said = harness("leaderboard", "--diff", "contamination", "again")
    assert f"in again, not testable: {FEW}" in said.err


def test_computing_the_statistics_again_changes_nothing(harness: Any, runs: dict[str, Path]) -> None:
    before = json.loads((runs["few.txt"] / "run.json").read_text())
    assert harness("score", str(runs["few.txt"])).code == 0
    after = json.loads((runs["few.txt"] / "run.json").read_text())
    assert [after[name] for name in ("status", "stats", "details")] == [
        before[name] for name in ("status", "stats", "details")
    ]


@pytest.mark.usefixtures("runs")
def test_diagnose(harness: Any) -> None:
    said = harness("contamination", "diagnose", "few.txt", "sorted.txt")
    assert said.code == 1
    assert f"not testable: {FEW}" in flat(said.out)
    assert f"not testable: {SORTED}alphabetical order" in flat(said.out)
    assert "No repair that the harness makes by itself helps" in said.out
