"""A model's own settings in sweeps and on the command line: identity, mistakes, and names of local folders."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness import Model, backend
from harness.contracts.model_settings import ModelSettings
from harness.contracts.plugins import Kind, Plugin
from harness.contracts.specs import RunSpec
from harness.errors import SpecError
from harness.plugins.registry import default_registry
from harness.sweeps.json_schema import json_schema
from harness.sweeps.load import Sweep, load_sweep, sweep_from_entries


def sweep(folder: Path, *models: str, runs: str = "[sample_generation]") -> Sweep:
    file = folder / "sweep.yaml"
    file.write_text("\n".join(["suite: s", "models:", *(f"  - {model}" for model in models), f"runs: {runs}", ""]))
    return load_sweep(file, registry=default_registry())[0]


def one_run(folder: Path, model: str) -> RunSpec:
    (run,) = sweep(folder, model).runs
    return run


def mistake(folder: Path, model: str) -> str:
    with pytest.raises(SpecError) as refused:
        sweep(folder, model)
    (found,) = refused.value.diagnostics
    return str(found).replace(f"{folder}/", "")


def from_command_line(model: str) -> RunSpec:
    (run,) = sweep_from_entries(["sample_generation"], [model], registry=default_registry())[0].runs
    return run


def test_settings_stand_in_the_spec_next_to_the_backends_arguments(tmp_path: Path) -> None:
    run = one_run(
        tmp_path,
        "{name: 'hf:a/b', dtype: bfloat16, temperature: 0.6, top_k: 20, max_tokens: {at_least: 9}, display_name: A}",
    )
    given = {"dtype": "bfloat16", "temperature": 0.6, "top_k": 20, "max_tokens": {"at_least": 9}}
    assert run.model.arguments == given
    assert run.operational == {"display_name": "A"}
    assert run.configured_model.arguments == {"dtype": "bfloat16"}
    assert run.settings == ModelSettings.of({**given, "display_name": "A"})
    assert run.model.label == "hf:a/b:dtype=bfloat16,temperature=0.6,top_k=20,max_tokens.at_least=9"
    assert run.model_label == "A"
    assert RunSpec.model_validate_json(run.model_dump_json()) == run


def test_settings_make_another_model_and_a_display_name_does_not(tmp_path: Path) -> None:
    plain, named, warm = (
        one_run(tmp_path, model)
        for model in ("fake:0", "{name: 'fake:0', display_name: Fake}", "{name: 'fake:0', temperature: 0.6}")
    )
    assert plain.identity == named.identity
    assert plain.digest != warm.digest
    assert plain.question == warm.question  # so that both are in one column
    empty = "{name: 'fake:0', temperature: null, max_tokens: null}"
    assert one_run(tmp_path, empty).identity == plain.identity
    assert one_run(tmp_path, "{name: 'fake:0', temperature: 1}") == one_run(
        tmp_path, "{name: 'fake:0', temperature: 1.0}"
    )


def test_a_run_without_settings_has_the_digest_that_it_always_had(tmp_path: Path) -> None:
    run = one_run(tmp_path, "fake:0")
    assert run.identity["model"] == {"name": "fake:0"}
    assert not ModelSettings.model_fields.keys() & json.loads(run.model_dump_json()).keys()


def test_a_list_makes_a_model_for_each_value(tmp_path: Path) -> None:
    runs = sweep(tmp_path, "{name: 'fake:0', temperature: [0, 0.6, 1]}").runs
    assert [run.settings.temperature for run in runs] == [0.0, 0.6, 1.0]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("{name: 'hf:a/b', temprature: 0.6}", "models[0].temprature: is not a parameter. Did you mean 'temperature'?"),
        ("{name: 'hf:a/b', temperature: warm}", "models[0].temperature: must be a number, not 'warm'."),
        ("{name: 'hf:a/b', top_p: 1.5}", "models[0].top_p: "),
        ("{name: 'hf:a/b', max_tokens: {at_last: 5}}", "models[0].max_tokens.at_last: "),
        ("{name: 'hf:a/b', max_tokens: 5}", "models[0].max_tokens: must be a mapping, such as {at_most: 5} or"),
        ("{name: 'hf:a/b', max_tokens: {at_least: 9, at_most: 8}}", "at_least is 9, which is more than at_most, 8"),
        (
            "{name: 'anthropic:m', min_p: 0.1}",
            "models[0].min_p: cannot be applied by backend 'anthropic'. These can: hf:…, openai:…, vllm:….",
        ),
        ("{name: 'anthropic:m', chat_template_kwargs: {a: 1}}", "models[0].chat_template_kwargs: is not a parameter."),
        ("{name: 'replay:f', temperature: 1}", "models[0].temperature: cannot be applied by backend 'replay'."),
        ("{name: 'hf:a/b', enable_thinking: false}", "Write chat_template_kwargs: {enable_thinking: false}."),
        ("{name: 'hf:a/b', max_new_tokens: 5}", "is not a parameter. Write max_tokens: {at_most: 4096}"),
        ("{name: 'hf:a/b', system_instruction: x}", "is not a parameter. Here it is called 'system_prompt'."),
        ("{name: 'hf:a/b', do_sample: true}", "is not a parameter. Set temperature; 0 is greedy decoding."),
        ("{name: 'fake:0', top_k: 5}", "models[0].top_k: cannot be applied by backend 'fake'."),
        (
            "{name: 'hf:a/b', reasoning: {effort: low}}",
            "models[0].reasoning.effort: cannot be applied by backend 'hf'. If the model's chat template has a "
            "variable for it, write chat_template_kwargs: {reasoning_effort: low}.",
        ),
        ("'vllm:a/b,reasoning.effort=low'", "cannot be applied by backend 'vllm'."),
        ("{name: 'replay:f', reasoning: {effort: low}}", "cannot be applied by backend 'replay'."),
    ],
)
def test_mistakes_have_their_line_and_key(tmp_path: Path, model: str, expected: str) -> None:
    found = mistake(tmp_path, model)
    assert found.startswith("sweep.yaml:3: models[0].")
    assert expected in found


def test_settings_that_greedy_decoding_ignores_are_a_warning(tmp_path: Path) -> None:
    (warning,) = sweep(tmp_path, "{name: 'hf:a/b', top_p: 0.9, top_k: 5}").warnings
    assert "top_p and top_k of hf:a/b have no effect, since the temperature is 0." in str(warning)
    assert not sweep(tmp_path, "{name: 'hf:a/b', top_p: 0.9, temperature: 0.6}").warnings
    task = "[{scenario: sample_generation, adapter: {temperature: 0.6}}]"
    assert not sweep(tmp_path, "{name: 'hf:a/b', top_p: 0.9}", runs=task).warnings


def test_settings_of_a_model_that_generates_nothing_are_a_warning(tmp_path: Path) -> None:
    scored = "{scenario: sample_generation, adapter: language_modeling}"
    model = "{name: 'hf:a/b', temperature: 0.6, prefill: So, system_prompt: Be brief.}"
    (warning,) = sweep(tmp_path, model, runs=f"[{scored}]").warnings
    assert str(warning).replace(f"{tmp_path}/", "") == (
        "sweep.yaml:3: models[0]: temperature and prefill have no effect, since none of the model's runs generates "
        "text."
    )
    assert not sweep(tmp_path, model, runs=f"[{scored}, sample_generation]").warnings


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("hf:a/b,temperature=0.6", {"temperature": 0.6}),
        ("hf:a/b,dtype=bfloat16,top_k=5", {"dtype": "bfloat16", "top_k": 5}),
        ("hf:a/b,max_tokens.at_least=5,max_tokens.at_most=9", {"max_tokens": {"at_least": 5, "at_most": 9}}),
        ("hf:a/b,chat_template_kwargs.enable_thinking=false", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("hf:a/b,system_prompt=7", {"system_prompt": "7"}),
        ("openai:m,extra_body.a.b=1,extra_body.a.c=x", {"extra_body": {"a": {"b": 1, "c": "x"}}}),
    ],
)
def test_settings_may_follow_a_name_on_the_command_line(written: str, arguments: dict[str, Any]) -> None:
    assert from_command_line(written).model.arguments == arguments


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("hf:a/b,temprature=0.6", "Did you mean 'temperature'?"),
        ("hf:a/b,max_tokens.at_last=5", "at_last"),
        ("hf:a/b,max_tokens=5", "such as {at_most: 5}"),
        ("fake:0,min_p=0.1", "cannot be applied by backend 'fake'"),
        ("hf:a/b,max_tokens.at_least=5,max_tokens.at_least.x=5", "max_tokens.at_least.x"),
        ("hf:a/b,temperature.x=5", "temperature"),
    ],
)
def test_mistakes_on_the_command_line_are_reported(written: str, expected: str) -> None:
    with pytest.raises(SpecError, match="--model") as refused:
        from_command_line(written)
    assert expected in str(refused.value)


def test_a_folder_has_one_name_however_its_path_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models" / "x,lr=1").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    ways = ["./models/x,lr=1", "models/x,lr=1/", "models//x,lr=1", "models/../models/x,lr=1", "models/x,lr=1"]
    assert {from_command_line(f"hf:{way}").model.name for way in ways} == {"hf:models/x,lr=1"}
    with_settings = from_command_line("hf:./models/x,lr=1/,dtype=bfloat16").model
    assert (with_settings.name, with_settings.arguments) == ("hf:models/x,lr=1", {"dtype": "bfloat16"})
    with pytest.raises(SpecError, match="is the same model as"):
        sweep_from_entries(["sample_generation"], ["hf:./models/x,lr=1", "hf:models/x,lr=1/"])


@pytest.mark.parametrize("name", ["hf:org/name", "hf:./missing/", "openai:gpt-4o-mini", "fake:a/../b", "hf:~nobody/x"])
def test_names_that_are_no_paths_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert from_command_line(name).model.name == name


def test_a_path_through_a_link_is_not_shortened_to_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "far" / "x").mkdir()
    (tmp_path / "x").mkdir()
    os.symlink(tmp_path / "far" / "deep", tmp_path / "link")
    monkeypatch.chdir(tmp_path)
    assert from_command_line("hf:link/../x").model.name == "hf:link/../x"


def test_a_backends_parameter_must_not_have_the_name_of_a_setting() -> None:
    @backend("warm", source="A test")
    class Warm(Model):
        answers = frozenset({"generate"})

        def __init__(self, identifier: str, *, temperature: float = 0.5) -> None: ...

        def fingerprint(self) -> dict[str, Any]:
            return {}

        def answer(self, requests: Any) -> Any: ...

    registry = default_registry()
    plugin: Plugin = vars(Warm)["__harness_plugin__"]
    registry.add(plugin)
    with pytest.raises(SpecError, match="'temperature' is a setting of every model; rename the parameter"):
        sweep_from_entries(["sample_generation"], ["warm:x"], registry=registry)


def test_no_backend_here_has_such_a_parameter_and_the_schema_has_every_setting() -> None:
    schema = json_schema(default_registry())["$defs"]["model"]["anyOf"]
    mappings = [one["properties"] for one in schema if "properties" in one]
    assert len(mappings) == len(default_registry().names(Kind.BACKEND))
    for properties in mappings:
        assert properties.keys() >= {"name", *ModelSettings.model_fields}
        assert "Sampling temperature" in json.dumps(properties["temperature"])
