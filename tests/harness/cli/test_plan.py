"""``harness plan``: how many instances a sweep needs, from earlier runs or a bound, in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from harness.statistics import instances_needed
from tests.harness.cli.conftest import Harness


def found(harness: Harness, *arguments: str) -> dict[str, Any]:
    said = harness("plan", *arguments, "--format", "json")
    assert said.code == 0, said.err
    value: dict[str, Any] = json.loads(said.out)
    return value


def test_without_earlier_runs_it_gives_a_bound_and_asks_no_model(harness: Harness, folder: Path) -> None:
    value = found(harness, "sweep.yaml", "--detect", "0.02", "--power", "0.8")
    assert [one["source"] for one in value["scenarios"]] == ["bound"]
    (one,) = value["scenarios"]
    assert (one["scenario"], one["exist"], one["asked"], one["enough"]) == ("quiz", 20, 20, False)
    assert one["needed"] == instances_needed(0.5, 0.02, step=1.0)
    assert (one["max_eval_instances"], one["variance"]) == (None, 0.5)
    assert not (folder / "results").exists()
    assert not (folder / "asked").exists()


def test_a_named_results_folder_need_not_exist_before_the_first_run(
    harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = harness("plan", "sweep.yaml", "--results-dir", "later", "--format", "json")
    assert said.code == 0
    assert [one["source"] for one in json.loads(said.out)["scenarios"]] == ["bound"]
    assert "later does not exist" in said.err
    monkeypatch.setenv("HARNESS_RESULTS_DIR", "later")
    assert found(harness, "sweep.yaml")["scenarios"][0]["source"] == "bound"
    assert not (folder / "later").exists()


def test_a_difference_that_can_be_shown_names_the_limit_and_scales_what_is_asked(harness: Harness) -> None:
    value = found(
        harness, "-r", "quiz", "-m", "fake:0", "--plugin", "quiz.yaml", "--detect", "0.8", "--agreement", "0.15"
    )
    (one,) = value["scenarios"]
    assert 6 <= one["max_eval_instances"] == one["needed"] < 20
    assert one["enough"]
    asked, needed = (
        next(cost for cost in value["models"] if cost["instances"] == amount) for amount in ("asked", "needed")
    )
    assert (asked["model"], asked["requests"], needed["requests"]) == ("fake:0", 20, one["needed"])
    assert needed["prompt_tokens"] == pytest.approx(asked["prompt_tokens"] * one["needed"] / 20, abs=1)
    said = harness(
        "plan", "-r", "quiz", "-m", "fake:0", "--plugin", "quiz.yaml", "--max-eval-instances", "6", "--detect", "0.8"
    )
    assert "max_eval_instances: " in said.out


def test_requests_and_tokens_are_those_of_the_dry_run(harness: Harness) -> None:
    value = found(harness, "sweep.yaml")
    assert harness("run", "sweep.yaml", "--dry-run").code == 0
    dry = [line.split() for line in harness("run", "sweep.yaml", "--dry-run").out.splitlines()]
    rows = {line[0]: line for line in dry if line and line[0].startswith("fake:") and len(line) >= 7}
    asked = {cost["model"].partition(":log")[0]: cost for cost in value["models"] if cost["instances"] == "asked"}
    assert asked.keys() == {"fake:0", "fake:1"}
    shown = {int(word.replace(",", "")) for word in rows["fake:0"] if word.replace(",", "").isdigit()}
    assert {asked["fake:0"][name] for name in ("requests", "prompt_tokens", "max_completion_tokens")} <= shown


def test_earlier_runs_give_the_variance(harness: Harness) -> None:
    assert harness("run", "sweep.yaml").code == 0
    (one,) = found(harness, "sweep.yaml")["scenarios"]
    assert (one["source"], one["pairs"], one["models"]) == ("earlier runs", 1, 2)
    assert one["variance"] != 0.5
    said = harness("plan", "sweep.yaml")
    assert "1 pair" in said.out
    assert "bound:" not in said.out
    (other,) = found(harness, "sweep.yaml", "--results-dir", ".")["scenarios"]
    assert other["source"] == "bound"


def test_another_metric_is_read_from_the_examples(harness: Harness, folder: Path) -> None:
    text = (
        (folder / "sweep.yaml")
        .read_text()
        .replace("  - quiz\n", "  - {scenario: quiz, metrics: [exact_match, f1_score]}\n")
    )
    (folder / "sweep.yaml").write_text(text)
    assert harness("run", "sweep.yaml").code == 0
    scenarios = found(harness, "sweep.yaml", "--metric", "f1_score")["scenarios"]
    assert {one["metric"] for one in scenarios} == {"f1_score"}
    assert [one["source"] for one in scenarios] == ["earlier runs"]
    for examples in folder.glob("results/*/*/examples.jsonl.gz"):
        examples.unlink()
    (one,) = found(harness, "sweep.yaml", "--metric", "f1_score")["scenarios"]
    assert one["source"] == "bound"
    assert any("examples.jsonl.gz" in why for why in one["unusable"])
    assert "earlier runs not used" in harness("plan", "sweep.yaml", "--metric", "f1_score").out
    (main,) = found(harness, "sweep.yaml")["scenarios"]
    assert main["source"] == "earlier runs"  # run.json has the main metric's scores


def test_samples_of_earlier_runs_show_what_more_samples_would_do(harness: Harness, folder: Path) -> None:
    (folder / "sweep.yaml").write_text(
        "suite: sampled\nplugins: [./quiz.yaml]\n"
        "models: [{name: 'fake:0', temperature: 0.7}, {name: 'fake:1', temperature: 0.7}]\n"
        "runs: [{scenario: quiz, samples: 4}]\n"
    )
    assert harness("run", "sweep.yaml").code == 0
    (one,) = found(harness, "sweep.yaml")["scenarios"]
    counts = [one["by_samples"][number] for number in ("1", "2", "4", "8", "16")]
    assert counts == sorted(counts, reverse=True)
    assert one["samples"] == 4
    assert "instances needed, by number of samples of each: 1: " in harness("plan", "sweep.yaml").out


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_too_wide(width: int, harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    assert harness("run", "sweep.yaml").code == 0
    monkeypatch.setenv("COLUMNS", str(width))
    said = harness("plan", "sweep.yaml")
    assert max(map(cell_len, said.out.splitlines())) <= width
    (one,) = found(harness, "sweep.yaml")["scenarios"]
    for number in (f"{one['needed']:,}", f"{one['needed_holm']:,}", f"±{one['could_show']:.3f}"):
        assert number in said.out


def test_every_format_says_the_same(harness: Harness) -> None:
    (one,) = found(harness, "sweep.yaml")["scenarios"]
    rows = list(csv.DictReader(io.StringIO(harness("plan", "sweep.yaml", "--format", "csv").out)))
    assert [row["model"] for row in rows] == ["fake:0", "fake:1:log=asked"] or len(rows) == 2
    assert {row["needed"] for row in rows} == {str(one["needed"])}
    assert all(int(row["requests_asked"]) > 0 for row in rows)
    for format_ in ("md", "latex", "terminal"):
        said = harness("plan", "sweep.yaml", "--format", format_).out
        assert f"{one['needed']:,}" in said
        assert "requests" in said


def test_gpus_add_hours(harness: Harness, folder: Path) -> None:
    (folder / "sweep.yaml").write_text(
        "suite: small\nplugins: [./quiz.yaml]\nruns: [quiz]\n"
        "models: [{name: 'fake:0', about: {parameters: 7000000000}}]\n"
    )
    value = found(harness, "sweep.yaml", "--gpus", "8")
    assert {cost["instances"] for cost in value["models"]} == {"asked", "needed", "holm"}
    assert all(cost["gpu_hours"] > 0 for cost in value["models"])
    assert value["hours"].keys() == {"asked", "needed", "holm"}
    assert "GPU hours" in harness("plan", "sweep.yaml", "--gpus", "8").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sweep.yaml", "--detect", "0"), "the difference to detect must be more than 0, not 0"),
        (("sweep.yaml", "--detect", "nan"), "must be more than 0"),
        (("sweep.yaml", "--power", "1.2"), "the power must be between the level 0.05 and 1, not 1.2"),
        (("sweep.yaml", "--level", "0"), "the level 0"),
        (("sweep.yaml", "--agreement", "1"), "an agreement must be at least 0 and less than 1, not 1"),
        (
            ("sweep.yaml", "--metric", "exact_mach"),
            "no metric gives the score 'exact_mach'. Did you mean 'exact_match'?",
        ),
        (("sweep.yaml", "--results-dir", "quiz.yaml"), "'quiz.yaml' is a file"),
        (("sweep.yaml", "--gpu", "h100"), "--gpu needs the number of GPUs"),
        (("nowhere.yaml",), "nowhere.yaml"),
        ((), "name a sweep file"),
    ],
)
def test_bad_input_is_one_message(arguments: tuple[str, ...], words: str, harness: Harness) -> None:
    said = harness("plan", *arguments)
    assert said.code == 2
    assert words in said.err
    assert "Traceback" not in said.err


def test_missing_data_are_named_and_the_others_are_planned(harness: Harness, folder: Path) -> None:
    (folder / "sweep.yaml").write_text(
        "suite: small\nplugins: [./quiz.yaml]\nmodels: ['fake:0']\nruns: [quiz, sample_reading]\n"
    )
    (folder / "quiz" / "valid.jsonl").unlink()
    said = harness("plan", "sweep.yaml")
    assert said.code == 2
    assert "valid.jsonl" in said.out
    assert "Sample reading" in said.out
    assert "not planned" in said.out
