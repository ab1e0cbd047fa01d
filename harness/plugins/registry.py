"""The plugins that can be used, by kind and name; the module of each is imported when the plugin is first used.

Built-in plugins are found through the entry-point group ``harness.plugins``, as anybody else's are. An entry point
names a module or a package; a package is searched with its submodules and with the YAML files in it (scenarios and
sets), except where a name begins with an underscore. :mod:`.index` reads what each file declares without importing it.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import logging
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from harness.contracts.plugins import Kind, MetricDetails, PerturbationDetails, Plugin, ScenarioDetails, Source
from harness.errors import HarnessError, PluginError, did_you_mean, reraise_interrupt
from harness.plugins.decorators import ATTRIBUTE, check_api_version
from harness.plugins.index import SET_KEYS, Index, Listing, summary_line

GROUP = "harness.plugins"

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Problem:
    """A plugin that cannot be used."""

    plugin: str
    """The plugin, and where it is declared."""
    reason: str
    """What is wrong with it."""
    taken: bool = False
    """True if it is defined in memory and has the name of another."""

    def __str__(self) -> str:
        return f"{self.plugin}: {self.reason}"


@dataclass(frozen=True, slots=True)
class _File:
    """A file that may declare plugins."""

    path: Path | None
    """The file; None for a module that has no source file."""
    label: str
    """What messages call it."""
    module: str = ""
    """The module's name where it belongs to a package; empty for a file that is loaded by its path."""


@dataclass(slots=True)
class _Entry:
    """One plugin: what was read of it, and, once its file is loaded, the plugin."""

    origin: str
    file: _File | None = None
    listing: Listing | None = None
    plugin: Plugin | None = None
    refused: str = ""
    """Why it cannot be used; empty if nothing is known against it."""

    @property
    def summary(self) -> str:
        if self.plugin is None:
            return self.listing.summary if self.listing else ""
        details = self.plugin.details
        return summary_line(
            self.plugin.doc,
            title=details.title if isinstance(details, ScenarioDetails) else "",
            category=details.category if isinstance(details, MetricDetails | PerturbationDetails) else "",
            members=self.plugin.members,
            prompts=details.prompts if isinstance(details, ScenarioDetails) else (),
        )

    @property
    def tags(self) -> tuple[str, ...]:
        if self.plugin is None:
            return self.listing.tags if self.listing else ()
        return self.plugin.details.all_tags if isinstance(self.plugin.details, ScenarioDetails) else ()


