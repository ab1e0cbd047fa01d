"""Files that ``harness export --to lm-eval`` wrote: they have the setup of the exported run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.contracts import Example, Reference
from harness.contracts.specs import Component, RunSpec
from harness.imports.our_plugins import scenario_component
from harness.imports.own_answers import with_own_answer
from harness.installation import DISTRIBUTION
from harness.plugins.registry import Registry


def is_own(written: Mapping[str, Any]) -> bool:
    """Return True if this harness wrote a results file."""
    return (written.get("written_by") or {}).get("program") == DISTRIBUTION


def is_main_task(written: Mapping[str, Any], task: str) -> bool:
    """Return True if this harness wrote a results file, and the task is the main task of a run.

    Perturbed copies, other splits and single train trials are tasks of their own.
    """
    by = written.get("written_by") or {}
    return is_own(written) and by.get("task") == task and "main_metric" in by


def own_spec(spec: RunSpec, task: str, written: Mapping[str, Any], registry: Registry) -> RunSpec:
    """Return the spec of an imported task with the scenario, method and settings of the exported run."""
    config, by = written["configs"][task], written["written_by"]
    known = {component.name for component in spec.metrics}
    measured = [Component.model_validate(one) for one in by["metrics"]]
    return RunSpec.model_validate(
        {
            **spec.model_dump(),
            "scenario": scenario_component(registry, config["dataset_path"], config["dataset_kwargs"]),
            "parts": tuple(by["parts"]),
            "adapter": Component(name=config["metadata"]["method"], arguments=config["metadata"]["adapter"]),
            "metrics": (*measured, *(Component(name=name) for name in sorted(known - {one.name for one in measured}))),
            "perturbations": tuple(Component(name=name) for name in by["perturbations"]),
            **{key: by[key] for key in ("instance_seed", "seed", "samples")},
            **{key: by[key] for key in ("sampling_seed", "cluster", "prompt_variant") if key in by},
        }
    )


def own_metric(name: str) -> str:
    """Return a metric's name, in which the export replaces commas."""
    return name.replace(";", ",")


def own_example(example: Example, row: Mapping[str, Any]) -> Example:
    """Return an example with the exported instance and answer, which a line's scores may not determine."""
    doc = row["doc"]
    references = tuple(Reference(str(text)) for text in doc["references"])
    instance = example.instance.replace(
        id=str(doc["id"]), input=str(doc["input"]), references=references, meta=dict(doc.get("meta") or {})
    )
    return with_own_answer(replace(example, instance=instance), doc["answer"])
