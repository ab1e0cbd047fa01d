"""Result files of other programs: real ones, and HELM's as its data classes write them, with answers to our liking."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.plugins.registry import Registry, default_registry

ANSWERS = {"id1": ("B", "B"), "id2": ("A", "C"), "id3": ("D", "D"), "id4": ("A", "A")}
"""What is right and what the model says."""
TEXTS = {"A": "one", "B": "two", "C": "three", "D": "four"}


@pytest.fixture(scope="session")
def registry() -> Registry:
    return default_registry()


@pytest.fixture(scope="session")
def lm_eval_folder() -> Path:
    """What lm-eval 0.4.13 wrote of three small tasks with a small checkpoint."""
    return Path(__file__).with_name("data") / "lm_eval"


@pytest.fixture(scope="session")
def inspect_folder() -> Path:
    """What inspect_ai 0.3.285 wrote of three tasks on invented data, without the events that are not read."""
    return Path(__file__).with_name("data") / "inspect"


@pytest.fixture(scope="session")
def lighteval_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What lighteval 0.13 wrote of three small tasks with a small checkpoint, in lighteval's layout."""
    data, folder = Path(__file__).with_name("data") / "lighteval", tmp_path_factory.mktemp("lighteval")
    (results,) = data.glob("results_*.json")
    date, model = results.stem.removeprefix("results_"), "checkpoints/small-gpt2"
    (folder / "results" / model).mkdir(parents=True)
    (folder / "details" / model / date).mkdir(parents=True)
    (folder / "results" / model / results.name).write_bytes(results.read_bytes())
    for task in ("tiny:quiz|0", "tiny:write|0", "tiny_samples|2"):  # whose files' names not every system takes
        file = data / f"details_{task.replace(':', '_').replace('|', '_')}.parquet"
        (folder / "details" / model / date / f"details_{task}_{date}.parquet").write_bytes(file.read_bytes())
    return folder


@pytest.fixture(scope="session")
def helm_folder() -> Path:
    """What HELM 0.5.16 wrote of four runs with a small random checkpoint, cut down to few stats, states and tokens."""
    return Path(__file__).with_name("data") / "helm"


def _stat(name: str, values: list[float], **about: Any) -> dict[str, Any]:
    mean = sum(values) / len(values)
    return {"name": {"name": name, **about}, "count": 1, "sum": mean, "sum_squared": mean**2, "min": mean, "max": mean,
            "mean": mean, "variance": 0.0, "stddev": 0.0}  # fmt: skip


def _state(id: str, right: str, said: str, perturbation: dict[str, Any] | None) -> dict[str, Any]:
    instance = {
        "input": {"text": f"Which is {id}?"},
        "references": [
            {"output": {"text": text}, "tags": ["correct"] * (letter == right)} for letter, text in TEXTS.items()
        ],
        "split": "test",
        "id": id,
        **({"perturbation": perturbation} if perturbation else {}),
    }  # fmt: skip
    return {
        "instance": instance,
        "train_trial_index": 0,
        "output_mapping": TEXTS,
        "request": {"model": "openai/gpt2", "prompt": f"Question: {id}\nAnswer:", "temperature": 0.0, "max_tokens": 1,
                    "num_completions": 1, "stop_sequences": ["\n"]},
        "result": {
            "success": True,
            "completions": [{"text": f" {said}", "logprob": -0.5, "tokens": [{"text": f" {said}", "logprob": -0.5}],
                             "finish_reason": {"reason": "length"}}],
            "cached": True,
        },
        "num_train_instances": 5,
        "prompt_truncated": False,
    }  # fmt: skip


def _rows() -> Iterator[tuple[str, str, str, dict[str, Any] | None]]:
    for id, (right, said) in ANSWERS.items():
        yield id, right, said, None
        yield id, right, "A", {"name": "typos", "robustness": True, "fairness": False, "computed_on": "perturbed"}


@pytest.fixture
def helm_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run folder of HELM: MMLU's anatomy by letters, four instances, each with a perturbed copy."""

    def write(*, without: tuple[str, ...] = (), **changes: Any) -> Path:
        original = [float(right == said) for _, right, said, changed in _rows() if changed is None]
        copies = [float(right == said) for _, right, said, changed in _rows() if changed]
        typos = {"name": "typos", "robustness": True, "fairness": False}
        worst = [min(pair) for pair in zip(original, copies, strict=True)]
        files: dict[str, Any] = {
            "run_spec.json": {
                "name": "mmlu:subject=anatomy,method=multiple_choice_joint,model=openai_gpt2",
                "scenario_spec": {"class_name": "helm.benchmark.scenarios.mmlu_scenario.MMLUScenario",
                                  "args": {"subject": "anatomy"}},
                "adapter_spec": {
                    "method": "multiple_choice_joint", "model": "openai/gpt2", "model_deployment": "huggingface/gpt2",
                    "instructions": "The following are multiple choice questions (with answers) about anatomy.\n",
                    "input_prefix": "Question: ", "output_prefix": "Answer: ", "num_outputs": 1, "max_tokens": 1,
                    "temperature": 0.0, "max_eval_instances": 4, "num_train_trials": 1, "substitutions": [],
                    "stop_sequences": ["\n"], **changes,
                },
                "metric_specs": [{"class_name": "helm.benchmark.metrics.basic_metrics.BasicMetric", "args": {}}],
                "data_augmenter_spec": {}, "groups": ["mmlu"], "annotators": [],
            },
            "stats.json": [
                _stat("exact_match", original, split="test"),
                _stat("quasi_exact_match", original, split="test"),
                _stat("exact_match", copies, split="test", perturbation={**typos, "computed_on": "perturbed"}),
                _stat("exact_match", worst, split="test", perturbation={**typos, "computed_on": "worst"}),
                _stat("f1_score", [0.125], split="test"),
                _stat("inference_runtime", [0.25], split="test"),
                _stat("num_train_trials", [1.0]),
            ],
            "per_instance_stats.json": [
                {"instance_id": id, "train_trial_index": 0, **({"perturbation": changed} if changed else {}),
                 "stats": [_stat(name, [score], split="test") for name, score in
                           (("exact_match", float(right == said)), ("quasi_exact_match", float(right == said)),
                            ("f1_score", 0.125))]}
                for id, right, said, changed in _rows()
            ],
            "scenario_state.json": {"adapter_spec": {}, "request_states": [_state(*row) for row in _rows()]},
        }  # fmt: skip
        folder = tmp_path / "runs" / "v1" / "mmlu,model=openai_gpt2"
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in files.items():
            if name not in without:
                (folder / name).write_text(json.dumps(value, indent=2), encoding="utf-8")
        return folder

    return write
