"""An entry of a sweep for every scenario: with real data where there are some, else with the rows written by hand.

Arguments are those of rows.yaml or of ``expected/``. Judges are asked on this machine, and programs are allowed to be
executed: where they cannot be isolated, their scenarios are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.contracts.plugins import Kind, MetricDetails, ScenarioDetails
from harness.plugins.parameters import parameters_of
from harness.plugins.registry import Registry
from harness.sweeps.shorthand import parse_entry
from tests.scenarios.conftest import read_from
from tests.scenarios.row_facts import ROWS

HERE = Path(__file__).parent
EXCERPTS = HERE / "excerpts"
SHORT: Mapping[str, Mapping[str, Any]] = {
    "ruler": {"length": 1024},
    "ruler_squad": {"length": 1024},
    "synthetic_efficiency": {"input_tokens": 64, "output_tokens": 8},
}
"""Arguments of generated scenarios for a checkpoint with a short window."""


@dataclass(frozen=True)
class Case:
    """A scenario with arguments for which there are data.

    Attributes:
        name: The scenario.
        arguments: Its arguments.
        real: True for the data folder, False for the excerpts.
        examples: True if the data have train instances.
        slow: True if reading takes seconds.
    """

    name: str
    arguments: Mapping[str, Any]
    real: bool
    examples: bool
    slow: bool = False


def cases(registry: Registry) -> Iterator[Case]:
    """Yield a case of every scenario that comes with the harness and has data of its own."""
    for name in registry.names(Kind.SCENARIO):
        details = registry.get(Kind.SCENARIO, name).details
        assert isinstance(details, ScenarioDetails)
        if details.data.anywhere:
            continue
        split, entry = str(details.eval_split), ROWS.get(name, {"cases": []})
        if real := next((case for case in entry["cases"] if split in case), None):
            arguments = {**real.get("arguments", {}), **SHORT.get(name, {})}
            yield Case(name, arguments, True, "train" in real, bool(entry.get("slow")))
        elif details.data.sample:
            yield Case(name, {}, False, True)
        else:
            written = yaml.safe_load((HERE / "expected" / f"{name}.yaml").read_text("utf-8"))
            case = next(case for case in written if case.get("data") == "excerpt" and split in case["counts"])
            yield Case(name, case.get("arguments", {}), False, "train" in case["counts"])


def entry(case: Case, registry: Registry, *, judge: Mapping[str, Any], answers: Path) -> dict[str, Any]:
    """Return a case's entry of a sweep.

    Args:
        case: The case.
        registry: All plugins.
        judge: The model that judges.
        answers: A folder for the answers with which judges compare.
    """
    details = registry.get(Kind.SCENARIO, case.name).details
    assert isinstance(details, ScenarioDetails)
    found: dict[str, Any] = {"scenario": {"name": case.name, **case.arguments}, "metrics": []}
    settings = details.adapter(**case.arguments) if callable(details.adapter) else details.adapter
    method = registry.get(Kind.ADAPTER, settings["method"])
    if not case.examples and "max_train_instances" in parameters_of(method).model_fields:
        found["max_train_instances"] = 0
    for metric in details.metrics:
        written = parse_entry(metric)
        plugin = registry.get(Kind.METRIC, written.name)
        arguments: dict[str, Any] = dict(written.arguments)
        parameters = parameters_of(plugin).model_fields if not plugin.members else {}
        if "allow_code_execution" in parameters:
            arguments["allow_code_execution"] = True
        if isinstance(plugin.details, MetricDetails) and plugin.details.models and parameters["model"].is_required():
            arguments["model"] = dict(judge)
        if "baseline" in parameters:
            arguments["baseline"] = str(_write_answers(case, registry, answers))
        found["metrics"].append({"name": written.name, **arguments})
    return found


def _write_answers(case: Case, registry: Registry, folder: Path) -> Path:
    assert not case.real
    file = folder / f"{case.name}.jsonl"
    instances = read_from(registry, EXCERPTS, case.name, case.arguments)
    lines = [json.dumps({"id": instance.id, "text": "It depends."}) for instance in instances]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file
