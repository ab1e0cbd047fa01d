"""Scenarios written as YAML, which map the columns of their data: read, checked, and made into plugins.

The keys are described in ``harness/data/scenario_keys.py``. Templates are Jinja's, in a sandbox. They can use a row's
columns by name, the scenario's parameters, ``row`` (for columns whose names are not identifiers:
``{{ row['Paper title'] }}``), ``split`` and ``number``. A name that is both a parameter's and a column's is the
parameter's, and ``row.name`` the column's; a file that uses such a name for different values, and never ``row.name``,
is refused. A column hides ``row``, ``split`` and ``number``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jinja2 import TemplateSyntaxError

from harness.contracts import Instance, Reference, Split, short_key
from harness.contracts.data import Data
from harness.contracts.plugins import Download, HubSource, Kind, Plugin, PromptVariant, ScenarioDetails, Source
from harness.contracts.row import Row
from harness.data.templates import (
    FAILURES,
    GLOBALS,
    Template,
    compile_expression,
    compile_template,
)
from harness.errors import DataError, Diagnostic, SpecError, did_you_mean, shown
from harness.yaml_lines import Located, load

if TYPE_CHECKING:
    from pydantic import BaseModel

    from harness.data.scenario_keys import ParameterKeys, ScenarioKeys

CLUSTER_KEY = "cluster"
"""The key of an instance's meta that holds the value of the file's ``cluster``."""

ROW_KEYS = ("id", "input", "published", "references", "correct", "correct_index", "meta", "cluster", "filter")
"""The keys whose templates are filled in for each row; other templates can only use parameters."""


def load_scenario_file(path: Path) -> Plugin:
    """Read a scenario's YAML file.

    Raises:
        SpecError: It has errors; all of them are reported.
    """
    from harness.data.scenario_keys import ScenarioKeys, asked_by, check_scenario

    located = load(path)
    diagnostics: dict[tuple[int | None, str], Diagnostic] = {}
    for diagnostic in (*located.diagnostics, *check_scenario(located), *_template_diagnostics(located)):
        diagnostics.setdefault((diagnostic.line, diagnostic.path), diagnostic)
    if diagnostics:
        raise SpecError(sorted(diagnostics.values(), key=lambda diagnostic: diagnostic.line or 0))
    schema = ScenarioKeys.model_validate(located.data)
    prompts = {name: ScenarioKeys.model_validate(asked_by(located.data, name)) for name in schema.prompts}
    return Plugin(
        kind=Kind.SCENARIO,
        name=schema.name,
        target=MappedScenario(schema, prompts),
        doc=schema.description.strip(),
        source=schema.citation.strip(),
        origin=str(path),
        details=_details(schema, prompts, path),
    )


class MappedScenario:
    """A scenario that maps each row of its data to an instance."""

    Params: type[BaseModel]
    """The pydantic model of its parameters."""

    def __init__(self, schema: ScenarioKeys, prompts: Mapping[str, ScenarioKeys]) -> None:
        self.__doc__ = schema.description
        self.__name__ = self.__qualname__ = schema.name
        self.Params = _parameter_model(schema.name, schema.parameters)
        self._name = schema.name
        self._prompts = {name: MappedScenario(changed, {}) for name, changed in prompts.items()}
        self._examples = schema.examples
        own = {Split.TRAIN} if schema.examples else set()
        self._splits = tuple(split for split in Split if split in schema.source.splits | own)
        self._filter = compile_expression(schema.filter) if schema.filter else None
        self._id = compile_template(schema.id) if schema.id else None
        self._input = compile_template(schema.input)
        self._published = compile_template(schema.published) if schema.published else None
        self._references = _compiled(schema.references)
        self._correct = compile_template(schema.correct) if schema.correct is not None else None
        self._correct_index = _compiled(schema.correct_index)
        self._meta = {key: _compiled(value) for key, value in schema.meta.items()}
        self._cluster = compile_template(schema.cluster) if schema.cluster else None
        self._ambiguous = _ambiguous(schema)

    def __call__(self, data: Data, /, *, prompt: str = "", **parameters: Any) -> Iterator[Instance]:
        """Yield an instance for each row, split by split; a split whose files are not there is left out.

        Raises:
            DataError: A row does not fit the templates; the message names the file and the row.
        """
        if prompt in self._prompts:
            yield from self._prompts[prompt](data, **parameters)
            return
        seen: dict[str, tuple[str, int]] = {}
        for split in self._splits:
            for row in self._rows(data, split):
                instance = self._instance(row, split, parameters)
                if instance is None:
                    continue
                here = (row.file, row.place)
                if (first := seen.setdefault(instance.id, here)) is not here:
                    raise row.error(f"id {instance.id!r} is also that of {first[0]}, row {first[1]}.")
                yield instance

    def _rows(self, data: Data, split: Split) -> Iterator[Row]:
        if split is Split.TRAIN and self._examples is not None:
            place = f"{self._name}: examples"
            return (Row(record, file=place, number=number) for number, record in enumerate(self._examples, start=1))
        return iter(()) if data.lacking(split) else data.rows(split)

    def _instance(self, row: Row, split: Split, parameters: Mapping[str, Any]) -> Instance | None:
        scope = {**GLOBALS, "row": row, "split": split.value, "number": row.number, **row.record, **parameters}
        for name, key in self._ambiguous.items():
            if name in row.record and str(row.record[name]) != str(parameters.get(name)):
                raise row.error(
                    f"{key} uses {name!r}, which is both a parameter ({shown(parameters.get(name))}) and a column "
                    f"({shown(row.record[name])}). Write row.{name} for the column, or rename the parameter."
                )
        from_source = split is not Split.TRAIN or self._examples is None
        if from_source and self._filter is not None and not _value(self._filter, scope, row, "filter"):
            return None
        identifier = f"{split}-{row.number}" if self._id is None else _text(self._id, scope, row, "id")
        if not identifier.strip():
            raise row.error("id is empty; every instance needs its own.")
        return Instance(
            id=identifier,
            input=_text(self._input, scope, row, "input"),
            references=self._answers(scope, row),
            split=split,
            published=row.published if self._published is None else _text(self._published, scope, row, "published"),
            meta=self._further(scope, row),
        )

    def _further(self, scope: Mapping[str, Any], row: Row) -> dict[str, Any]:
        """Return an instance's further data, and its cluster."""
        meta = {key: _json(_value(value, scope, row, f"meta.{key}"), row) for key, value in self._meta.items()}
        if self._cluster is not None:
            meta[CLUSTER_KEY] = short_key(_text(self._cluster, scope, row, "cluster"))
        return meta

    def _answers(self, scope: Mapping[str, Any], row: Row) -> tuple[Reference, ...]:
        texts = _texts(_value(self._references, scope, row, "references"), row, "references")
        if self._correct is not None:
            right = _texts(_value(self._correct, scope, row, "correct"), row, "correct")
            if not right or not all(text.strip() for text in right):
                raise row.error(
                    "correct is empty; a row without a right answer cannot be scored (leave it out with `filter`)."
                )
            if self._references is None:
                texts = right
            for text in right:
                if text not in texts:
                    raise row.error(f"the correct answer {text!r} is not one of the references {shown(texts, 200)}.")
            return tuple(Reference(text, text in right) for text in texts)
        if self._correct_index is not None:
            indices = _indices(_value(self._correct_index, scope, row, "correct_index"), texts, row)
            return tuple(Reference(text, index in indices) for index, text in enumerate(texts))
        return ()


