"""The parameters of plugins: their model, checks of what is given, and plugins built with them."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal

from harness.contracts import BestOf, Model
from harness.contracts.plugins import MetricDetails, Plugin, ScenarioDetails
from harness.errors import Diagnostic, PluginError
from harness.validation import explain

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo


@cache
def parameters_of(plugin: Plugin) -> type[BaseModel]:
    """Return the pydantic model of a plugin's parameters; unknown names are forbidden.

    It is the target's ``Params`` where there is one, else made from the signature's keyword-only parameters. Of a
    scenario with several prompts, the parameter ``prompt`` chooses one by name.

    Raises:
        PluginError: A parameter has no type.
    """
    own = _own_parameters(plugin)
    details = plugin.details
    return _with_prompt(own, details) if isinstance(details, ScenarioDetails) and details.named_prompts else own


PROMPT = "prompt"
"""The parameter that chooses one of a scenario's prompts."""


def _with_prompt(own: type[BaseModel], details: ScenarioDetails) -> type[BaseModel]:
    from pydantic import Field, create_model

    own_prompt, *_ = details.named_prompts
    others = [f" ``{name}``: {variant.description}" for name, variant in details.prompts.items()]
    meaning = f"How the questions are asked and scored. ``{own_prompt}`` is the scenario's own.{''.join(others)}"
    names: Any = Literal[details.named_prompts]
    fields: dict[str, Any] = {PROMPT: (names, Field(own_prompt, description=meaning))}
    return create_model(own.__name__, __base__=own, **fields)


def scenario_arguments(params: BaseModel, details: ScenarioDetails) -> dict[str, Any]:
    """Return a scenario's arguments as JSON values; that it asks by its own prompt is left out."""
    given = params.model_dump(mode="json")
    if details.named_prompts and given[PROMPT] == details.named_prompts[0]:
        del given[PROMPT]
    return given


def _own_parameters(plugin: Plugin) -> type[BaseModel]:
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


@cache
def entry_of(backend: Plugin) -> type[BaseModel]:
    """Return the pydantic model of a model's entry: the parameters of its backend, and the settings of any model.

    Raises:
        PluginError: The backend has a parameter with the name of such a setting, or one without a type.
    """
    from pydantic import create_model

    from harness.contracts.model_settings import ModelSettings

    own = parameters_of(backend)
    if taken := own.model_fields.keys() & ModelSettings.model_fields.keys():
        raise PluginError(
            f"backend {backend.name!r}: {min(taken)!r} is a setting of every model; rename the parameter "
            f"({backend.origin})."
        )
    return create_model(f"{backend.name}_entry", __base__=(ModelSettings, own))


def honoured(backend: Plugin) -> frozenset[str]:
    """Return the settings of any model that a backend applies."""
    from harness.contracts.model_settings import OPERATIONAL

    honours: frozenset[str] = getattr(backend.target, "honours", Model.honours)
    return honours | OPERATIONAL


def check_parameters(
    model: type[BaseModel], arguments: Mapping[str, Any], *, noun: str = "parameter"
) -> tuple[BaseModel | None, list[Diagnostic]]:
    """Check arguments against a parameter model; return the parsed model, or None and every error.

    The noun is what messages call an argument.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(dict(arguments)), []
    except ValidationError as error:
        return None, explain(error, model, arguments, noun=noun)


def build(plugin: Plugin, *positional: Any, arguments: Mapping[str, Any]) -> Any:
    """Return a plugin ready for use: a function with its parameters bound, or an object of its class.

    Raises:
        PluginError: An argument is unknown, missing or of the wrong type.
    """
    target: Callable[..., Any] | None = plugin.target
    if target is None:
        raise PluginError(f"{plugin.kind} {plugin.name!r} is a set of {', '.join(plugin.members)}.")
    params, diagnostics = check_parameters(parameters_of(plugin), arguments)
    if params is None:
        raise PluginError("\n".join(f"{plugin.kind} {plugin.name!r}: {diagnostic}" for diagnostic in diagnostics))
    is_class = inspect.isclass(target)
    if is_class and hasattr(target, "Params"):
        return target(*positional, params)
    keywords = {name: getattr(params, name) for name in type(params).model_fields}
    if isinstance(plugin.details, ScenarioDetails) and plugin.details.named_prompts and not _takes(target, PROMPT):
        del keywords[PROMPT]
    return target(*positional, **keywords) if is_class else partial(target, *positional, **keywords)


def _takes(function: Callable[..., Any], name: str) -> bool:
    """Return True if a function has a parameter of this name, or takes any."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())


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
    if not kinds or not kinds <= {float, int, bool, BestOf}:
        return ()
    return (metric.name, f"{metric.name}@*") if BestOf in kinds else (metric.name,)


def describe_parameters(plugin: Plugin) -> Sequence[tuple[str, str, str, str]]:
    """Return ``(name, type, default, meaning)`` of each parameter, as text for people; the meaning may be empty."""
    rows = []
    model = parameters_of(plugin)
    for name, field in model.model_fields.items():
        shown = "required" if field.is_required() else repr(field.get_default(call_default_factory=True))
        rows.append((name, _type_name(field.annotation), shown, field_docs(model).get(name, "")))
    return rows


@cache
def field_docs(kind: type) -> Mapping[str, str]:
    """Return what the fields of a dataclass or pydantic model mean: their descriptions, or the docstrings below them.

    Pydantic can read the docstrings too, but would do so whenever a class is defined; together with all others, that
    takes as long as looking up the finished runs of a sweep.
    """
    docs: dict[str, str] = {}
    for base in reversed([base for base in kind.__mro__ if base.__module__ not in ("builtins", "pydantic.main")]):
        try:
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError):  # built in, or made without a class statement
            continue
        for field, after in itertools.pairwise(getattr(definition, "body", ())):
            match field, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    docs[name] = inspect.cleandoc(text)
    fields: Mapping[str, FieldInfo] = getattr(kind, "model_fields", {})
    return docs | {name: field.description for name, field in fields.items() if field.description}


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
