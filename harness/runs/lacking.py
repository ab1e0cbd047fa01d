"""Finds data that a run needs and this machine lacks, if possible without reading them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.contracts import Split
from harness.contracts.data import Data
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.contracts.row import Row
from harness.contracts.specs import RunSpec
from harness.data.hub import HubData
from harness.errors import HarnessError, describe_failure, reraise_interrupt
from harness.plugins.parameters import build
from harness.plugins.registry import Registry
from harness.runs.evaluation import open_scenario_data, without_examples


def lacking_data(spec: RunSpec, registry: Registry, data_dir: Path | None) -> str:
    """Return a message about missing local data; '' if none are missing, or if the run's data come from the Hub."""
    try:
        lacking = open_scenario_data(spec, registry, data_dir).lacking(spec.eval_split)
        parts = "" if lacking else next(iter(lacking_parts(spec, registry, data_dir).values()), "")
        return lacking or parts or lacking_examples(spec, registry, data_dir)
    except HarnessError as error:
        return str(error)


def unreachable_data(spec: RunSpec, registry: Registry, data_dir: Path | None) -> str:
    """Return a message if a run needs data that are not in the Hub's cache while the Hub cannot be reached; else ''."""
    try:
        data = open_scenario_data(spec, registry, data_dir)
        if isinstance(data, HubData):
            data.check_reachable()
    except HarnessError as error:
        return str(error)
    return ""


def lacking_parts(spec: RunSpec, registry: Registry, data_dir: Path | None) -> dict[str, str]:
    """Return the missing parts of a data set whose files are not by split, such as subjects, each with its message.

    The scenario is asked for its instances with parts that seem to be empty, so nothing is read and only parts that
    this run needs are found. A scenario that fails without rows needs its data read, and tells nothing.

    Raises:
        HarnessError: There are no data at all.
    """
    scenario = registry.get(Kind.SCENARIO, spec.scenario.name)
    source = scenario.details.data if isinstance(scenario.details, ScenarioDetails) else None
    if source is None or not source.files or source.files.keys() & {str(split) for split in Split}:
        return {}
    data = open_scenario_data(spec, registry, data_dir)
    lacking: dict[str, str] = {}
    with suppress(Exception):  # a scenario may need rows: what it raises without any is not what the run would say
        instances = build(scenario, _EmptyData(data, lacking), arguments=spec.scenario.arguments)
        for _ in instances():
            return {}  # it does not take its instances from these files alone
    return lacking


class _EmptyData(Data):
    """Data whose parts have no rows, and which notes the parts that are missing."""

    def __init__(self, data: Data, lacking: dict[str, str]) -> None:
        self._data, self._lacking = data, lacking

    def rows(self, split: Split | str) -> Iterator[Row]:
        if message := self._data.lacking(split):
            self._lacking[str(split)] = message
        return iter(())

    def provenance(self) -> dict[str, Any]:
        return {}

    def has(self, relative: str) -> bool:
        return self._data.has(relative)

    def path(self, relative: str) -> Path:
        return self._data.path(relative)

    def read(self, relative: str) -> Iterator[Row]:
        return iter(())


def lacking_examples(spec: RunSpec, registry: Registry, data_dir: Path | None) -> str:
    """Return why the examples that a run shows are not there; '' if they are, or if it shows none.

    The data are read only if the train files are missing and the scenario may take its examples from elsewhere.
    """
    if not spec.adapter.arguments.get("max_train_instances"):
        return ""
    try:
        data = open_scenario_data(spec, registry, data_dir)
        lacking = data.lacking(Split.TRAIN)
        if not lacking:
            return ""
        scenario = registry.get(Kind.SCENARIO, spec.scenario.name)
        if isinstance(scenario.details, ScenarioDetails) and scenario.details.train_from_files:
            return without_examples(lacking)
        instances = build(scenario, data, arguments=spec.scenario.arguments)
        return "" if any(instance.split == Split.TRAIN for instance in instances()) else without_examples(lacking)
    except BaseException as error:  # whatever the scenario raises
        reraise_interrupt(error)
        return describe_failure(error)
