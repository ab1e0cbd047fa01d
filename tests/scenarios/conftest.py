"""Reading scenarios as a run does: by name, with their defaults, from a data folder or from rows that a test gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import scenarios
from harness import Data, DataError, Instance, Row, Split
from harness.contracts.plugins import Kind, Plugin, ScenarioDetails
from harness.data.source import open_data
from harness.plugins.parameters import build, check_parameters, parameters_of
from harness.plugins.registry import Registry, default_registry

Read = Callable[..., list[Instance]]


@pytest.fixture(scope="session")
def registry() -> Registry:
    """Every installed plugin."""
    return default_registry()


@pytest.fixture(scope="session")
def built_in(registry: Registry) -> Mapping[str, ScenarioDetails]:
    """The details of the scenarios that come with the harness, samples included, by name."""
    folder = str(Path(scenarios.__file__).parent)
    plugins = [registry.get(Kind.SCENARIO, name) for name in registry.names(Kind.SCENARIO)]
    return {
        plugin.name: plugin.details
        for plugin in plugins
        if folder in plugin.origin and isinstance(plugin.details, ScenarioDetails)
    }


def arguments_of(plugin: Plugin, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario's arguments, the defaults written out."""
    params, mistakes = check_parameters(parameters_of(plugin), given)
    assert params is not None, mistakes
    return params.model_dump()


@pytest.fixture(scope="session")
def read(registry: Registry, data_dir: Path) -> Read:
    """Return a function from a scenario's name and arguments to its instances, read from the real data once."""

    @cache
    def instances(name: str, items: tuple[tuple[str, Any], ...]) -> list[Instance]:
        return read_from(registry, data_dir, name, dict(items))

    return lambda name, **arguments: instances(name, tuple(sorted(arguments.items())))


@pytest.fixture(scope="session")
def read_again(registry: Registry, data_dir: Path) -> Read:
    """Return the same function as ``read``, which reads anew at every call."""
    return lambda name, **arguments: read_from(registry, data_dir, name, arguments)


def read_from(registry: Registry, folder: Path, name: str, given: Mapping[str, Any]) -> list[Instance]:
    """Return a scenario's instances, read from a data folder."""
    plugin = registry.get(Kind.SCENARIO, name)
    assert isinstance(plugin.details, ScenarioDetails)
    arguments = arguments_of(plugin, given)
    data = open_data(plugin.details, arguments, name=name, data_dir=folder)
    return list(build(plugin, data, arguments=arguments)())


class GivenRows(Data):
    """Data that a test gives as rows, by split, as the Hub would."""

    def __init__(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self.given = rows

    def rows(self, split: Split | str) -> Iterator[Row]:
        for number, values in enumerate(self.given.get(str(split), ()), start=1):
            yield Row(values, file=f"given {split}", number=number)

    def provenance(self) -> dict[str, Any]:
        return {}

    def has(self, relative: str) -> bool:
        return False

    def path(self, relative: str) -> Path:
        raise DataError(f"{relative} is not there.")

    def read(self, relative: str) -> Iterator[Row]:
        raise DataError(f"{relative} is not there.")


@pytest.fixture(scope="session")
def read_rows(registry: Registry) -> Read:
    """Return a function from a scenario's name, rows by split and arguments to its instances."""

    def instances(name: str, rows: Mapping[str, Sequence[Mapping[str, Any]]], **given: Any) -> list[Instance]:
        plugin = registry.get(Kind.SCENARIO, name)
        return list(build(plugin, GivenRows(rows), arguments=arguments_of(plugin, given))())

    return instances


@pytest.fixture
def read_folder(registry: Registry, tmp_path: Path) -> Read:
    """Return a function from a scenario's name, files by path and arguments to its instances."""

    def instances(name: str, files: Mapping[str, str], **given: Any) -> list[Instance]:
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text, encoding="utf-8")
        return read_from(registry, tmp_path, name, given)

    return instances
