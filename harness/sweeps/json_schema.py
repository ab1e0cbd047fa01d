"""The JSON Schema of sweep files, for editors: their keys, and the names and parameters of all that is installed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from harness.contracts.plugins import Kind, Plugin
from harness.plugins.parameters import entry_of, field_docs, parameters_of
from harness.plugins.registry import Registry
from harness.sweeps.executor_keys import EXECUTORS
from harness.sweeps.fan_out import takes_list
from harness.sweeps.keys import DefaultKeys, RunKeys, ScoreKeys, SweepKeys

Schema = dict[str, Any]


def json_schema(registry: Registry) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a sweep file.

    It is as strict as it can be without looking things up: a shorthand's arguments and what a default adapter leaves
    open are checked by ``harness validate`` only.
    """
    definitions: dict[str, Schema] = {
        "scenario": _components(Kind.SCENARIO, registry, paths=True),
        "adapter": _adapter(registry),
        "metric": _components(Kind.METRIC, registry, fan_out=False),
        "perturbation": _components(Kind.PERTURBATION, registry, fan_out=False),
        "model": _model(registry),
        "listener": _components(Kind.LISTENER, registry, fan_out=False),
    }
    definitions["run"] = _keys(RunKeys, definitions)
    definitions["defaults"] = _keys(DefaultKeys, definitions)
    sweep = _keys(SweepKeys, definitions)
    sweep["properties"]["runs"]["items"] = {"anyOf": [*_texts(registry.names(Kind.SCENARIO), paths=True), _ref("run")]}
    sweep["properties"]["runs"]["minItems"] = 1
    definitions["executor"] = _executor(definitions)
    sweep["properties"]["executor"] = {
        "anyOf": [_ref("executor"), {"type": "null"}],
        "description": sweep["properties"]["executor"]["description"],
    }
    sweep["properties"]["listeners"] = {
        "anyOf": [{"type": "array", "items": _ref("listener")}, {"type": "null"}],
        "description": sweep["properties"]["listeners"]["description"],
    }
    definitions["score"] = _keys(ScoreKeys, definitions)
    sweep["properties"]["scores"] = {
        "anyOf": [{"type": "array", "items": _ref("score")}, {"type": "null"}],
        "description": sweep["properties"]["scores"]["description"],
    }
    sweep["properties"]["defaults"] = {"anyOf": [_ref("defaults"), {"type": "null"}]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A sweep of the holistic harness",
        **sweep,
        "$defs": dict(sorted(definitions.items())),
    }


def _keys(kind: type[BaseModel], definitions: dict[str, Schema]) -> Schema:
    schema = _of_model(kind, "", definitions)
    parts: Mapping[str, Schema] = {
        "scenario": _ref("scenario"),
        "adapter": _ref("adapter"),
        "model": _ref("model"),
    }
    lists = {"metrics": "metric", "perturbations": "perturbation", "models": "model"}
    for key, held in schema["properties"].items():
        held.pop("default", None)
        if key in parts or key in lists:
            held.pop("anyOf", None)
        held.update(parts.get(key, {}))
        if key in lists:
            held.update({"type": "array", "items": _ref(lists[key])})
    return schema


def _components(kind: Kind, registry: Registry, *, fan_out: bool = True, paths: bool = False) -> Schema:
    names = registry.names(kind)
    plugins = [_plugin(registry, kind, name) for name in names]
    mappings = [_mapping(plugin, "name", plugin.name, fan_out) for plugin in plugins if plugin and plugin.target]
    if paths:
        # the parameters are known only from the scenario file itself
        mappings.append(_object({"name": {"type": "string", "pattern": _PATH}}, ["name"], open_ended=True))
    return {"anyOf": [*_texts(names, paths=paths), *mappings]}


def _adapter(registry: Registry) -> Schema:
    methods = registry.names(Kind.ADAPTER)
    plugins = [plugin for name in methods if (plugin := _plugin(registry, Kind.ADAPTER, name))]
    mappings = [_mapping(plugin, "method", plugin.name, True) for plugin in plugins]
    settings: dict[str, list[Schema]] = {}
    for mapping in mappings:
        for key, held in mapping["properties"].items():
            if key != "method" and held not in settings.setdefault(key, []):
                settings[key].append(held)
    anonymous = _object({key: held[0] if len(held) == 1 else {"anyOf": held} for key, held in settings.items()}, [])
    return {"anyOf": [*_texts(methods), *mappings, anonymous]}


def _model(registry: Registry) -> Schema:
    names = registry.names(Kind.BACKEND)
    plugins = [plugin for name in names if (plugin := _plugin(registry, Kind.BACKEND, name))]
    patterns = {plugin.name: f"^{_escaped(plugin.name)}:.+" for plugin in plugins}
    mappings = [_mapping(plugin, "name", None, True, patterns[plugin.name]) for plugin in plugins]
    return {"anyOf": [*({"type": "string", "pattern": pattern} for pattern in patterns.values()), *mappings]}


