"""The JSON Schema of sweeps agrees with what the harness itself accepts and refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from harness.contracts.plugins import Kind
from harness.plugins.registry import Registry, default_registry
from harness.sweeps.json_schema import json_schema
from harness.sweeps.keys import DefaultKeys, RunKeys, ScoreKeys, SweepKeys
from harness.sweeps.load import Sweep, find_sweep, load_sweep, shipped_sweeps
from harness.yaml_lines import load as load_yaml
from harness.yaml_lines import loads

Load = Callable[..., Sweep]

RUNS = {
    "bias": 10,
    "capabilities": 5,
    "classic": 40,
    "classic_targeted": 118,
    "code": 6,
    "contamination": 340,
    "holistic": 14,
    "holistic_stand_ins": 19,
    "lite": 28,
    "long_context": 78,
    "mmlu": 57,
    "multilingual": 79,
    "open_llm_v1": 62,
    "open_llm_v2": 39,
    "paper": 163,
    "quick": 14,
    "quickstart": 8,
    "safety": 5,
    "smoke": 5,
}
"""The runs of each sweep that comes with the harness."""


@pytest.fixture(scope="module")
def installed() -> Registry:
    return default_registry()


@pytest.fixture(scope="module")
def validator(installed: Registry) -> Draft202012Validator:
    return Draft202012Validator(json_schema(installed))


def test_schema_is_a_schema_and_is_json(installed: Registry) -> None:
    schema = json_schema(installed)
    Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        (SweepKeys, lambda schema: schema),
        (DefaultKeys, lambda schema: schema["$defs"]["defaults"]),
        (ScoreKeys, lambda schema: schema["$defs"]["score"]),
        (RunKeys, lambda schema: schema["$defs"]["run"]),
    ],
)
def test_every_key_is_described(
    toy_registry: Registry, kind: type[BaseModel], read: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    keys = read(json_schema(toy_registry))
    assert set(keys["properties"]) == set(kind.model_fields)
    assert keys["additionalProperties"] is False
    assert all(held.get("description") for key, held in keys["properties"].items() if key != "defaults")


@pytest.mark.parametrize("name", sorted(shipped_sweeps()))
def test_sweep_that_comes_with_the_harness(name: str, installed: Registry, validator: Draft202012Validator) -> None:
    path = find_sweep(name)
    sweep, _ = load_sweep(path, registry=installed, allow=None)
    assert len(sweep.runs) == RUNS[name]
    assert len({run.name for run in sweep.runs}) == RUNS[name]
    assert sweep.suite == name
    assert [error.message for error in validator.iter_errors(load_yaml(path).data)] == []


def test_mmlu_names_every_subject(installed: Registry) -> None:
    sweep, _ = load_sweep(find_sweep("mmlu"), registry=installed)
    assert len({run.scenario.arguments["subject"] for run in sweep.runs}) == 57


def test_classic_keeps_the_caps_of_helms_entries(installed: Registry) -> None:
    sweep, _ = load_sweep(find_sweep("classic"), registry=installed)
    caps = {run.scenario.label: run.max_eval_instances for run in sweep.runs}
    assert caps["boolq"] == 1000
    assert caps["mmlu:subject=econometrics"] == 200
    assert caps["raft:subset=banking_77"] == 90
    assert caps["raft:subset=terms_of_service"] == 100


def test_resolved_adapters_resolve_to_themselves(installed: Registry) -> None:
    """What a spec holds builds the same adapter again, whatever its settings were short for."""
    from harness.plugins.parameters import parameters_of

    for name in shipped_sweeps():
        for run in load_sweep(find_sweep(name), registry=installed, allow=None)[0].runs:
            model = parameters_of(installed.get(Kind.ADAPTER, run.adapter.name))
            assert model.model_validate(run.adapter.arguments).model_dump(mode="json") == run.adapter.arguments


@pytest.mark.parametrize(
    "runs",
    [
        "[exam:subject=law]",
        "[chat, {scenario: {name: exam, subject: [law, virology], year: 3}}]",
        "[{scenario: chat, adapter: {max_tokens: [1, 2], stop: [a]}, max_train_instances: [0, 1]}]",
        "[{scenario: chat, adapter: {method: compare, calibrated: [true, false]}}]",
        "[{scenario: chat, metrics: [right, {name: length, unit: bytes}], main_metric: length}]",
        "[{scenario: chat, groups: [who]}, {scenario: chat, seed: 1, groups: null}]",
        "[{scenario: chat, perturbations: [noise, {name: typos, prob: 0.1}], seed: 4, eval_split: valid}]",
        "[{scenario: chat, model: {name: 'hf:x', dtype: [float32, bfloat16]}, max_eval_instances: null}]",
    ],
)
def test_what_the_harness_accepts_the_schema_accepts(load: Load, toy_registry: Registry, runs: str) -> None:
    text = f"suite: s\nmodels: [hf:a, {{name: 'hf:b', revision: abc}}]\nruns: {runs}\n"
    assert load(text).runs
    errors = Draft202012Validator(json_schema(toy_registry)).iter_errors(loads(text, file="x").data)
    assert [error.message for error in errors] == []


@pytest.mark.parametrize(
    "text",
    [
        "{models: [hf:a], runs: [chat]}",
        "{suite: s, models: [hf:a], runs: []}",
        "{suite: s, models: [hf:a], runs: [chta]}",
        "{suite: s, models: [a], runs: [chat]}",
        "{suite: s, models: [{name: 'hf:a', dtyp: x}], runs: [chat]}",
        "{suite: s, models: [hf:a], run: [chat], runs: [chat]}",
        "{suite: s, models: [hf:a], defaults: {max_eval: 1}, runs: [chat]}",
        "{suite: s, models: [hf:a], defaults: {adapter: {max_tokns: 1}}, runs: [chat]}",
        "{suite: s, models: [hf:a], runs: [{scenario: {name: exam, subject: lwa}}]}",
        "{suite: s, models: [hf:a], runs: [{scenario: {name: exam}}]}",
        "{suite: s, models: [hf:a], runs: [{scenario: {name: exam, subject: []}}]}",
        "{suite: s, models: [hf:a], runs: [{scenario: chat, adapter: asc}]}",
        "{suite: s, models: [hf:a], runs: [{scenario: chat, adapter: {method: ask, max_tokens: 0}}]}",
        "{suite: s, models: [hf:a], runs: [{scenario: chat, adapter: {method: compare, temperature: 1}}]}",
        "{suite: s, models: [hf:a], runs: [{scenario: chat, metrics: [rigth]}]}",
        "{suite: s, models: [hf:a], runs: [{scenario: chat, metrics: [{name: length, unit: word}]}]}",
        "{suite: s, models: [hf:a], runs: [{scenario: chat, eval_split: dev}]}",
        "{suite: s, models: [hf:a], runs: [{scenario: chat, max_eval_instances: 0}]}",
        "{suite: s, models: [hf:a], runs: [3]}",
    ],
)
def test_what_the_harness_refuses_the_schema_refuses(toy_registry: Registry, load: Load, text: str) -> None:
    from harness.errors import SpecError

    with pytest.raises(SpecError):
        load(text)
    assert not Draft202012Validator(json_schema(toy_registry)).is_valid(loads(text, file="x").data)


def test_checking_a_sweep_loads_no_heavy_library(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text("suite: s\nmodels: [hf:a]\nruns: [chta]\n")
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from harness.sweeps.load import load_sweep\n"
        "from harness.errors import SpecError\n"
        "try:\n"
        f"    load_sweep(Path({str(path)!r}))\n"
        "except SpecError:\n"
        "    print([m for m in ('torch', 'transformers', 'scipy', 'datasets', 'sacrebleu') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
