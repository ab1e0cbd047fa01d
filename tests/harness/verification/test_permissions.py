"""What a run.json from elsewhere may not do by itself."""

from __future__ import annotations

from typing import Any

import pytest

from harness import HarnessError
from harness.contracts.specs import Component, RunSpec
from harness.inference.model_pool import load_model
from harness.models.api.api_model import ApiModel
from harness.plugins.registry import default_registry
from harness.verification.permissions import _OFFICIAL, check_permissions


def spec(model: Any = "fake:0", metric: Any = "exact_match", **more: Any) -> RunSpec:
    parts = {"scenario": "quiz", "adapter": "generation", "main_metric": "exact_match", "eval_split": "valid"}
    return RunSpec.model_validate({"suite": "s", "model": model, "metrics": [metric], **parts, **more})


@pytest.mark.parametrize(
    ("run", "permission"),
    [
        (spec(metric={"name": "pass_at_k", "allow_code_execution": True}), "code_execution"),
        (spec(metric={"name": "judges", "all": [{"allow_code_execution": True}]}), "code_execution"),
        (spec(scenario={"name": "quiz", "allow_code_execution": True}), "code_execution"),
        (spec(adapter={"name": "generation", "allow_code_execution": True}), "code_execution"),
        (spec(perturbations=[{"name": "typos", "allow_code_execution": True}]), "code_execution"),
        (spec({"name": "hf:org/model", "trust_remote_code": True}), "remote_code"),
        (spec(operational={"base_url": "http://203.0.113.1/v1"}), "server"),
        (spec({"name": "openai:x", "base_url": "https://127.0.0.1.example.org"}), "server"),
        (spec(metric={"name": "judge_score", "model": {"name": "openai:x", "base_url": "http://10.0.0.1"}}), "server"),
        (spec({"name": "openai:x", "base_url": "//[not an address"}), "server"),
        (spec("litellm:huggingface/https://203.0.113.1/model"), "server"),
        (spec(metric={"name": "judge_score", "model": "litellm:huggingface/https://203.0.113.1"}), "server"),
        (spec({"name": "openai:x", "api_key_env": "AWS_SECRET_ACCESS_KEY"}), "server"),
        (spec({"name": "openai:x", "api_key_env": "ANTHROPIC_API_KEY"}), "server"),
        (spec({"name": "openai:x", "headers_env": "OPENAI_API_KEY_OF_MINE"}), "server"),
        (spec("anthropic:x", operational={"api_key_env": "GITHUB_TOKEN"}), "server"),
        (spec(metric={"name": "judge_score", "model": {"name": "openai:x", "api_key_env": "HF_TOKEN"}}), "server"),
        (spec(metric={"name": "judges", "models": [{"name": "openai:x", "headers_env": "HF_TOKEN"}]}), "server"),
        (spec(metric={"name": "judges", "models": [{"name": "openai:x", "base_url": "http://10.0.0.1"}]}), "server"),
    ],
)
def test_each_needs_its_permission(run: RunSpec, permission: str) -> None:
    with pytest.raises(HarnessError, match=f"--allow {permission} "):
        check_permissions(run, ())
    check_permissions(run, {permission})


@pytest.mark.parametrize("value", [True, 1, 1.0, "true", "yes", "on", "false", 0, [True]])
def test_whatever_a_plugin_may_read_as_true_needs_permission(value: Any) -> None:
    with pytest.raises(HarnessError, match="--allow code_execution "):
        check_permissions(spec(metric={"name": "pass_at_k", "allow_code_execution": value}), ())


@pytest.mark.parametrize("value", [False, None])
def test_what_is_off_needs_no_permission(value: bool | None) -> None:
    check_permissions(spec(metric={"name": "pass_at_k", "allow_code_execution": value}), ())


