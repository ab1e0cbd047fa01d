"""Everything that a user can name is documented: plugins, their parameters, commands, options, and keys of files.

The reference is generated, so nothing can be left out of it; what can be missing is the description.
"""

from __future__ import annotations

import inspect
import re

import click
import pytest

import harness
from docs.markdown import prose, table
from docs.write_reference import (
    api_groups,
    commands,
    models_within,
    reference_pages,
    split_docstring,
)
from harness import backends, contamination, statistics
from harness.contracts.plugins import Kind, Plugin
from harness.data.scenario_keys import ScenarioKeys
from harness.plugins.parameters import describe_parameters, field_docs
from harness.plugins.registry import default_registry
from harness.plugins.set_file import SetFileKeys
from harness.storage.run_schema import RunFile
from harness.sweeps.executor_keys import EXECUTORS
from harness.sweeps.keys import DefaultKeys, RunKeys, ScoreKeys, SweepKeys

REGISTRY = default_registry()
PLUGINS = [REGISTRY.get(kind, name) for kind in Kind for name in REGISTRY.names(kind)]
COMMANDS = {context.command_path: context for context in commands()}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference_pages()


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: f"{plugin.kind} {plugin.name}")
def test_plugin(plugin: Plugin, pages: dict[str, str]) -> None:
    assert f"\n## {plugin.name}\n" in pages[f"{plugin.kind}s.md"]
    body, arguments = split_docstring(plugin.doc)
    assert body
    undescribed = {name for name, _, _, meaning in describe_parameters(plugin) if not meaning}
    unnamed = {name for name in undescribed - set(arguments) if not re.search(rf"\b{name}\b", body)}
    assert unnamed == set(), "described neither in Args nor in the text"


@pytest.mark.parametrize("path", COMMANDS)
def test_command(path: str, pages: dict[str, str]) -> None:
    command = COMMANDS[path].command
    assert f"\n## {path}\n" in pages["command-line.md"]
    assert command.help
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert [option.opts for option in options if not option.help] == []


@pytest.mark.parametrize(
    ("page", "kind"), [("sweep-file.md", kind) for kind in (SweepKeys, DefaultKeys, RunKeys, ScoreKeys)]
)
def test_sweep_keys(page: str, kind: type, pages: dict[str, str]) -> None:
    described = field_docs(kind)
    for key in kind.model_fields:  # type: ignore[attr-defined]
        assert f"\n| `{key}` | " in pages[page]
        assert described.get(key), key


@pytest.mark.parametrize("name", EXECUTORS)
def test_settings_of_executors(name: str, pages: dict[str, str]) -> None:
    section = pages["sweep-file.md"].partition("\n## executor\n")[2].partition(f"\n### {name}\n")[2]
    described = field_docs(EXECUTORS[name])
    for key in EXECUTORS[name].model_fields:
        assert f"\n| `{key}` | " in section.partition("\n### ")[0]
        assert described.get(key), key


@pytest.mark.parametrize(
    ("page", "top"), [("scenario-file.md", ScenarioKeys), ("set-file.md", SetFileKeys), ("run-json.md", RunFile)]
)
def test_keys_of_other_files(page: str, top: type, pages: dict[str, str]) -> None:
    kinds = models_within(top)
    assert len(kinds) >= 2
    for kind in kinds:
        described = field_docs(kind)
        keys = [name for name in inspect.get_annotations(kind) if not name.startswith("_") and name != "model_config"]
        assert keys
        for key in keys:
            assert f"\n| `{key}` | " in pages[page]
            assert described.get(key), f"{kind.__name__}.{key}"


def test_public_names_of_python(pages: dict[str, str]) -> None:
    for module in (harness, backends):
        grouped = [name for names in api_groups(module).values() for name in names]
        assert sorted(grouped) == module.__all__
    for name in [*harness.__all__, *backends.__all__, *statistics.__all__, *contamination.__all__]:
        assert f"\n| `{name}` | " in pages["python.md"]


def test_a_docstring_is_split_into_text_and_arguments() -> None:
    doc = """First line.

    Args:
        one: The first,
            on two lines.
        two: The second.

    Raises:
        ValueError: Always.
    """
    assert split_docstring(doc) == ("First line.", {"one": "The first, on two lines.", "two": "The second."})


def test_docstrings_become_markdown() -> None:
    assert prose("a < b, ``x < y`` and :class:`harness.Model`") == r"a \< b, ``x < y`` and ``harness.Model``"
    assert table(("a", "b"), [("x | y", "two\nlines")]).splitlines()[2] == r"| x \| y | two lines |"
