"""Names of other evaluation harnesses: each message says what the thing is called here."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.contracts.plugins import Kind
from harness.errors import SpecError
from harness.plugins.registry import default_registry
from harness.sweeps.foreign_names import KEYS, METHODS, METRICS
from harness.sweeps.keys import DefaultKeys, RunKeys, SweepKeys
from harness.sweeps.load import load_sweep, sweep_from_entries
from tests.harness.cli.conftest import Harness


def mistakes(tmp_path: Path, run: str, head: str = "") -> str:
    file = tmp_path / "sweep.yaml"
    file.write_text(f"suite: s\nmodels: ['fake:0']\n{head}runs:\n  - {run}\n")
    with pytest.raises(SpecError) as caught:
        load_sweep(file)
    return str(caught.value)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("mmlu_anatomy", "there is no scenario named 'mmlu_anatomy'. Did you mean 'mmlu:subject=anatomy"),
        ("hendrycksTest-virology", "Did you mean 'mmlu:subject=virology"),
        ("truthfulqa_mc1", "Did you mean 'truthful_qa"),
        ("'mmlu:subject=anatomy,limit=3'", "limit: is not a parameter. Here it is called 'max_eval_instances'."),
        ("'gsm8k:num_fewshot=3'", "num_fewshot: is not a parameter. Here it is called 'max_train_instances'."),
        ("'gsm8k:max_gen_toks=3'", "Write {scenario: gsm8k, adapter: {max_tokens: …}}."),
        ("{scenario: gsm8k, limit: 5}", "limit: is not a key. Here it is called 'max_eval_instances'."),
        ("{scenario: gsm8k, num_fewshot: 5}", "Here it is called 'max_train_instances'."),
        ("{scenario: gsm8k, split: train}", "Here it is called 'eval_split'."),
        ("{scenario: gsm8k, temperature: 1}", "It is a setting of the adapter: write adapter: {temperature: …}."),
        ("{scenario: gsm8k, max_new_tokens: 9}", "It is a setting of the adapter: write adapter: {max_tokens: …}."),
        (
            "{scenario: gsm8k, adapter: {until: ['.']}}",
            "adapter.until: is not a parameter. Here it is called 'stop_sequences'.",
        ),
        (
            "{scenario: gsm8k, adapter: {reference_prefix: 'A. '}}",
            "reference_prefix: is not a setting of method 'generation'; these have it: ",
        ),
        (
            "{scenario: gsm8k, adapter: {output_mapping_pattern: x}}",
            "adapter.output_mapping_pattern: is not a parameter. Here it is called 'answer'.",
        ),
        ("{scenario: gsm8k, adapter: {method: generate_until}}", "Here it is called 'generation'."),
        ("{scenario: gsm8k, data_augmentation: canonical}", "Here it is called 'perturbations'."),
        ("{scenario: gsm8k, doc_to_text: x}", "`input`, `references` and `correct`"),
        ("{scenario: gsm8k, apply_chat_template: true}", "Leave it out"),
        ("{scenario: boolq, metrics: [em]}", "Here it is called 'exact_match'."),
        ("'mmlu:subject=anatomy,method=multiple_choice'", "Here it is called 'multiple_choice_joint'."),
    ],
)
def test_what_others_call_it(tmp_path: Path, run: str, said: str) -> None:
    message = mistakes(tmp_path, run)
    assert said in message
    assert len(message.splitlines()) == 1


def test_foreign_keys_of_a_sweep_and_its_defaults(tmp_path: Path) -> None:
    message = mistakes(
        tmp_path, "sample_reading", "tasks: [x]\ndefaults: {limit: 5, num_fewshot: 2, max_gen_toks: 3}\n"
    )
    assert "sweep.yaml:3: tasks: is not a key. Here it is called 'runs'." in message
    assert "defaults.limit: is not a key. Here it is called 'max_eval_instances'." in message
    assert "defaults.num_fewshot: is not a key. Here it is called 'max_train_instances'." in message
    assert "write adapter: {max_tokens: …}" in message


def test_every_name_of_ours_exists() -> None:
    registry = default_registry()
    settings = {"answer", "max_tokens", "stop_sequences", "system_prompt"}
    keys = {*RunKeys.model_fields, *DefaultKeys.model_fields, *SweepKeys.model_fields}
    assert set(KEYS.values()) <= keys | settings
    assert not KEYS.keys() & (keys - {"stop"})
    assert set(METHODS.values()) <= set(registry.names(Kind.ADAPTER))
    assert set(METRICS.values()) <= set(registry.names(Kind.METRIC))
    assert not METRICS.keys() & set(registry.names(Kind.METRIC))


def test_all_stands_for_every_subject() -> None:
    found, _ = sweep_from_entries(["mmlu:subject=all", "arc:subset=all"], ["fake:0"])
    subjects = [run.scenario.arguments["subject"] for run in found.runs if run.scenario.name == "mmlu"]
    assert len(subjects) == len(set(subjects)) == 57
    assert {run.scenario.arguments["subset"] for run in found.runs if run.scenario.name == "arc"} == {
        "challenge",
        "easy",
    }


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--limit=5", "--max-eval-instances"),
        ("--tasks=mmlu", "-r mmlu:subject=anatomy"),
        ("--num_fewshot=5", "max_train_instances=5"),
        ("--output_path=x", "--results-dir"),
        ("--model_args=pretrained=x", "-m hf:gpt2,dtype=float32"),
    ],
)
def test_options_of_others(harness: Harness, option: str, said: str) -> None:
    result = harness("run", option)
    assert result.code == 2
    assert "No such option" in result.err
    assert said in result.err


@pytest.mark.parametrize(
    ("run", "model", "said"),
    [
        (
            "sample_multiple_choice:method=multiple_choice_separate_original",
            "anthropic:a",
            "needs a model that can score",
        ),
        ("nfcorpus", "anthropic:a", "give log-probabilities"),
    ],
)
def test_a_method_that_a_backend_cannot_answer_is_a_mistake(run: str, model: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        sweep_from_entries([run], [model])
    sweep_from_entries(["sample_generation"], [model])


def test_validate_says_that_openais_server_cannot_score(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    run = ("validate", "-r", "sample_multiple_choice:method=multiple_choice_joint_scored", "-m")
    said = harness(*run, "openai:gpt-4o")
    assert "1 of 1 runs would fail" in said.err
    assert "no log-probabilities of a prompt" in said.err
    assert "log-prob" not in harness(*run, "openai:babbage-002").err
    assert "log-prob" not in harness("validate", "-r", "sample_generation", "-m", "openai:gpt-4o").err


def test_misspelt_setting_of_the_adapter_among_the_defaults(tmp_path: Path) -> None:
    message = mistakes(tmp_path, "sample_reading", "defaults: {max_token: 3}\n")
    assert "defaults.max_token: is not a key" in message
    assert "write adapter: {max_tokens: …}" in message
    assert "Did you mean 'max_eval_instances'?" in mistakes(
        tmp_path, "sample_reading", "defaults: {max_eval_instance: 3}\n"
    )