@pytest.mark.parametrize(
    "run",
    [
        spec(operational={"log": ".bashrc"}),
        spec({"name": "mine:x", "output_file": "notes.txt"}),
        spec(metric={"name": "judge_score", "judge": {"name": "recorded", "file": "/etc/passwd"}}),
        spec(perturbations=[{"name": "dialect", "mapping_file": "/etc/passwd"}]),
        spec(scenario={"name": "published_file", "path": "/etc/passwd"}),
        spec(scenario={"name": "published_file", "path": "../secret"}),
    ],
)
def test_files_need_permission(run: RunSpec) -> None:
    with pytest.raises(HarnessError, match=r"--allow files \(.* uses the file "):
        check_permissions(run, ())
    check_permissions(run, {"files"})


@pytest.mark.parametrize("path", ["questions.jsonl", "./sub/questions.jsonl"])
def test_data_in_the_data_folder_need_none(path: str) -> None:
    check_permissions(spec(scenario={"name": "published_file", "path": path}), ())
    check_permissions(spec({"name": "fake:0", "log": None}), ())


@pytest.mark.parametrize("url", ["http://localhost:8000/v1", "http://127.0.0.1:1/v1", "http://[::1]/v1"])
def test_this_machine_needs_none(url: str) -> None:
    check_permissions(spec({"name": "openai:x", "base_url": url}), ())


@pytest.mark.parametrize(
    ("model", "url", "needed"),
    [
        ("openai:x", "https://api.openai.com/v1", False),
        ("openai:x", "https://api.openai.com/v1/", False),
        ("anthropic:x", "https://api.anthropic.com", False),
        ("openai:x", "http://api.openai.com/v1", True),
        ("openai:x", "https://api.openai.com.example.org/v1", True),
        ("openai:x", "https://api.openai.com@example.org/v1", True),
        ("openai:x", "https://api.openai.com/v1/../../x", True),
        ("openai:x", "https://api.anthropic.com", True),
        ("litellm:x", "https://api.openai.com/v1", True),
    ],
)
def test_the_providers_own_address_needs_none(model: str, url: str, needed: bool) -> None:
    for run in (
        spec({"name": model, "base_url": url}),
        spec(model, operational={"base_url": url}),
        spec(metric={"name": "judge_score", "model": {"name": model, "base_url": url}}),
    ):
        if needed:
            with pytest.raises(HarnessError, match="--allow server "):
                check_permissions(run, ())
        else:
            check_permissions(run, ())


@pytest.mark.parametrize("backend", sorted(_OFFICIAL))
def test_the_addresses_are_those_of_the_backends(backend: str) -> None:
    model = load_model(Component(name=f"{backend}:x"), default_registry())
    assert isinstance(model, ApiModel)
    assert model.official_url == _OFFICIAL[backend]


def test_all_that_are_missing_are_named() -> None:
    run = spec({"name": "hf:x", "trust_remote_code": True}, {"name": "pass_at_k", "allow_code_execution": True})
    with pytest.raises(HarnessError, match=r"--allow code_execution .*--allow remote_code"):
        check_permissions(run, {"server"})


@pytest.mark.parametrize(("model", "variable"), [("openai:x", "OPENAI_API_KEY"), ("anthropic:x", "ANTHROPIC_API_KEY")])
def test_a_backends_own_key_needs_none(model: str, variable: str) -> None:
    entry = {"name": model, "api_key_env": variable}
    check_permissions(spec(entry), ())
    check_permissions(spec(metric={"name": "judge_score", "model": entry}), ())


def test_one_message_names_the_server_and_the_variable() -> None:
    run = spec({"name": "openai:x", "base_url": "http://203.0.113.1/v1", "api_key_env": "GITHUB_TOKEN"})
    with pytest.raises(HarnessError) as raised:
        check_permissions(run, ())
    assert str(raised.value).endswith(
        ": --allow server (the model is at http://203.0.113.1/v1, the model is sent the environment variable "
        "GITHUB_TOKEN)."
    )