class Registry:
    """The plugins that this process knows, by kind and name.

    Attributes:
        problems: What was found but cannot be used; the rest works all the same.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._entries: dict[tuple[Kind, str], _Entry] = {}
        self._files: dict[str, _File] = {}
        self._loaded: set[str] = set()
        self._digests: dict[Path, bytes] = {}
        self._index: Index | None = None

    def load_entry_points(self) -> None:
        """Find what the installed packages offer, the harness's own among them; nothing is imported yet."""
        self._index = Index()
        for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
            with self._reporting(f"entry point {entry.name!r} ({entry.value})"):
                self._find_module(entry.value.split(":")[0])
        self._index.save()

    def load_path(self, path: Path) -> None:
        """Load what a Python file, a scenario's YAML file, or a folder of such files defines.

        Raises:
            PluginError: There is no such file or folder, or it is neither.
        """
        path = path.resolve()
        if path.is_dir():
            for child in sorted(path.iterdir()):
                if child.suffix in {".py", ".yaml", ".yml"} and not child.name.startswith((".", "_")):
                    self.load_path(child)
        elif not path.exists():
            raise PluginError(f"plugin {path} does not exist.")
        elif path.suffix in {".py", ".yaml", ".yml"}:
            self._load(_File(path, f"{'plugin' if path.suffix == '.py' else 'scenario file'} {path}"))
        else:
            raise PluginError(f"plugin {path} is not a Python file, a scenario's YAML file, or a folder.")

    def load_module(self, module: ModuleType) -> None:
        """Register what a module in memory defines, such as a notebook; what cannot be used becomes a problem."""
        for plugin in _plugins_of(module):
            with self._reporting(f"{plugin.kind} {plugin.name!r} ({plugin.origin})"):
                self.add(plugin)

    def add(self, plugin: Plugin) -> None:
        """Register a plugin; a name that is taken is refused and can no longer be used at all.

        Raises:
            PluginError: The plugin does not have the form of its kind.
        """
        self._add(plugin, None)

    def names(self, kind: Kind) -> list[str]:
        """Return the names of a kind that can be used as far as is known, sorted."""
        return sorted(name for (known, name), entry in self._entries.items() if known is kind and not entry.refused)

    def summaries(self, kind: Kind) -> dict[str, str]:
        """Return a line about each plugin of a kind, by name, sorted; those that cannot be loaded become problems.

        A file that has been loaded before as it is, by this user and with these packages, is not loaded again.
        """
        for name in self.names(kind):
            file = self._entries[kind, name].file
            if file and file.path and not (self._index and self._index.loads(file.path)):
                self._load(file)
        if self._index is not None:
            self._index.save()
        return {name: self._entries[kind, name].summary for name in self.names(kind)}

    def tags(self) -> dict[str, list[str]]:
        """Return the scenarios of each tag, both sorted."""
        found: dict[str, list[str]] = {}
        for name in self.names(Kind.SCENARIO):
            for tag in self._entries[Kind.SCENARIO, name].tags:
                found.setdefault(tag, []).append(name)
        return dict(sorted(found.items()))

    def all(self, kind: Kind) -> list[Plugin]:
        """Return all plugins of a kind, by name; those that cannot be loaded become problems."""
        for name in self.names(kind):
            if (file := self._entries[kind, name].file) is not None:
                self._load(file)
        return [plugin for name in self.names(kind) if (plugin := self._entries[kind, name].plugin)]

    def get(self, kind: Kind, name: str) -> Plugin:
        """Return a plugin by name.

        Raises:
            PluginError: There is no such plugin, the name is registered twice, or its module cannot be loaded.
        """
        entry = self._entries.get((kind, name))
        if entry is not None and entry.plugin is None and entry.file is not None:
            self._load(entry.file)
        if entry is None:
            hint = nearest_name(kind, name, self.names(kind))
            raise PluginError(f"there is no {kind} named {name!r}. {hint}".rstrip())
        if entry.refused or entry.plugin is None:
            raise PluginError(f"{kind} {name!r} {entry.refused}")
        return entry.plugin

    def find(self, kind: Kind, name: str) -> Plugin | None:
        """Return a plugin by name; None if there is none that can be used."""
        try:
            return self.get(kind, name) if (kind, name) in self._entries else None
        except PluginError:
            return None

    def source(self, scenario: str) -> Source | None:
        """Return where a scenario's data come from; None if the scenario is not loaded."""
        plugin = self.find(Kind.SCENARIO, scenario)
        details = None if plugin is None else plugin.details
        return details.data if isinstance(details, ScenarioDetails) else None

    def with_role(self, kind: Kind, role: str) -> Plugin:
        """Return the plugin of a kind that declares a role, so that a command need not know its name.

        Raises:
            PluginError: No plugin declares it, or several do.
        """
        found = [plugin for plugin in self.all(kind) if plugin.role == role]
        if len(found) != 1:
            named = ", ".join(plugin.name for plugin in found) or "none"
            raise PluginError(f"exactly one {kind} must declare role={role!r}; found: {named}.")
        return found[0]

    def expand(self, kind: Kind, name: str) -> list[str]:
        """Return the names in a set, with sets within it resolved; the name itself if it is not a set."""
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

    def _find_module(self, name: str) -> None:
        """Note what a module declares, and, of a package, its submodules and scenario files."""
        spec = importlib.util.find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}")
        path = Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
        self._find(_File(path, f"module {name!r}", name))
        for folder in spec.submodule_search_locations or ():
            self._find_folder(Path(folder), name)

    def _find_folder(self, folder: Path, package: str) -> None:
        for file in sorted(folder.glob("*.yaml")):
            self._find(_File(file, f"scenario file {file}"))
        for found in pkgutil.iter_modules([str(folder)]):
            if found.name.startswith("_"):
                continue
            name, path = f"{package}.{found.name}", folder / found.name
            file = path / "__init__.py" if found.ispkg else path.with_suffix(".py")
            self._find(_File(file if file.is_file() else None, f"module {name!r}", name))
            if found.ispkg:
                self._find_folder(path, name)

    def _find(self, file: _File) -> None:
        """Note what a file declares; load it if that is the only way to know."""
        if _key(file) in self._files:
            return
        self._files[_key(file)] = file
        listings = None
        if file.path is not None and self._index is not None:
            with suppress(OSError, SyntaxError, ValueError, RecursionError):  # loading it tells what is wrong
                listings = self._index.listings(file.path)
        if listings is None:
            self._load(file)
        for listing in listings or ():
            place = f"{file.module}.{listing.origin.partition(':')[0]} ({file.path}:{listing.origin.partition(':')[2]})"
            self._enter(listing.kind, listing.name, _Entry(place if file.module else str(file.path), file, listing))

    def _enter(self, kind: Kind, name: str, entry: _Entry) -> None:
        """Note a plugin, and refuse a name that another plugin has."""
        known = self._entries.setdefault((kind, name), entry)
        if known is entry:
            return
        if known.file is not None and known.file == entry.file and known.plugin is None:
            known.plugin, known.origin = entry.plugin, entry.origin
        elif known.origin != entry.origin:
            in_memory = entry.file is None
            advice = "Rename yours; in a notebook, also delete the old definition with `del`."
            advice = advice if in_memory else "Rename one of them."
            known.refused = f"is registered twice, in {known.origin} and in {entry.origin}. {advice}"
            self.problems.append(Problem(f"{kind} {name!r}", known.refused, in_memory))

    def _add(self, plugin: Plugin, file: _File | None) -> None:
        from harness.plugins.forms import check_form

        check_form(plugin)
        self._enter(plugin.kind, plugin.name, _Entry(plugin.origin, file, plugin=plugin))

    def _load(self, file: _File) -> None:
        """Import a file, once, and register what it declares; what it should have declared and has not is refused."""
        if _key(file) in self._loaded:
            return
        self._loaded.add(_key(file))
        _LOG.debug("loading %s", file.label)
        known = len(self.problems)
        with self._reporting(file.label):
            if file.path is not None and file.path.suffix != ".py":
                for plugin in _read_yaml(file.path):
                    self._add(plugin, file)
            else:
                by_path = None if file.module else file.path
                module = _import_file(by_path) if by_path else importlib.import_module(file.module)
                check_api_version(module)
                for plugin in _plugins_of(module):
                    with self._reporting(f"{plugin.kind} {plugin.name!r} ({plugin.origin})"):
                        self._add(plugin, file)
        new = self.problems[known:]
        for (kind, name), entry in self._entries.items():
            if entry.file == file and entry.plugin is None and not entry.refused:
                own = [problem for problem in new if f"{kind} {name!r}" in problem.plugin] or new
                why = own[0] if own else f"{file.label} no longer declares it."
                entry.refused = f"cannot be used: {why}"
        if self._index is not None and file.path is not None and not new:
            self._index.note_loaded(file.path)

    @contextmanager
    def _reporting(self, what: str) -> Iterator[None]:
        """Turn whatever a plugin raises while it is loaded into a problem with its name."""
        try:
            yield
        except BaseException as error:
            reraise_interrupt(error)
            reason = str(error) if isinstance(error, HarnessError) else f"{type(error).__name__}: {error}"
            self.problems.append(Problem(what, reason))


def _key(file: _File) -> str:
    return file.module or str(file.path)


def _plugins_of(module: ModuleType) -> Iterator[Plugin]:
    for value in vars(module).values():
        plugin = vars(value).get(ATTRIBUTE) if inspect.isfunction(value) or inspect.isclass(value) else None
        if isinstance(plugin, Plugin) and getattr(plugin.target, "__module__", None) == module.__name__:
            yield plugin


def _read_yaml(path: Path) -> list[Plugin]:
    """Return the scenario, or the sets, that a YAML file defines."""
    from harness.data.scenario_file import load_scenario_file
    from harness.plugins.set_file import load_set_file
    from harness.yaml_lines import load

    data = load(path).data
    if isinstance(data, dict) and not SET_KEYS.keys().isdisjoint(data):
        return load_set_file(path)
    return [load_scenario_file(path)]


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
