"""Estimates from a few instances, against plans that count the run with the model's own tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.runs.estimates import UNKNOWN, Estimates
from harness.runs.plan import Plan
from harness.runs.settings import Settings
from harness.runs.sweep_plan import plan_runs
from harness.sweeps.load import sweep_from_entries

FACTOR = 2.5
"""How far an estimate's prompt tokens may be from the plan's."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry",
    [
        "boolq",
        "gsm8k",
        "openbookqa",
        "hellaswag",
        "truthful_qa",
        "mmlu:subject=anatomy",
        "lsat_qa",
        "babi_qa:task=15",
        "raft:subset=twitter_complaints",
        "blimp:paradigm=wh_island",
    ],
)
def test_estimates_of_real_scenarios_are_near_their_plans(
    entry: str, tmp_path: Path, data_dir: Path, models_dir: Path
) -> None:
    sweep, registry = sweep_from_entries([entry], [f"hf:{models_dir}/small-gpt2"], max_eval_instances=100)
    settings = Settings(tmp_path, data_dir)
    [(_, spec, planned)] = plan_runs(sweep.runs, registry, settings)
    assert isinstance(planned, Plan)
    found = Estimates(registry, settings).size(spec)
    assert found is not UNKNOWN
    assert found.requests == pytest.approx(planned.size.requests, rel=0.2)
    assert found.max_completion_tokens == pytest.approx(planned.size.max_completion_tokens, rel=0.2)
    assert 1 / FACTOR < found.prompt_tokens / planned.size.prompt_tokens < FACTOR
