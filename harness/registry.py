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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from random import Random
from types import ModuleType, NoneType, UnionType
from typing import TYPE_CHECKING, Any

from harness.contracts import Adapter, Example, ExampleMetric, Instance, Model, RunMetric
from harness.data import Data
from harness.errors import HarnessError, PluginError, did_you_mean, reraise_interrupt
from harness.plugins import ATTRIBUTE, CATEGORIES, Kind, MetricDetails, Plugin

if TYPE_CHECKING:
    from pydantic import BaseModel

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
        from harness.scenario_file import load_scenario_file

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


# ---------------------------------------------------------------------------------------------------------------
# Parameters


@cache
def parameters_of(plugin: Plugin) -> type[BaseModel]:
    """Return the pydantic model of a plugin's parameters; unknown names are forbidden.

    It is the target's ``Params`` where there is one, else made from the signature's keyword-only parameters.

    Raises:
        PluginError: A parameter has no type.
    """
    from pydantic import ConfigDict, create_model

    target = plugin.target
    declared = getattr(target, "Params", None)
    if declared is not None:
        return typing.cast("type[BaseModel]", declared)
    fields: dict[str, Any] = {}
    if target is not None:
        function = target.__init__ if inspect.isclass(target) else target
        hints = typing.get_type_hints(function, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                continue
            if name not in hints:
                raise PluginError(f"{plugin.kind} {plugin.name!r}: parameter {name!r} has no type ({plugin.origin}).")
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[name] = (hints[name], default)
    config = ConfigDict(extra="forbid", frozen=True)
    return create_model(f"{plugin.name}_parameters", __config__=config, **fields)


@dataclass(frozen=True, slots=True)
class ParameterMistake:
    """What is wrong with one parameter: the path to it, the message, and what would be right."""

    path: tuple[str | int, ...]
    message: str
    hint: str = ""

    def __str__(self) -> str:
        where = ".".join(map(str, self.path))
        return f"{where}: {self.message}{' ' + self.hint if self.hint else ''}"


def check_parameters(
    model: type[BaseModel], arguments: Mapping[str, Any], *, noun: str = "parameter"
) -> tuple[BaseModel | None, list[ParameterMistake]]:
    """Check arguments against a parameter model; return the parsed model, or None and every mistake.

    The noun is what messages call an argument.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(dict(arguments)), []
    except ValidationError as error:
        return None, [_parameter_mistake(model, details, noun) for details in _one_branch(error.errors())]


def _one_branch(errors: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Where a name or an object is expected, keep only the complaint about the one that was given."""
    kept = list(errors)
    for names in errors:
        *stem, branch = names["loc"]
        if names["type"] != "literal_error" or not str(branch).startswith("literal["):
            continue
        others = [each for each in kept if each is not names and list(each["loc"][: len(stem)]) == stem]
        if isinstance(names["input"], Mapping):
            kept = [each for each in kept if each is not names]
        else:
            kept = [
                {**each, "loc": tuple(stem)} if each is names else each
                for each in kept
                if not any(each is other for other in others)
            ]
    return kept


def _literals(annotation: Any) -> Iterator[Any]:
    """Yield the values that the literals anywhere in an annotation allow."""
    if typing.get_origin(annotation) is typing.Literal:
        yield from typing.get_args(annotation)
    else:
        for part in typing.get_args(annotation):
            yield from _literals(part)


def required_choices(annotation: Any) -> tuple[str, ...]:
    """Return the values that a parameter of this type takes, as YAML has them; none where it is no literal."""
    choices = typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()
    return tuple(map(_as_yaml, choices))


def _as_yaml(choice: object) -> str:
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def _parameter_mistake(model: type[BaseModel], details: Mapping[str, Any], noun: str) -> ParameterMistake:
    path = tuple(details["loc"])
    if details["type"] == "extra_forbidden":
        hint = did_you_mean(str(path[-1]), model.model_fields) or f"It takes no {noun}s."
        return ParameterMistake(path, f"is not a {noun}.", hint)
    if details["type"] == "missing":
        field = model.model_fields.get(str(path[0])) if path else None
        choices = required_choices(field.annotation) if field else ()
        if field and len(choices) == 1:  # a consent
            why = f": {field.description}" if field.description else ""
            return ParameterMistake(path, f"is required{why}.", f"Write {path[0]}: {choices[0]}.")
        hint = f"One of: {', '.join(choices[:20])}{', …' if len(choices) > 20 else ''}." if choices else ""
        return ParameterMistake(path, "is required.", hint)
    if details["type"] == "literal_error":
        field = model.model_fields.get(str(path[0]))
        choices, given = tuple(_literals(field.annotation)) if field else (), details["input"]
        return ParameterMistake(
            path,
            f"{_as_yaml(given) if isinstance(given, bool) else repr(given)} is not one of the choices.",
            did_you_mean(str(details["input"]), map(_as_yaml, choices)),
        )
    message = details["msg"].removeprefix("Value error, ").removesuffix(".")
    given = _shown(details["input"])
    return ParameterMistake(path, f"{message}." if given in message else f"{message}, not {given}.")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def build(plugin: Plugin, *positional: Any, arguments: Mapping[str, Any]) -> Any:
    """Return a plugin ready for use: a function with its parameters bound, or an object of its class.

    Raises:
        PluginError: An argument is unknown, missing or of the wrong type.
    """
    target: Callable[..., Any] | None = plugin.target
    if target is None:
        raise PluginError(f"{plugin.kind} {plugin.name!r} is a set of {', '.join(plugin.members)}.")
    params, mistakes = check_parameters(parameters_of(plugin), arguments)
    if params is None:
        raise PluginError("\n".join(f"{plugin.kind} {plugin.name!r}: {mistake}" for mistake in mistakes))
    is_class = inspect.isclass(target)
    if is_class and hasattr(target, "Params"):
        return target(*positional, params)
    keywords = {name: getattr(params, name) for name in type(params).model_fields}
    return target(*positional, **keywords) if is_class else partial(target, *positional, **keywords)


def nearest_name(kind: Kind, name: str, known: Sequence[str]) -> str:
    """Return the hint for a name that no plugin has: the nearest, and how to list them; '' if there are none."""
    return f"{did_you_mean(name, known)} See `harness list {kind}s`." if known else ""


@cache
def given_names(metric: Plugin) -> tuple[str, ...]:
    """Return the names of the stats that a metric gives, ``*`` standing for any text; empty where that is not known."""
    if isinstance(metric.details, MetricDetails) and metric.details.gives:
        return metric.details.gives
    if not inspect.isfunction(metric.target):
        return ()
    try:
        returned = typing.get_type_hints(metric.target).get("return", Any)
    except (NameError, TypeError):
        return ()
    kinds = set(typing.get_args(returned) or (returned,)) - {NoneType}
    return (metric.name,) if kinds and kinds <= {float, int, bool} else ()


def describe_parameters(plugin: Plugin) -> Sequence[tuple[str, str, str]]:
    """Return ``(name, type, default)`` of each parameter, as text for people."""
    rows = []
    for name, field in parameters_of(plugin).model_fields.items():
        shown = "required" if field.is_required() else repr(field.get_default(call_default_factory=True))
        rows.append((name, _type_name(field.annotation), shown))
    return rows


def _type_name(annotation: Any) -> str:
    origin, members = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return " | ".join(map(repr, members))
    if origin is typing.Annotated:
        return _type_name(members[0])
    if origin in (typing.Union, UnionType):
        return " | ".join(map(_type_name, members))
    if annotation is NoneType:
        return "None"
    if inspect.isclass(origin) and members:
        inner = ", ".join("..." if member is ... else _type_name(member) for member in members)
        return f"{origin.__name__}[{inner}]"
    return annotation.__name__ if inspect.isclass(annotation) else str(annotation).replace("typing.", "")
