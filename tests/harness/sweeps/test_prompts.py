"""A run's ``prompt``: where it can be written, what it changes, and what takes precedence over it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import RunSpec
from harness.errors import SpecError
from harness.sweeps.load import load_sweep


def runs(folder: Path, *entries: Any, **defaults: Any) -> tuple[RunSpec, ...]:
    file = folder / "sweep.yaml"
    sweep = {"suite": "prompts", "models": ["fake:any"], "defaults": defaults, "runs": list(entries)}
    file.write_text(json.dumps(sweep))
    return tuple(load_sweep(file)[0].runs)


def mistakes(folder: Path, *entries: Any, **defaults: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        runs(folder, *entries, **defaults)
    return [str(found).partition(": ")[2] for found in caught.value.diagnostics]


def test_a_prompt_can_be_a_key_a_part_of_the_shorthand_a_parameter_or_a_default(tmp_path: Path) -> None:
    written = runs(
        tmp_path,
        {"scenario": "boolq", "prompt": "lm_eval"},
        "piqa:prompt=lm_eval",
        {"scenario": {"name": "arc", "prompt": "lm_eval"}},
    )
    assert [spec.scenario.arguments["prompt"] for spec in written] == ["lm_eval"] * 3
    [boolq] = runs(tmp_path, "boolq", prompt="lm_eval")
    assert boolq == written[0]
    assert boolq.scenario.label == "boolq:prompt=lm_eval"
    assert boolq.name.startswith("boolq-prompt=lm_eval")
    assert (boolq.adapter.name, boolq.main_metric) == ("multiple_choice_separate_original", "acc")
    assert boolq.metrics[0].name == "acc"


def test_the_own_prompt_is_not_written_so_that_its_run_is_that_without_a_prompt(tmp_path: Path) -> None:
    without = runs(tmp_path, "boolq")
    named = runs(tmp_path, {"scenario": "boolq", "prompt": "helm"}, prompt="lm_eval")
    assert without == named
    assert "prompt" not in named[0].scenario.arguments


def test_a_list_makes_a_run_for_each(tmp_path: Path) -> None:
    both = runs(tmp_path, {"scenario": "boolq", "prompt": ["helm", "lm_eval"]})
    assert [spec.scenario.label for spec in both] == ["boolq", "boolq:prompt=lm_eval"]
    assert both == runs(tmp_path, {"scenario": "boolq", "prompt": "all"})


def test_the_run_prevails_over_the_prompt_and_the_prompt_over_the_scenario(tmp_path: Path) -> None:
    plain, own, other = runs(
        tmp_path,
        {"scenario": "mmlu:subject=anatomy", "prompt": "lm_eval"},
        {"scenario": "mmlu:subject=anatomy", "prompt": "lm_eval", "adapter": {"input_suffix": "\n\n"}},
        {"scenario": "mmlu:subject=anatomy", "prompt": "lm_eval", "max_train_instances": 3, "metrics": ["acc_norm"]},
    )
    assert plain.adapter.arguments["max_train_instances"] == 0  # the scenario's own has 5
    assert (own.adapter.name, own.adapter.arguments["input_suffix"]) == (plain.adapter.name, "\n\n")
    assert own.adapter.arguments["output_prefix"] == plain.adapter.arguments["output_prefix"] == "Answer: "
    assert (other.adapter.arguments["max_train_instances"], [one.name for one in other.metrics]) == (
        3,
        ["acc_norm", "acc"],
    )
    [default] = runs(tmp_path, {"scenario": "mmlu:subject=anatomy", "prompt": "lm_eval"}, max_train_instances=5)
    assert default.adapter.arguments["max_train_instances"] == 5


def test_unknown_prompts_are_answered_with_the_known(tmp_path: Path) -> None:
    assert mistakes(tmp_path, "boolq:prompt=lmeval") == [
        "runs[0].prompt: 'lmeval' is not one of the choices. Did you mean 'lm_eval'?"
    ]
    [found] = mistakes(tmp_path, {"scenario": "boolq", "prompt": "x"})
    assert found.startswith("runs[0].prompt: 'x' is not one of the choices. Known: helm, lm_eval.")
    [twice] = mistakes(tmp_path, {"scenario": "boolq:prompt=helm", "prompt": "lm_eval"})
    assert "is also set at" in twice


@pytest.mark.parametrize("entry", [{"scenario": "imdb", "prompt": "lm_eval"}, "imdb:prompt=lm_eval", "imdb"])
def test_a_scenario_with_one_prompt_says_so(tmp_path: Path, entry: Any) -> None:
    defaults = {"prompt": "lm_eval"} if entry == "imdb" else {}
    [found] = mistakes(tmp_path, entry, **defaults)
    said = "has no prompt 'lm_eval'" if defaults else "has only one"
    assert f"scenario 'imdb' {said}" in found
