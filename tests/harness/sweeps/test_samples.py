"""Runs of several samples: what is refused before anything is asked, and what the runs are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import RunSpec
from harness.errors import SpecError
from harness.plugins.registry import default_registry
from harness.sweeps.load import load_sweep


def runs(folder: Path, entry: str, model: str = "fake:x") -> tuple[RunSpec, ...]:
    sweep = folder / "sweep.yaml"
    sweep.write_text(f"suite: s\nmodels: [{model}]\ndefaults: {{sampling_seed: 5}}\nruns:\n- {entry}\n")
    return load_sweep(sweep, registry=default_registry())[0].runs


READING = "scenario: sample_reading, samples: 4"
WARM = f"{READING}, adapter: {{temperature: 1}}"


@pytest.mark.parametrize(
    ("entry", "model", "key", "said"),
    [
        (READING, "fake:x", "samples", "the temperature, that of method 'generation', is 0"),
        (WARM, "{name: 'fake:x', temperature: 0.0}", "samples", "that of model 'fake:x', is 0"),
        ("scenario: sample_multiple_choice, samples: 2", "fake:x", "samples", "generates no text"),
        (f"{WARM}, reductions: [maj@3]", "fake:x", "reductions[0]", "uses all samples: write maj@4"),
        (f"{WARM}, reductions: [pass@2, pass@9]", "fake:x", "reductions[1]", "needs 9 samples, but there are 4"),
        (f"{WARM}, reductions: [mode]", "fake:x", "reductions[0]", "'mode', which is not a reduction"),
        (f"{WARM}, reductions: [best@2 by f1_scroe], metrics: [f1_score, exact_match]", "fake:x", "reductions[0]",
         "none of the run's metrics computes. Did you mean 'f1_score'?"),
        ("scenario: sample_reading, reductions: [pass@1]", "fake:x", "reductions", "only one sample for each prompt"),
        (f"{WARM}, main_metric: 'exact_macth:maj@4'", "fake:x", "main_metric", "Did you mean 'exact_match'"),
        (f"{WARM}, main_metric: 'exact_match:maj@5'", "fake:x", "main_metric", "'exact_match:maj@5'"),
        ("scenario: sample_reading, samples: 0", "fake:x", "samples", "at least 1"),
    ],
)  # fmt: skip
def test_mistakes(tmp_path: Path, entry: str, model: str, key: str, said: str) -> None:
    with pytest.raises(SpecError) as refused:
        runs(tmp_path, f"{{{entry}}}", model)
    (mistake,) = refused.value.diagnostics
    assert (mistake.line, mistake.path) == (5, f"runs[0].{key}")
    assert said in f"{mistake.message} {mistake.hint}"


@pytest.mark.parametrize(
    ("entry", "model", "expected"),
    [
        (WARM, "fake:x", {"samples": 4, "sampling_seed": 5}),
        (READING, "{name: 'fake:x', temperature: 0.7}", {"samples": 4}),
        (f"{WARM}, reductions: [pass^2, pass^2]", "fake:x", {"reductions": ("pass^2",)}),
        (f"{WARM}, sampling_seed: 7, seed: 7", "fake:x", {"sampling_seed": None, "seed": 7}),
        (f"{WARM}, metrics: [f1_score], main_metric: 'exact_match:maj@4'", "fake:x",
         {"main_metric": "exact_match:maj@4"}),
    ],
)  # fmt: skip
def test_runs(tmp_path: Path, entry: str, model: str, expected: dict[str, Any]) -> None:
    (run,) = runs(tmp_path, f"{{{entry}}}", model)
    assert {key: getattr(run, key) for key in expected} == expected
    if ":" in run.main_metric:  # the score is measured even if `metrics` lacks it
        assert [part.name for part in run.metrics] == ["f1_score", "exact_match"]


def test_trials_without_examples_point_to_samples(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(
        "suite: s\nmodels: [fake:x]\nruns:\n- {scenario: sample_reading, train_trials: 3, max_train_instances: 0}\n"
    )
    (warning,) = load_sweep(sweep, registry=default_registry())[0].warnings
    assert (warning.line, warning.path) == (4, "runs[0].train_trials")
    assert "write `samples`" in warning.hint


def test_default_samples_are_for_the_runs_that_generate(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(
        "suite: s\nmodels: [{name: 'fake:x', temperature: 0.7}]\ndefaults: {samples: 4, reductions: [maj@4]}\n"
        "runs: [sample_reading, sample_multiple_choice, "
        "{scenario: sample_generation, samples: 2, reductions: [maj@2]}]\n"
    )
    found, _ = load_sweep(sweep, registry=default_registry())
    assert found.warnings == ()
    assert [(run.scenario.name, run.samples, run.reductions) for run in found.runs] == [
        ("sample_reading", 4, ("maj@4",)),
        ("sample_multiple_choice", 1, None),
        ("sample_generation", 2, ("maj@2",)),
    ]


def test_default_samples_that_no_run_takes_are_warned_of(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text("suite: s\nmodels: [fake:x]\ndefaults: {samples: 4}\nruns: [sample_multiple_choice]\n")
    (warning,) = load_sweep(sweep, registry=default_registry())[0].warnings
    assert (warning.line, warning.path) == (3, "defaults.samples")
    assert "generate no text" in warning.message
