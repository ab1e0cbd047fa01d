"""``harness.Results``: data frames of runs, with the numbers that the command line shows."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.errors import DataError, HarnessError
from harness.python.columns import TABLES
from harness.runs.runner import Settings, run_sweep
from harness.sweeps.load import load_sweep
from tests.harness.cli.conftest import Harness, folder, write_files
from tests.harness.cli.conftest import harness as command

__all__ = ["command", "folder"]

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of four runs of two models, made once."""
    made = tmp_path_factory.mktemp("finished")
    write_files(made)
    sweep, registry = load_sweep(made / "sweep.yaml")
    with chdir(made):  # where a model's log goes
        assert len(list(run_sweep(sweep.runs, registry, Settings(made / "results")))) == 4
    return made / "results"


@pytest.fixture
def results(finished: Path, folder: Path) -> harness.Results:
    """A copy of them in the working directory."""
    shutil.copytree(finished, "results")
    return harness.Results("results", plugins=["quiz.yaml"])


def rows(said: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(said)))


def as_csv(value: Any) -> str:
    """Return a value of a data frame as the command writes it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else str(value)


def assert_same(frame: Any, said: str) -> None:
    shown, found = rows(said), frame.to_pylist()
    assert frame.column_names == list(shown[0])
    texts = [{key: value.removeprefix("'") for key, value in row.items()} for row in shown]
    assert [{key: as_csv(value).removeprefix("'") for key, value in row.items()} for row in found] == texts


def test_the_leaderboard_has_the_command_lines_numbers(command: Harness, results: harness.Results) -> None:
    said = command("leaderboard", "small", "--format", "csv", "--plugin", "quiz.yaml")
    assert_same(results.leaderboard(to="arrow"), said.out)
    assert len(rows(said.out)) == 2


def test_statistics_have_the_command_lines_numbers(command: Harness, results: harness.Results) -> None:
    run = results.runs(to="polars")["run"][0]
    said = command("stats", f"results/small/{run}", "--format", "csv", "--plugin", "quiz.yaml")
    assert_same(results.stats(run, to="arrow"), said.out)
    assert results.stats(f"small/{run}", to="arrow") == results.stats(run, to="arrow")
    assert len(results.stats()) == sum(len(results.stats(name)) for name in results.runs()["run"])


def test_comparisons_have_the_command_lines_numbers(command: Harness, results: harness.Results) -> None:
    said = command("compare", "fake:0", "fake:1", "--suite", "small", "--format", "csv", "--plugin", "quiz.yaml")
    assert_same(results.compare("fake:0", "fake:1", to="arrow"), said.out)
    one, other = (name for name in results.runs()["run"] if "lowercase" not in name)
    said = command("compare", f"results/small/{one}", f"results/small/{other}", "--format", "csv")
    assert results.compare(one, other)["p"].tolist() == [float(row["p"]) for row in rows(said.out)]


def test_a_runs_row_is_its_main_metric(results: harness.Results) -> None:
    runs = results.runs()
    assert len(runs) == 4
    for row in runs.to_dict("records"):
        record = json.loads((Path(row["folder"]) / "run.json").read_text())
        (stat,) = (
            stat
            for stat in record["stats"]
            if (stat["metric"], stat["perturbation"], stat["group"]) == (row["metric"], None, None)
            and stat["computed_on"] == "original"
        )
        assert (row["mean"], row["count"], [row["low"], row["high"]]) == (stat["mean"], stat["count"], stat["ci95"])
        assert row["started"].isoformat() == record["started"]
    assert set(runs["model"]) == {"fake:0", "fake:1"}


def test_a_failed_run_has_no_mean(results: harness.Results) -> None:
    file = Path(results.runs()["folder"][0]) / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "status": "failed", "error": "no memory"}))
    row = next(row for row in results.runs(to="arrow").to_pylist() if row["status"] == "failed")
    assert [row[key] for key in ("mean", "stderr", "low", "high", "count")] == [None] * 5
    assert row["error"] == "no memory"


def test_a_run_without_a_value_says_why(results: harness.Results) -> None:
    file = Path(results.runs()["folder"][0]) / "run.json"
    found = {"measure": {"valid": {"original": {"no_value": "not testable: too few questions"}}}}
    file.write_text(json.dumps({**json.loads(file.read_text()), "stats": [], "details": found}))
    reasons = results.runs(to="arrow").column("no_value").to_pylist()
    assert sorted(filter(None, reasons)) == ["not testable: too few questions"]
    assert len(reasons) == 4


def test_samples_have_a_row_for_each_example(results: harness.Results) -> None:
    run = next(name for name in results.runs()["run"] if "lowercase" in name)
    samples = results.samples(run)
    assert len(samples) == 40
    assert set(samples["perturbation"].dropna()) == {"lowercase"}
    first = samples[samples["perturbation"].isna()].iloc[0]
    assert first["prompt"].endswith("Is 0 even?\nOutput:")
    assert list(first["references"]) == ["Yes", "No"]
    originals = samples[samples["perturbation"].isna()]
    stats = results.stats(run).query("metric == 'exact_match' and computed_on == 'original' and group.isna()")
    assert originals["score_exact_match"].mean() == pytest.approx(stats["mean"].iloc[0])
    assert len(results.samples()) == 120


@pytest.mark.parametrize("table", ["runs", "leaderboard", "stats", "samples"])
def test_checkpoints_have_their_series_and_step(results: harness.Results, table: str) -> None:
    for file in results.path.rglob("run.json"):
        record = json.loads(file.read_text())
        about = {"series": "mine", "step": 100} if record["spec"]["model"]["name"] == "fake:0" else {}
        record["spec"]["operational"] = {"about": about}
        file.write_text(json.dumps(record))
    frame = getattr(results, table)()
    ours = frame["model"] == "fake:0"
    assert set(frame[ours]["series"]) == {"mine"}
    assert set(frame[ours]["step"]) == {100}
    assert not frame[~ours].empty
    assert frame[~ours]["step"].isna().all()


@pytest.mark.parametrize("table", ["runs", "leaderboard", "stats", "samples"])
def test_columns_have_the_types_that_the_reference_states(results: harness.Results, table: str) -> None:
    declared = TABLES[table]
    types = {"text": "string", "texts": "list<", "whole": "int64", "number": "double", "flag": "bool", "time": "timest"}
    arrow = getattr(results, table)(to="arrow")
    names = [name for name in arrow.column_names if not name.startswith("score_")]
    assert names == list(declared)
    for name in names:
        assert str(arrow.schema.field(name).type).startswith(types[declared[name].type]), name
    pandas, polars = getattr(results, table)(), getattr(results, table)(to="polars")
    assert list(pandas.columns) == polars.columns == arrow.column_names
    whole = [name for name in names if declared[name].type == "whole"]
    assert {str(pandas[name].dtype) for name in whole} <= {"Int64"}


def test_frames_without_rows_have_their_columns(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    results = harness.Results(tmp_path / "results")
    for table in ("runs", "leaderboard", "stats", "samples"):
        frame = getattr(results, table)()
        assert (len(frame), list(frame.columns)) == (0, list(TABLES[table]))
    assert "no runs" in results._repr_html_()


def test_what_has_changed_on_disk_is_read_again(results: harness.Results, folder: Path) -> None:
    before = results.runs()
    file = Path(before["folder"][0]) / "run.json"
    record = json.loads(file.read_text())
    record["status"], record["error"] = "failed", "on purpose, for this test"
    file.write_text(json.dumps(record))
    after = results.runs()
    assert after["error"].dropna().tolist() == ["on purpose, for this test"]
    file.unlink()
    assert len(results.runs()) == 3


def test_only_some_runs_and_suites(results: harness.Results) -> None:
    runs = results.runs()
    chosen = [("small", runs["run"][0])]
    assert harness.Results("results", only=chosen).runs()["run"].tolist() == [runs["run"][0]]
    assert len(harness.Results("results", "small").runs()) == 4
    with pytest.raises(DataError, match=r"no suite 'larg' in results\. Suites: small"):
        harness.Results("results", "larg")


def test_mistakes_are_one_message_each(results: harness.Results, folder: Path) -> None:
    run = results.runs()["run"][0]
    with pytest.raises(DataError, match=f"there is no run '{run[:-1]}' in results. Did you mean '{run}'"):
        results.stats(run[:-1])
    with pytest.raises(DataError, match="no run of model 'fake:7' found"):
        results.compare("fake:0", "fake:7")
    with pytest.raises(DataError, match="is a run, but 'fake:0' is not"):
        results.compare(run, "fake:0")
    with pytest.raises(HarnessError, match=r"no data frames of 'panda'\. Did you mean 'pandas'"):
        results.runs(to="panda")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="nowhere is not a results folder"):
        harness.Results("nowhere")
    with pytest.raises(DataError, match=r"write Results\('results', 'small'\)"):
        harness.Results("results/small")
    with pytest.raises(DataError, match="is the folder of a run"):
        harness.Results(Path("results", "small", run))


def test_a_library_that_is_missing_is_named_with_its_extra(
    results: harness.Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(HarnessError, match=r"data frames need polars .*pip install"):
        results.runs(to="polars")
    assert len(results.runs()) == 4


def test_the_folder_is_that_of_the_environment(
    results: harness.Results, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "results").rename(folder / "elsewhere")
    monkeypatch.setenv("HARNESS_RESULTS_DIR", "elsewhere")
    assert harness.Results().path == Path("elsewhere")


def test_a_notebook_shows_the_board_escaped_with_a_link_to_the_site(results: harness.Results, folder: Path) -> None:
    assert "<a href" not in results._repr_html_()
    page = results.site()
    assert page == Path("results/site/index.html")
    for file in (folder / "results" / "small").glob("*/run.json"):
        record = json.loads(file.read_text())
        record["spec"]["operational"]["display_name"] = HOSTILE + record["spec"]["model"]["name"]
        file.write_text(json.dumps(record))
    html = results._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert page.resolve().as_uri() in html
    assert repr(results) == "Results('results'): 4 runs"


def test_arguments_of_a_wrong_type_are_one_message(finished: Path) -> None:
    with pytest.raises(HarnessError, match="suites must be a list, not 5"):
        harness.Results(finished, 5)  # type: ignore[arg-type]
    with pytest.raises(HarnessError, match="ratings must be a list"):
        harness.Results(finished).site(ratings="abc")  # type: ignore[arg-type]
    with pytest.raises(HarnessError, match=r"there is no run 'nope' in .*\. runs\(\) lists all runs\."):
        harness.Results(finished).samples("nope")


@pytest.mark.parametrize("table", ["samples", "stats"])
def test_a_run_is_known_by_its_folder(results: harness.Results, table: str) -> None:
    row = results.runs().iloc[1]
    wanted = getattr(results, table)(row["run"], to="arrow")
    for place in (row["folder"], Path(row["folder"]), Path(row["folder"]).absolute()):
        assert getattr(results, table)(place, to="arrow") == wanted


def test_what_is_neither_a_name_nor_a_folder_is_one_message(finished: Path) -> None:
    results = harness.Results(finished)
    with pytest.raises(HarnessError, match="path must be a folder of results, not 4"):
        harness.Results(4)  # type: ignore[arg-type]
    for read in (results.samples, results.stats):
        with pytest.raises(HarnessError, match="run must be the name of a run or its folder, not a Series"):
            read(results.runs()["run"])
        with pytest.raises(HarnessError, match="there is no run ''"):
            read("")
    with pytest.raises(HarnessError, match="is compared by its name, not a Series"):
        results.compare(results.runs()["model"], "fake:1")


def test_an_ending_that_only_one_model_has_names_it(results: harness.Results) -> None:
    assert results.compare("0", "1", to="arrow") == results.compare("fake:0", "fake:1", to="arrow")


def test_what_cannot_be_compared_is_a_warning(results: harness.Results) -> None:
    name = next(name for name in results.runs()["run"] if "lowercase" in name)
    next(Path("results/small", name).glob("examples*")).write_bytes(b"damaged")
    with pytest.warns(UserWarning, match=r"(?s)not compared:.*quiz.*examples") as caught:
        found = results.compare("fake:0", "fake:1")
    assert len(found) == 1
    assert [Path(warning.filename).name for warning in caught] == ["test_results.py"]


def test_a_model_or_a_run_is_not_compared_with_itself(finished: Path) -> None:
    results = harness.Results(finished)
    with pytest.raises(HarnessError, match="both models are fake:0; name two"):
        results.compare("fake:0", "fake:0")
    run = results.runs()["run"][0]
    with pytest.raises(HarnessError, match=r"both runs are small/quiz.*; name two"):
        results.compare(run, f"small/{run}")
