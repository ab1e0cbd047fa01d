"""Results do not depend on how many heads and replicas there are: byte for byte, or up to rounding of a real model."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import Component
from harness.executors.job import Job
from harness.plugins.registry import Registry
from harness.runs.settings import Settings
from tests.harness.executors.test_local import run, written
from tests.harness.models.conftest import tiny_checkpoint, tiny_tokenizer
from tests.harness.runs.test_runner import folder, registry, spec

__all__ = ["folder", "registry", "tiny_checkpoint", "tiny_tokenizer"]  # fixtures

SCORED = Component(name="multiple_choice_separate_original", arguments={"max_train_instances": 1})


def job(folder: Path, results: str, models: list[str], resources: Any = None) -> Job:
    operational = {} if resources is None else {"resources": resources}
    runs = [
        spec(model, operational=operational, **changes)
        for model in models
        for changes in ({"seed": 0}, {"seed": 1}, {"adapter": SCORED})
    ]
    return Job(runs, Settings(folder / results, folder), [folder / "quiz.yaml"])


def without_resources(found: dict[str, Any]) -> dict[str, Any]:
    for value, _ in found.values():
        value["spec"]["operational"].pop("resources", None)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "replicas"), [(1, 3), (2, 2)])
def test_replicas_and_heads_write_what_one_process_writes(
    folder: Path, registry: Registry, heads: int, replicas: int
) -> None:
    models = ["fake:0", "fake:1"][:heads]
    run(job(folder, "alone", models), registry, 1)
    records = run(job(folder, "several", models, {"replicas": replicas}), registry, heads)
    assert {record.status for record in records} == {"ok"}
    assert all(len(record.provenance["workers"]) >= 1 for record in records)
    assert without_resources(written(folder / "several")) == written(folder / "alone")


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for key in sorted(value) for number in numbers(value[key])]
    if isinstance(value, list):
        return [number for one in value for number in numbers(one)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def rest(value: Any) -> Any:
    """Return a value without its fractional numbers."""
    if isinstance(value, dict):
        return {key: rest(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rest(one) for one in value]
    return None if isinstance(value, float) else value


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("heads", "resources"), [(2, None), (1, {"replicas": 2})])
def test_a_real_model_differs_by_rounding_alone(
    folder: Path,
    registry: Registry,
    tiny_checkpoint: Callable[..., Path],
    heads: int,
    resources: Any,
) -> None:
    models = [f"hf:{tiny_checkpoint('llama')}", f"hf:{tiny_checkpoint('gpt2')}"]
    for results, count, asked in (("alone", 1, None), ("several", heads, resources)):
        records = run(job(folder, results, models, asked), registry, count)
        assert {(record.status, record.error) for record in records} == {("ok", None)}
    several, alone = written(folder / "several"), written(folder / "alone")
    assert several.keys() == alone.keys()
    for name, (value, examples) in several.items():
        expected, expected_examples = alone[name]
        for mine, other in zip(lines(examples), lines(expected_examples), strict=True):
            assert rest(mine) == rest(other)
            assert numbers(mine) == pytest.approx(numbers(other), abs=1e-5)
        assert rest(value["stats"]) == rest(expected["stats"])
        assert numbers(value["stats"]) == pytest.approx(numbers(expected["stats"]), abs=1e-5)
        assert value["provenance"]["model"]["fingerprint"] == expected["provenance"]["model"]["fingerprint"]


def lines(examples: bytes) -> list[Any]:
    """Return the examples without times."""
    return [json.loads(line, object_hook=untimed) for line in gzip.decompress(examples).splitlines()]


def untimed(value: dict[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in value.items() if "second" not in key}
