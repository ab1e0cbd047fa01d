"""Finding plugins: entry points, files and folders, all through one door.

The built-in scenarios, adapters, metrics and backends are found through the entry-point group ``harness.plugins`` like
anybody else's. An entry point names a module or a package; a package is searched with its submodules and with the
scenario files (``*.yaml``) that lie in it.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from random import Random
from types import ModuleType
from typing import TYPE_CHECKING

from harness.contracts import Adapter, Example, ExampleMetric, Instance, Model, RunMetric
from harness.contracts.data import Data
from harness.contracts.plugins import CATEGORIES, Kind, MetricDetails, Plugin
from harness.errors import HarnessError, PluginError, did_you_mean, reraise_interrupt
from harness.plugins.decorators import ATTRIBUTE

if TYPE_CHECKING:
    pass

GROUP = "harness.plugins"


@dataclass(frozen=True, slots=True)
class Problem:
    """A plugin that could not be used: what it is, and why."""

    plugin: str
    reason: str

    def __str__(self) -> str:
        return f"{self.plugin}: {self.reason}"


class Registry:
    """The plugins that this process knows, by kind and name.

    Attributes:
        problems: What was found but cannot be used; the rest works all the same.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._plugins: dict[tuple[Kind, str], Plugin] = {}
        self._refused: dict[tuple[Kind, str], str] = {}
        self._paths: set[Path] = set()
        self._digests: dict[Path, bytes] = {}

    def add(self, plugin: Plugin) -> None:
        """Register a plugin; a name that is taken is refused and can no longer be used at all.

        Raises:
            PluginError: The plugin does not have the form of its kind.
        """
        _check_form(plugin)
        key = (plugin.kind, plugin.name)
        if key not in self._plugins:
            self._plugins[key] = plugin
        elif self._plugins[key].origin != plugin.origin:
            first = self._plugins[key].origin
            reason = f"registered twice, in {first} and in {plugin.origin}. Rename one of them."
            self._refused[key] = reason
            self.problems.append(Problem(f"{plugin.kind} {plugin.name!r}", reason))

    def load_entry_points(self) -> None:
        """Register what the installed packages offer, the harness's own among them."""
        for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
            with self._reporting(f"entry point {entry.name!r} ({entry.value})"):
                self._scan(importlib.import_module(entry.value.split(":")[0]))

    def load_path(self, path: Path) -> None:
        """Register what a Python file, a scenario's YAML file, or a folder of such files defines.

        Raises:
            PluginError: There is no such file or folder, or it is neither.
        """
        path = path.resolve()
        if path in self._paths:
            return
        self._paths.add(path)
        if path.is_dir():
            for child in sorted(path.iterdir()):
                if child.suffix in {".py", ".yaml", ".yml"} and not child.name.startswith((".", "_")):
                    self.load_path(child)
        elif not path.exists():
            raise PluginError(f"plugin {path} does not exist.")
        elif path.suffix == ".py":
            with self._reporting(f"plugin {path}"):
                self._scan(_import_file(path))
        elif path.suffix in {".yaml", ".yml"}:
            with self._reporting(f"scenario file {path}"):
                self._add_scenario_file(path)
        else:
            raise PluginError(f"plugin {path} is neither a Python file, a scenario's YAML file, nor a folder.")

    def names(self, kind: Kind) -> list[str]:
        """Return the names of a kind that can be used, sorted."""
        return sorted(name for known, name in self._plugins if known is kind and (known, name) not in self._refused)

    def get(self, kind: Kind, name: str) -> Plugin:
        """Return a plugin by name.

        Raises:
            PluginError: There is none, or the name is registered twice.
        """
        key = (kind, name)
        if key in self._refused:
            raise PluginError(f"{kind} {name!r} is {self._refused[key]}")
        if key not in self._plugins:
            hint = nearest_name(kind, name, self.names(kind))
            raise PluginError(f"there is no {kind} named {name!r}. {hint}".rstrip())
        return self._plugins[key]

    def expand(self, kind: Kind, name: str) -> list[str]:
        """Return the names that a set stands for, all the way down; a name that is no set stands for itself."""
        plugin = self.get(kind, name)
        if plugin.target is not None:
            return [name]
        names: dict[str, None] = {}
        for member in plugin.members:
            names.update(dict.fromkeys(self.expand(kind, member.partition(":")[0])))  # name:key=value,…
        return list(names)

    def digest(self, file: Path) -> bytes:
        """Return the SHA-256 of a plugin's file as it was at the first call; empty for a file that is gone."""
        if file not in self._digests:
            try:
                self._digests[file] = hashlib.sha256(file.read_bytes()).digest()
            except OSError:
                self._digests[file] = b""
        return self._digests[file]

    def _scan(self, module: ModuleType) -> None:
        for plugin in _plugins_of(module):
            with self._reporting(f"{plugin.kind} {plugin.name!r} ({plugin.origin})"):
                self.add(plugin)
        for folder in getattr(module, "__path__", ()):
            for file in sorted(Path(folder).glob("*.yaml")):
                with self._reporting(f"scenario file {file}"):
                    self._add_scenario_file(file)
            for found in pkgutil.iter_modules([folder]):
                if found.name.startswith("_"):  # as in a folder; what is imported here costs every command its time
                    continue
                name = f"{module.__name__}.{found.name}"
                with self._reporting(f"module {name!r}"):
                    self._scan(importlib.import_module(name))

    def _add_scenario_file(self, path: Path) -> None:
        from harness.data.scenario_file import load_scenario_file

        self.add(load_scenario_file(path))

    def _reporting(self, what: str) -> _Reporting:
        return _Reporting(self.problems, what)


