"""``harness contamination inflation``, over finished runs of a benchmark and a reference set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SWEEP = """\
suite: both
models: ["fake:0", "fake:1", "fake:2", "fake:3", "fake:4", "fake:5"]
runs: [sample_reading, sample_multiple_choice]
"""
COMMAND = (
    "contamination",
    "inflation",
    "both",
    "--benchmark",
    "sample_reading",
    "--reference",
    "sample_multiple_choice",
)


@pytest.mark.slow
def test_from_runs_to_estimates_and_what_is_refused(harness: Any, folder: Path) -> None:
    (folder / "both.yaml").write_text(SWEEP)
    assert harness("run", "both.yaml", "--max-eval-instances", "25").code == 0
    said = harness(*COMMAND, "--resamples", "100", "--model", "fake:0")
    assert said.code == 0
    assert "estimates, not tests" in " ".join(said.out.split())
    (found,) = json.loads(harness(*COMMAND, "--resamples", "100", "--model", "fake:0", "--json").out)
    assert found["kind"] == "estimate, not a test"
    assert found["estimate"] == pytest.approx(found["score"] - found["expected"])
    assert found["other_models"] == [f"fake:{number}" for number in range(1, 6)]
    for arguments, message in (
        (("--clean", "fake:9"), "fake:9 has no finished runs of both"),
        (("--clean", "fake:1"), "an estimate for fake:0 needs 5 other models"),
        (("--benchmark", "nothing"), "there is no finished run of nothing"),
    ):
        said = harness(*COMMAND, *arguments)
        assert said.code == 2
        assert message in said.err
    other = "{scenario: sample_reading, metrics: [exact_match], main_metric: exact_match}"
    (folder / "other.yaml").write_text(f"suite: both\nmodels: ['fake:6']\nruns: [{other}]\n")
    assert harness("run", "other.yaml", "--max-eval-instances", "25").code == 0
    said = harness(*COMMAND)
    assert said.code == 2
    assert "the runs of sample_reading cannot be compared: both/" in said.err
    assert "has exact_match by generation" in said.err