# ---------------------------------------------------------------------------------------------------------------
# Filling in


def _ambiguous(schema: ScenarioKeys) -> dict[str, str]:
    """Return the parameters that a row's templates use by name, each with a key that does.

    Left out are those whose columns the templates use as well, as ``row.name``: their author knows of both.
    """
    if not schema.parameters:
        return {}
    written = [(key, text) for key in ROW_KEYS for _, text in _strings(getattr(schema, key), ())]
    whole = "\n".join(text for _, text in written)
    known = {name for name in schema.parameters if re.search(rf"\brow\b(\.|\[['\"]|\.get\(['\"]){name}\b", whole)}
    found: dict[str, str] = {}
    for key, text in written:
        template = compile_expression(text) if key == "filter" else compile_template(text)
        for name in sorted(template.names & schema.parameters.keys() - known):
            found.setdefault(name, key)
    return found


def _compiled(value: Any) -> Any:
    """Return a value with its strings compiled, down through lists and mappings."""
    if isinstance(value, str):
        return compile_template(value)
    if isinstance(value, Sequence):
        return [_compiled(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _compiled(item) for key, item in value.items()}
    return value


def _value(compiled: Any, scope: Mapping[str, Any], row: Row, key: str) -> Any:
    if isinstance(compiled, Template):
        try:
            return compiled(scope)
        except DataError:
            raise
        except FAILURES as error:
            # a missing name need not be the reason: ``a if a is defined else b[9]`` fails at b[9]
            absent = [name for name in compiled.names if name not in scope and str(error) == f"{name!r} is undefined"]
            if absent:
                raise row.error(f"{key} needs column {absent[0]!r}, which does not exist. {row.columns()}") from None
            reason = str(error).rstrip(".") or type(error).__name__
            if "No filter named" in reason:
                reason += "; filters are those of Jinja, and flatten and without_label"
            raise row.error(f"{key}: {reason} (in {compiled.source!r}).") from None
    if isinstance(compiled, list):
        return [_value(item, scope, row, key) for item in compiled]
    if isinstance(compiled, dict):
        return {name: _value(item, scope, row, key) for name, item in compiled.items()}
    return compiled


def _text(template: Template, scope: Mapping[str, Any], row: Row, key: str) -> str:
    return _as_text(_value(template, scope, row, key), row, key)


def _as_text(value: Any, row: Row, key: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(value)
    raise row.error(f"{key} is {shown(value, 200)}, not text.")


def _texts(value: Any, row: Row, key: str) -> list[str]:
    if value is None:
        return []
    if isinstance(value, list | tuple | Generator):
        return [_as_text(item, row, key) for item in value]
    return [_as_text(value, row, key)]


def _indices(value: Any, texts: Sequence[str], row: Row) -> list[int]:
    indices = []
    for item in value if isinstance(value, list | tuple | Generator) else [value]:
        try:
            index = int(item) if isinstance(item, str | int) else None
        except ValueError:
            index = None
        if index is None or not 0 <= index < len(texts):
            wanted = f"a number from 0 to {len(texts) - 1}"
            raise row.error(f"correct_index is {shown(item)}, not {wanted}. The references are {shown(texts, 200)}.")
        indices.append(index)
    return indices


def _json(value: Any, row: Row) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple | Generator):
        return [_json(item, row) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _json(item, row) for key, item in value.items()}
    raise row.error(f"meta holds {type(value).__name__} {shown(value, 200)}, which is not a JSON value.")


# ---------------------------------------------------------------------------------------------------------------
# The plugin's description


def _details(schema: ScenarioKeys, prompts: Mapping[str, ScenarioKeys], path: Path) -> ScenarioDetails:
    source = schema.source.model_dump(mode="json")
    hub = source.pop("hub")
    downloads = tuple(Download(**download) for download in source.pop("downloads"))
    return ScenarioDetails(
        title=schema.title or schema.name,
        taxonomy=schema.taxonomy.model_dump(exclude_defaults=True),
        data=Source(
            **{**source, "columns": tuple(source["columns"])},
            hub=HubSource(**hub) if hub else None,
            downloads=downloads,
        ),
        adapter=_adapter(schema.adapter),
        metrics=tuple(schema.metrics),
        main_metric=schema.main_metric or schema.metrics[0],
        eval_split=schema.eval_split,
        groups=tuple(schema.groups),
        parts=tuple(schema.parts),
        options=_has_options(schema),
        cluster=CLUSTER_KEY if schema.cluster else "",
        tags=tuple(schema.tags),
        aliases=schema.aliases,
        file=path,
        short=schema.short,
        value_titles={name: one.titles for name, one in schema.parameters.items() if one.titles},
        train_from_files=not any(one.examples for one in (schema, *prompts.values())),
        prompt=schema.prompt,
        prompts={
            name: PromptVariant(
                description=schema.prompts[name].description.strip(),
                adapter=_adapter(changed.adapter),
                metrics=tuple(changed.metrics),
                main_metric=changed.main_metric or changed.metrics[0],
                eval_split=changed.eval_split,
                options=_has_options(changed),
            )
            for name, changed in prompts.items()
        },
    )


def _has_options(schema: ScenarioKeys) -> bool:
    return schema.references not in (None, schema.correct)


def _adapter(settings: Mapping[str, Any]) -> Mapping[str, Any] | Callable[..., Mapping[str, Any]]:
    if not any("{{" in text or "{%" in text for _, text in _strings(settings, ())):
        return dict(settings)
    compiled = _compiled(settings)

    def adapter(**parameters: Any) -> Mapping[str, Any]:
        row = Row(parameters, file="adapter", number=1)
        filled: Mapping[str, Any] = _value(compiled, {**GLOBALS, **parameters}, row, "adapter")
        return filled

    return adapter


def _parameter_model(name: str, parameters: Mapping[str, ParameterKeys]) -> type[BaseModel]:
    from pydantic import ConfigDict, Field, create_model

    fields: dict[str, Any] = {}
    for key, parameter in parameters.items():
        kind: Any = Literal[tuple(parameter.choices)] if parameter.choices else parameter.python_type
        default = ... if parameter.default is None else parameter.default
        fields[key] = (kind, Field(default, description=parameter.description or None))
    config = ConfigDict(extra="forbid", frozen=True)
    return create_model(f"{name}_parameters", __config__=config, **fields)


# ---------------------------------------------------------------------------------------------------------------
# Errors in templates


def _template_diagnostics(located: Located) -> Iterator[Diagnostic]:
    data = located.data if isinstance(located.data, dict) else {}
    parameters = data.get("parameters")
    known = set(parameters) if isinstance(parameters, dict) else set()
    places: list[tuple[tuple[str | int, ...], Any]] = [((key,), data.get(key)) for key in (*ROW_KEYS, "adapter")]
    source, prompts = data.get("source"), data.get("prompts")
    if isinstance(source, dict):
        places += [(("source", key), source.get(key)) for key in ("files", "hub", "sample", "downloads")]
    for name, changes in prompts.items() if isinstance(prompts, dict) else ():
        if isinstance(changes, dict):
            places += [(("prompts", name, key), changes.get(key)) for key in (*ROW_KEYS, "adapter")]
    for place, value in places:
        compiler = compile_expression if place[-1] == "filter" else compile_template
        for path, text in _strings(value, place):
            try:
                template = compiler(text)
            except TemplateSyntaxError as error:
                line = located.value_line(path) + (error.lineno - 1 if "\n" in text else 0)
                yield located.diagnostic(path, f"is not a template: {str(error.message).rstrip('.')}.", line=line)
                continue
            if place[-1] in ROW_KEYS:
                continue
            for name in sorted(template.names - known - GLOBALS.keys()):
                hint = did_you_mean(name, known) or "The scenario has no parameters."
                yield located.diagnostic(path, f"{name!r} is not a parameter of the scenario.", hint)


def _strings(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _strings(item, (*path, key))
    elif isinstance(value, Sequence):
        for index, item in enumerate(value):
            yield from _strings(item, (*path, index))