class _Reporting:
    """Turns whatever a plugin raises while it is loaded into a problem with its name."""

    def __init__(self, problems: list[Problem], what: str) -> None:
        self.problems, self.what = problems, what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        if error is None:
            return False
        reraise_interrupt(error)
        reason = str(error) if isinstance(error, HarnessError) else f"{type(error).__name__}: {error}"
        self.problems.append(Problem(self.what, reason))
        return True


_CALLED_WITH: Mapping[Kind, tuple[tuple[str, type], ...]] = {
    Kind.SCENARIO: (("data", Data),),
    Kind.METRIC: (("example", Example),),
    Kind.PERTURBATION: (("instance", Instance), ("rng", Random)),
}
"""What functions of a kind are called with; their parameters come after a ``*``."""

_SUBCLASS_OF: Mapping[Kind, tuple[type, ...]] = {
    Kind.ADAPTER: (Adapter,),
    Kind.BACKEND: (Model,),
    Kind.METRIC: (RunMetric, ExampleMetric),
}


def _check_form(plugin: Plugin) -> None:
    """Refuse a plugin that could not be called as its kind is.

    Raises:
        PluginError: Its class, its signature or its category is wrong.
    """
    target, bases = plugin.target, _SUBCLASS_OF.get(plugin.kind, ())
    if isinstance(plugin.details, MetricDetails) and plugin.details.category not in CATEGORIES:
        hint = did_you_mean(plugin.details.category, CATEGORIES)
        raise PluginError(f"{plugin.details.category!r} is no category of metrics. {hint}")
    if inspect.isclass(target) and bases and not issubclass(target, bases):
        names = " or ".join(f"harness.{base.__name__}" for base in bases)
        raise PluginError(f"the class must be a subclass of {names}.")
    expected = _CALLED_WITH.get(plugin.kind)
    if expected is None or not inspect.isfunction(target):
        return
    arguments = ", ".join(f"{name}: {kind.__name__}" for name, kind in expected)
    form = f"a {plugin.kind} is called with ({arguments}), and its own parameters stand after a *"
    positional = [
        parameter
        for parameter in inspect.signature(target).parameters.values()
        if parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(positional) != len(expected):
        raise PluginError(f"{form}; this one takes {len(positional)} positional parameters.")
    try:
        hints = typing.get_type_hints(target)
    except (NameError, TypeError):
        return
    for parameter, (_, kind) in zip(positional, expected, strict=True):
        hint = hints.get(parameter.name, kind)
        if inspect.isclass(hint) and not issubclass(kind, hint):
            raise PluginError(f"{form}; this one takes {parameter.name}: {hint.__name__}.")


def _plugins_of(module: ModuleType) -> Iterator[Plugin]:
    for value in vars(module).values():
        plugin = value if isinstance(value, Plugin) else vars(value).get(ATTRIBUTE) if _has_dict(value) else None
        if isinstance(plugin, Plugin) and (
            plugin.target is None or getattr(plugin.target, "__module__", None) == module.__name__
        ):
            yield plugin


def _has_dict(value: object) -> bool:
    return inspect.isfunction(value) or inspect.isclass(value)


def _import_file(path: Path) -> ModuleType:
    digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    name = f"harness_plugin_{path.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError(f"{path} cannot be imported.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def default_registry(plugins: Iterable[Path] = ()) -> Registry:
    """Return a registry with the installed plugins and those at the given paths."""
    registry = Registry()
    registry.load_entry_points()
    for path in plugins:
        registry.load_path(path)
    return registry


def nearest_name(kind: Kind, name: str, known: Sequence[str]) -> str:
    """Return the hint for a name that no plugin has: the nearest, and how to list them; '' if there are none."""
    return f"{did_you_mean(name, known)} See `harness list {kind}s`." if known else ""
