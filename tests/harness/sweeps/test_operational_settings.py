"""Settings that change speed and cost, but no answer, do not count towards a model's identity."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from harness.contracts.plugins import Kind
from harness.contracts.specs import RunSpec
from harness.errors import SpecError
from harness.plugins.parameters import parameters_of
from harness.plugins.registry import default_registry
from harness.sweeps.load import load_sweep


def runs(folder: Path, *models: str) -> list[RunSpec]:
    file = folder / "sweep.yaml"
    file.write_text(f"suite: s\nmodels: [{', '.join(models)}]\nruns: [boolq]\n")
    return list(load_sweep(file, registry=default_registry())[0].runs)


@pytest.mark.parametrize(
    "settings",
    [
        '"openai:gpt-4o-mini", budget_tokens: 1000',
        '"openai:gpt-4o-mini", budget_money: 2.5, prices: prices.yaml, timeout: 60, api_key_env: MY_KEY',
        '"openai:gpt-4o-mini", max_retries: 1, retry_delay: 2, max_concurrency: 4, tokens_per_minute: 9000',
        '"anthropic:claude-haiku-4-5", requests_per_minute: 10, headers_env: HEADERS',
        '"fake:0", delay: 0.5, log: file',
        '"hf:gpt2", device: cpu, devices: 2, max_batch_tokens: 8',
        '"vllm:gpt2", tensor_parallel_size: 2, data_parallel_size: 2, gpu_memory_utilization: 0.5, enforce_eager: true',
    ],
)
def test_they_are_kept_in_the_spec_and_leave_the_runs_identity_alone(tmp_path: Path, settings: str) -> None:
    name = settings.partition(",")[0]
    (plain,), (tuned,) = runs(tmp_path, name), runs(tmp_path, f"{{name: {settings}}}")
    assert (tuned.name, tuned.identity, tuned.model) == (plain.name, plain.identity, plain.model)
    assert len(tuned.operational) == settings.count(":") - 1
    assert tuned.configured_model.arguments == tuned.operational
    assert RunSpec.model_validate_json(tuned.model_dump_json()) == tuned


@pytest.mark.parametrize("model", ["fake:0", "openai:gpt-4o-mini", "hf:gpt2", "vllm:gpt2"])
@pytest.mark.parametrize("resources", ["{gpus: 4, replicas: auto}", "{replicas: 2}", "{gpus: 0}", "{}"])
def test_resources_are_kept_apart_and_no_backend_sees_them(tmp_path: Path, model: str, resources: str) -> None:
    (plain,), (tuned,) = runs(tmp_path, f"'{model}'"), runs(tmp_path, f"{{name: '{model}', resources: {resources}}}")
    assert (tuned.name, tuned.identity, tuned.model) == (plain.name, plain.identity, plain.model)
    assert (tuned.configured_model, tuned.model_label) == (plain.configured_model, plain.model_label)
    assert tuned.settings.resources is not None
    assert tuned.settings.resources.model_dump(exclude_unset=True) == yaml.safe_load(resources)
    assert RunSpec.model_validate_json(tuned.model_dump_json()) == tuned


def judged(folder: Path, model: str) -> RunSpec:
    file = folder / "sweep.yaml"
    metric = f"{{name: judge_score, rubric: simpleqa, model: {model}}}"
    toxic = "{name: toxicity, judge: {name: llm, model: {name: 'openai:x', timeout: 5}}}"
    file.write_text(f"suite: s\nmodels: ['fake:0']\nruns: [{{scenario: boolq, metrics: [{metric}, {toxic}]}}]\n")
    (run,) = load_sweep(file, registry=default_registry())[0].runs
    return run


@pytest.mark.parametrize(
    ("plain", "tuned"),
    [
        ("'openai:m'", "{name: 'openai:m', budget_money: 2, max_concurrency: 5}"),
        ("{name: 'openai:m', api: chat}", "{name: 'openai:m', api: chat, api_key_env: MY_KEY}"),
        ("'openai:m'", "{name: 'openai:m', resources: {replicas: 2}}"),
        ("['openai:m', 'fake:1']", "['openai:m', {name: 'fake:1', delay: 0.5}]"),
    ],
)
def test_those_of_a_metrics_judge_leave_the_runs_identity_alone(tmp_path: Path, plain: str, tuned: str) -> None:
    first, second = judged(tmp_path, plain), judged(tmp_path, tuned)
    assert (second.name, second.identity, second.metrics) == (first.name, first.identity, first.metrics)
    assert RunSpec.model_validate_json(second.model_dump_json()) == second
    configured = {metric.name: metric.arguments for metric in second.configured_metrics}
    assert configured["judge_score"]["model"] == yaml.safe_load(tuned)
    assert configured["toxicity"]["judge"]["model"] == {"name": "openai:x", "timeout": 5}
    kept = {metric.name: metric.arguments for metric in second.metrics}
    assert kept["toxicity"]["judge"]["model"] == "openai:x"


def test_other_settings_of_a_metrics_judge_make_another_run(tmp_path: Path) -> None:
    assert judged(tmp_path, "'openai:m'").name != judged(tmp_path, "{name: 'openai:m', temperature: 1}").name
    assert judged(tmp_path, "'openai:m'").name == judged(tmp_path, "{name: 'openai:m'}").name


def test_settings_that_change_answers_make_another_model(tmp_path: Path) -> None:
    (plain,) = runs(tmp_path, '"openai:m"')
    (warm,) = runs(tmp_path, '{name: "openai:m", extra_body: {reasoning_effort: low}, timeout: 5}')
    assert plain.name != warm.name
    assert warm.model.arguments == {"extra_body": {"reasoning_effort": "low"}}
    assert warm.configured_model.arguments == {**warm.model.arguments, "timeout": 5}


def test_one_model_with_two_budgets_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="is the same model as"):
        runs(tmp_path, '{name: "openai:m", budget_tokens: 1}', '{name: "openai:m", budget_tokens: 2}')
    with pytest.raises(SpecError, match="several values of budget_tokens"):
        runs(tmp_path, '{name: "openai:m", budget_tokens: [1, 2]}')


@pytest.mark.parametrize("name", default_registry().names(Kind.BACKEND))
def test_backends_name_only_settings_that_they_take(name: str) -> None:
    backend = default_registry().get(Kind.BACKEND, name)
    assert getattr(backend.target, "operational", frozenset()) <= set(parameters_of(backend).model_fields)
