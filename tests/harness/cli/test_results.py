"""``harness score`` and ``harness leaderboard``."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from tests.harness.cli.conftest import Harness


@pytest.fixture
def runs(harness: Harness, folder: Path) -> list[Path]:
    """Folders of four finished runs."""
    assert harness("run", "sweep.yaml").code == 0
    return sorted((folder / "results" / "small").iterdir())


def test_scoring_again_gives_the_same_files(harness: Harness, runs: list[Path]) -> None:
    def contents() -> list[str | bytes]:
        return [
            content
            for run in runs
            for content in ((run / "run.json").read_text(), gzip.decompress((run / "examples.jsonl.gz").read_bytes()))
        ]

    before = contents()
    said = harness("score", *map(str, runs))
    assert said.code == 0
    assert "statistics computed from 40 examples" in said.out
    assert contents() == before


def test_scoring_again_follows_a_changed_metric_and_the_run_stays_finished(harness: Harness, folder: Path) -> None:
    (folder / "sweep.yaml").write_text(
        "suite: small\nplugins: [./quiz.yaml, ./measures.py]\nmodels: [{name: 'fake:1', log: asked}]\n"
        "runs: [{scenario: quiz, metrics: [exact_match, length]}]\n"
    )
    harness("run", "sweep.yaml")
    (run,) = (folder / "results" / "small").iterdir()

    def mean() -> float:
        stats = json.loads((run / "run.json").read_text())["stats"]
        return float(next(stat["mean"] for stat in stats if stat["metric"] == "length"))

    before = mean()
    file = folder / "measures.py"
    file.write_text(file.read_text().replace("len(example.prediction)", "2 * len(example.prediction)"))
    assert harness("score", str(run), "--plugin", "quiz.yaml", "--plugin", "measures.py").code == 0
    assert mean() == pytest.approx(2 * before)
    assert "finished before" in harness("run", "sweep.yaml").err


@pytest.mark.parametrize("damage", ["missing", "no gzip", "truncated", "no json"])
def test_examples_that_cannot_be_read_are_one_message_and_the_record_stays(
    harness: Harness, runs: list[Path], damage: str
) -> None:
    file, record = runs[0] / "examples.jsonl.gz", (runs[0] / "run.json").read_text()
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(
            {"no gzip": b"x", "truncated": content[: len(content) // 2], "no json": gzip.compress(b"{")}[damage]
        )
    said = harness("score", str(runs[0]), "--plugin", "quiz.yaml")
    assert said.code == 2
    assert "examples.jsonl.gz" in said.err
    assert (runs[0] / "run.json").read_text() == record
    assert [path.name for path in runs[0].glob(".*")] == []


def test_a_run_that_cannot_be_scored_does_not_keep_the_others_from_it(harness: Harness, runs: list[Path]) -> None:
    (runs[0] / "examples.jsonl.gz").unlink()
    said = harness("score", *map(str, runs))
    assert said.code == 2
    assert said.out.count("statistics computed") == len(runs) - 1
    assert f"1 of {len(runs)} runs were not scored" in said.err


def test_stats_shows_perturbed_copies_apart(harness: Harness, runs: list[Path]) -> None:
    perturbed = next(run for run in runs if "lowercase" in run.name)
    said = harness("stats", str(perturbed))
    assert said.code == 0
    assert said.out.count("Exact match") >= 2
    assert "valid · Lowercase" in said.out
    assert "fake:" in said.out.splitlines()[0]
    rows = list(csv.DictReader(io.StringIO(harness("stats", str(perturbed), str(runs[0]), "--format", "csv").out)))
    assert {row["perturbation"] for row in rows} >= {"", "lowercase"}
    assert {row["run"] for row in rows} == {perturbed.name, runs[0].name}
    assert all(float(row["low"]) <= float(row["mean"]) <= float(row["high"]) for row in rows if row["low"])
    values = json.loads(harness("stats", str(perturbed), "--format", "json").out)
    assert [value["run"] for value in values] == [perturbed.name]


def test_stats_says_what_a_reader_must_know_of_an_interval(harness: Harness, runs: list[Path]) -> None:
    stats = json.loads((runs[0] / "run.json").read_text())["stats"]
    exact = next(stat for stat in stats if stat["metric"] == "exact_match" and stat["perturbation"] is None)
    assert exact["scale"] == {"kind": "proportion", "low": 0.0, "high": 1.0}
    notes = list(dict.fromkeys(stat["note"] for stat in stats if stat["note"]))
    assert notes
    said = harness("stats", str(runs[0]))
    for number, note in enumerate(notes, start=1):
        assert f"({number}) {note}" in said.out


def test_stats_of_a_run_without_any_is_its_reason_alone(harness: Harness, folder: Path) -> None:
    (folder / "quiz" / "valid.jsonl").unlink()
    harness("run", "sweep.yaml")
    failed = next((folder / "results").glob("*/*/run.json")).parent
    said = harness("stats", str(failed))
    assert "valid.jsonl" in said.out
    assert "interval" not in said.out


def test_scoring_what_is_no_run_is_one_message(harness: Harness, folder: Path) -> None:
    said = harness("score", str(folder / "quiz"))
    assert said.code == 2
    assert "no finished run here" in said.err


@pytest.mark.usefixtures("runs")
def test_the_site_is_not_named_as_a_suite(harness: Harness) -> None:
    assert harness("leaderboard", "--site").code == 0
    assert "Suites: small." in harness("leaderboard", "large").err
    assert "Suites: small." in harness("leaderboard", "--site", "site").err  # the site's own folder


def test_a_leaderboard_has_a_row_for_each_model(harness: Harness, runs: list[Path], folder: Path) -> None:
    for suites in ((), ("small",)):
        said = harness("leaderboard", *suites, "--format", "csv")
        assert said.code == 0
        rows = list(csv.reader(io.StringIO(said.out)))
        assert len([row for row in rows if any("fake" in cell for cell in row)]) == 2
    assert json.loads(harness("leaderboard", "--format", "json").out)
    assert "fake:0" in harness("leaderboard").out
    said = harness("leaderboard", "-o", "board.md")
    assert (said.out, said.err) == ("", "Wrote board.md.\n")
    assert "| fake:0 |" in (folder / "board.md").read_text()


def test_a_leaderboard_is_of_the_newest_suite_and_names_the_others(harness: Harness, runs: list[Path]) -> None:
    for year, sweep in (("2101", "before"), ("2102", "after")):
        Path("other.yaml").write_text(f"suite: {sweep}\nplugins: [./quiz.yaml]\nmodels: ['fake:0']\nruns: [quiz]\n")
        assert harness("run", "other.yaml").code == 0
        (record,) = Path("results", sweep).glob("*/run.json")
        record.write_text(json.dumps({**json.loads(record.read_text()), "finished": f"{year}-01-01T00:00:00+00:00"}))
    said = harness("leaderboard")
    assert said.out.splitlines()[0].startswith("suite: after, the newest; others: before, small (name one, or")
    assert "fake:1" not in said.out
    assert "fake:1" in harness("leaderboard", "--suite", "small").out
    assert "fake:1" in harness("leaderboard", "--all-suites").out
    assert json.loads(harness("leaderboard", "--suite", "after", "--suite", "before", "--format", "json").out)[
        "suites"
    ] == ["after", "before"]
    assert "cannot be combined" in harness("leaderboard", "--all-suites", "small").err


def test_a_table_fits_columns_and_is_one_line_a_row_in_a_pipe(
    harness: Harness, runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    piped = harness("leaderboard").out.splitlines()
    assert sum("fake:" in line for line in piped if line.lstrip().startswith(("1", "2"))) == 2
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, harness("leaderboard").out.splitlines())) <= 60


def test_a_site_is_built_into_the_results_and_leaves_the_leaderboard_as_it_was(
    harness: Harness, runs: list[Path], folder: Path
) -> None:
    before = harness("leaderboard", "--format", "json").out
    said = harness("leaderboard", "--site")
    assert (said.code, said.out) == (0, "")
    assert "results/site/index.html" in said.err
    assert (folder / "results" / "site" / "data" / "site.js").is_file()
    assert harness("leaderboard", "--format", "json").out == before
    said = harness("leaderboard", "--site", "-o", "quiz")
    assert said.code == 2
    assert "not a site" in said.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("leaderboard", "--results-dir", "nowhere"), "not a results folder"),
        (("leaderboard", "large"), "Suites: small"),
        (("leaderboard", "--format", "pdf"), "pdf"),
        (("leaderboard", "-o", "nowhere/board.txt"), "cannot be written"),
        (("leaderboard", "-o", "."), "cannot be written"),
        (
            ("leaderboard", "-o", "board.xlsx"),
            "no format has the suffix .xlsx. Use one of .csv, .json, .md, .tex, .txt",
        ),
        (("leaderboard", "--site", "--format", "csv"), "cannot be combined"),
    ],
)
def test_a_mistake_is_one_message(
    harness: Harness, runs: list[Path], arguments: tuple[str, ...], expected: str
) -> None:
    said = harness(*arguments)
    assert said.code == 2
    assert expected in said.err


def test_a_record_that_does_not_fit_is_named_and_left_out(
    harness: Harness, runs: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    (runs[0] / "run.json").write_text('{"schema_version": 2}')
    said = harness("leaderboard")
    assert said.code == 0
    assert f"{runs[0].name}/run.json: not a run's record: name: is required; " in caplog.text


@pytest.mark.usefixtures("runs")
def test_a_path_in_place_of_a_suite_is_one_message_of_every_command(harness: Harness) -> None:
    path = "results/small"
    commands = [
        ("leaderboard", path),
        ("leaderboard", "--suite", path),
        ("leaderboard", "--diff", "small", path),
        ("leaderboard", "--site", path),
        ("prompts", path),
        ("checkpoints", path),
        ("compare", "fake:0", "fake:1", "--suite", path),
        ("contamination", "report", path),
        ("export", "results", "--suite", path, "--to", "helm", "-o", "out"),
        ("publish", "results", "--to", "someone/results", "--suite", path),
    ]
    expected = f"no suite '{path}' in results: that is the folder of a suite. Write the suite's name: small\n"
    for command in commands:
        said = harness(*command)
        assert (said.code, said.out, said.err) == (2, "", expected), command


def test_a_suite_in_place_of_a_run_is_one_message_of_every_command(harness: Harness, runs: list[Path]) -> None:
    listed = "".join(f"\n  results/small/{run.name}" for run in runs[:3])
    for folder, what in (("results/small", "a suite's folder"), ("results", "a results folder")):
        for command in (("reproduce",), ("stats",), ("score",), ("compare", str(runs[0]))):
            said = harness(*command, folder)
            assert said.code == 2
            expected = f"{folder} is {what}. Name the folder of one run:{listed}\n  … and 1 more\n"
            assert expected in said.err, command
            assert said.err.count(what) == 1