def _executor(definitions: dict[str, Schema]) -> Schema:
    """Return the schema of an executor: a name, or a mapping with the name and settings."""
    mappings = []
    for name, keys in EXECUTORS.items():
        properties = {"name": {"const": name}, **_of_model(keys, f"executor.{name}.", definitions)["properties"]}
        mappings.append(_object(properties, ["name"]))
    return {"anyOf": [*_texts(list(EXECUTORS)), *mappings]}


def _mapping(plugin: Plugin, key: str, name: str | None, fan_out: bool, pattern: str = "") -> Schema:
    """Return the schema of ``{name: …, parameters…}``.

    Required parameters of a scenario, metric or model are required; an adapter's may come from the scenario.
    """
    named = {"type": "string", "pattern": pattern} if name is None else {"const": name}
    model = entry_of(plugin) if plugin.kind is Kind.BACKEND else parameters_of(plugin)
    own: dict[str, Schema] = {}
    schema = _of_model(model, f"{plugin.kind}.{plugin.name}.", own, inline=True)
    properties = schema.get("properties", {})
    if fan_out:
        for parameter, held in properties.items():
            field = model.model_fields.get(parameter)
            if field is not None and not takes_list(field.annotation):
                properties[parameter] = _one_or_more(held)
    required = [] if plugin.kind is Kind.ADAPTER else list(schema.get("required", ()))
    described = {"description": plugin.summary} if plugin.summary else {}
    return {**described, **_object({key: named, **properties}, [key, *required])}


class _Described(GenerateJsonSchema):
    """Pydantic's schema, with the docstrings below fields."""

    def model_schema(self, schema: ModelSchema) -> Schema:
        made, model = super().model_schema(schema), cast("type[BaseModel]", schema["cls"])
        for name, text in field_docs(model).items():
            if name in made.get("properties", {}):
                made["properties"][name]["description"] = text
        return made


def _of_model(model: type[BaseModel], prefix: str, definitions: dict[str, Schema], *, inline: bool = False) -> Schema:
    """Return a pydantic model's schema without titles, its own definitions moved to ours or written in place."""
    try:
        schema = model.model_json_schema(ref_template=f"#/$defs/{prefix}{{model}}", schema_generator=_Described)
    except PydanticInvalidForJsonSchema:
        return {"type": "object", "properties": {name: {} for name in model.model_fields}}
    held = {f"{prefix}{name}": value for name, value in schema.pop("$defs", {}).items()}
    if inline:
        schema = _in_place(schema, held, ())
    else:
        definitions.update({name: _untitled(value) for name, value in held.items()})
    schema = dict(_untitled(schema))
    schema["additionalProperties"] = False
    return schema


def _in_place(value: Any, held: Mapping[str, Schema], inside: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_in_place(item, held, inside) for item in value]
    if not isinstance(value, dict):
        return value
    name = str(value.get("$ref", "")).removeprefix("#/$defs/")
    if name in inside:
        return {}  # a type that contains itself is left open
    if name in held:
        rest = {key: item for key, item in value.items() if key != "$ref"}
        return {**_in_place(held[name], held, (*inside, name)), **rest}
    return {key: _in_place(item, held, inside) for key, item in value.items()}


def _untitled(schema: Any) -> Any:
    """Return a schema without pydantic's titles, which only repeat the keys; a property named ``title`` stays."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _untitled(item) for name, item in value.items()} if key == "properties" else _untitled(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


_PATH = r"\.ya?ml$"


def _texts(names: Sequence[str], *, paths: bool = False) -> list[Schema]:
    texts: list[Schema] = [{"enum": list(names)}] if names else []
    if names:
        either = "|".join(map(_escaped, names))
        texts.append({"type": "string", "pattern": f"^({either}):[^=,]+=[^,]*(,[^=,]+=[^,]*)*$"})
    if paths:
        texts.append({"type": "string", "pattern": r"\.ya?ml(:.*)?$"})
        texts.append({"type": "string", "pattern": r"^tag:[a-z0-9-]+(,[^=,]+=[^,]*)*$"})
    return texts


def _escaped(name: str) -> str:
    # Not re.escape, which escapes what JSON Schema's dialect of regular expressions forbids to escape.
    return re.sub(r"([\\^$.|?*+()\[\]{}/])", r"\\\1", name)


def _one_or_more(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "array", "items": schema, "minItems": 1}]}


def _object(properties: Mapping[str, Schema], required: Sequence[str], *, open_ended: bool = False) -> Schema:
    schema: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": open_ended}
    return {**schema, "required": list(required)} if required else schema


def _plugin(registry: Registry, kind: Kind, name: str) -> Plugin | None:
    from harness.errors import PluginError

    try:
        plugin = registry.get(kind, name)
        parameters_of(plugin)
    except PluginError:
        return None  # a broken plugin is not offered
    return plugin


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
