"""The keys of a scenario's YAML file, and what is wrong with a file that does not keep to them."""

from __future__ import annotations

import keyword
import re
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from harness.contracts import Split
from harness.errors import Diagnostic, did_you_mean, shown
from harness.yaml_lines import Located


def _text_or_texts(value: Any) -> Any:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, str | int | float) or isinstance(item, bool):
            raise ValueError("must be text, or a list of texts; put what begins with '{{' in quotes")
    return value if isinstance(value, str) else [str(item) for item in items]


def _files(value: Any) -> Any:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value:
        return [_files(item) for item in value]
    if isinstance(value, dict) and value.keys() == {"zip"}:
        parts = value["zip"]
        if isinstance(parts, list) and len(parts) > 1 and all(isinstance(part, str) and part for part in parts):
            return value
    raise ValueError("must be a file name, a list of alternatives, or {zip: [file, file]}")


def _known_encoding(name: str) -> str:
    import codecs

    try:
        codecs.lookup(name)
    except (LookupError, ValueError):
        raise ValueError(f"{name!r} is no encoding; utf-8 and latin-1 are") from None
    return name


def _commit(revision: str) -> str:
    if not re.fullmatch("[0-9a-f]{40}", revision):
        raise ValueError("must be a commit, 40 hexadecimal digits; a branch or tag may move and change results")
    return revision


def _name(name: str) -> str:
    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise ValueError(f"{name!r} is no name: letters, digits, '_', '-' and '.', beginning with a letter or digit")
    return name


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class TaxonomySchema(_Strict):
    """Where a scenario stands in HELM's taxonomy (Liang et al. 2022, section 3)."""

    task: str = ""
    """What is to be done: question answering, sentiment analysis."""

    what: str = ""
    """What the texts are: Wikipedia passages, movie reviews."""

    who: str = ""
    """Who wrote them."""

    when: str = ""
    """When they were written."""

    language: str = ""
    """Their language."""


class HubSchema(_Strict):
    """A data set on the Hugging Face Hub."""

    path: Annotated[str, Field(min_length=1)]
    """``owner/name``."""

    revision: Annotated[str, AfterValidator(_commit)]
    """The commit."""

    config: str | None = None
    """The configuration, where there are several. May hold ``{{ parameter }}``."""

    splits: Annotated[dict[Split, str], Field(min_length=1)]
    """The Hub's split for each of ours (train, valid, test)."""


class SourceSchema(_Strict):
    """Where the rows come from."""

    files: dict[Split, Annotated[Any, BeforeValidator(_files)]] = {}
    """Files for each split, relative to the data folder: a name, or alternatives of which the first that exists is
    read, or ``{zip: [a, b]}`` for files whose columns belong side by side. May hold ``{{ parameter }}``."""

    hub: HubSchema | None = None
    """The same data on the Hub."""

    sample: dict[Split, str] = {}
    """Files that ship beside this one, in place of real data."""

    url: str = ""
    """Where a person finds the data."""

    licence: str = ""
    """The licence, as the authors state it."""

    columns: list[str] = []
    """Names of the columns of CSV and TSV files without a header."""

    encoding: Annotated[str, AfterValidator(_known_encoding)] = "utf-8"
    """The files' encoding."""

    @property
    def splits(self) -> frozenset[Split]:
        """The splits that any of the sources has."""
        return frozenset([*self.files, *self.sample, *(self.hub.splits if self.hub else ())])

    @model_validator(mode="after")
    def _somewhere(self) -> SourceSchema:
        if not self.splits:
            raise ValueError("must have files, hub or sample: the data have to come from somewhere")
        return self


class ParameterSchema(_Strict):
    """One parameter of a scenario."""

    choices: list[str | int] = []
    """The values it may have; any of its type when empty."""

    default: str | int | float | bool | None = None
    """Its value when none is given; without one it is required."""

    description: str = ""
    """What it means."""

    type: Literal["str", "int", "float", "bool"] = "str"
    """Its type where there are no choices."""

    @property
    def python_type(self) -> Any:
        """The type as Python's."""
        return {"str": str, "int": int, "float": float, "bool": bool}[self.type]

    @model_validator(mode="after")
    def _default_is_possible(self) -> ParameterSchema:
        default = self.default
        if default is None:
            return self
        if self.choices and default not in self.choices:
            raise ValueError(f"has the default {default!r}, which is not one of its choices")
        if not self.choices and type(default) is not self.python_type and (self.type, type(default)) != ("float", int):
            raise ValueError(f"has the default {default!r}, which is no {self.type}; say which type it is")
        return self


def _parameter_name(name: str) -> str:
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or hasattr(BaseModel, name):
        raise ValueError("cannot be a parameter's name: lower-case letters, digits and '_', no word of Python's")
    return name


def _adapter(value: Any) -> Any:
    settings = {"method": value} if isinstance(value, str) else value
    if not isinstance(settings, dict) or not isinstance(settings.get("method"), str):
        raise ValueError("must be a method's name, or a mapping with the key method and settings")
    return settings


class ScenarioSchema(_Strict):
    """A scenario that maps each row of its data to an instance."""

    name: Annotated[str, AfterValidator(_name)]
    """The name that sweeps use."""

    title: str = ""
    """The name for people."""

    description: Annotated[str, Field(min_length=1)]
    """What it measures; the first sentence stands in lists."""

    citation: str = ""
    """The paper that introduced the data: authors, year, arXiv number."""

    taxonomy: TaxonomySchema = TaxonomySchema()
    """Where it stands in HELM's taxonomy."""

    source: SourceSchema
    """Where the rows come from."""

    parameters: dict[Annotated[str, AfterValidator(_parameter_name)], ParameterSchema] = {}
    """What a sweep may choose."""

    id: str = ""
    """Template of the instance's id; the split and the row's number by default."""

    input: str
    """Template of the instance's input."""

    published: str = ""
    """Template of the example as its authors published it, with its answer: the record's own text by default."""

    references: Annotated[str | list[str] | None, BeforeValidator(_text_or_texts)] = None
    """Templates of the references, or one ``{{ expression }}`` that yields the list."""

    correct: str | None = None
    """Template of the correct reference's text, or an expression that yields several; without ``references`` these
    are the references."""

    correct_index: str | int | list[int] | None = None
    """In place of ``correct``: the correct reference's number from 0, or an expression that yields it or several."""

    meta: dict[str, Any] = {}
    """What metrics may want to see: names to templates, expressions or plain values."""

    filter: str | None = None
    """An expression; rows for which it is false are left out."""

    adapter: Annotated[dict[str, Any], BeforeValidator(_adapter)]
    """The default adapter: ``method`` and its settings. May hold ``{{ parameter }}``."""

    metrics: Annotated[list[str], Field(min_length=1)]
    """The default metrics and sets of metrics."""

    main_metric: str = ""
    """The metric that stands for the scenario on a leaderboard; the first of ``metrics`` by default."""

    eval_split: Split = Split.TEST
    """The split that is evaluated."""

    groups: list[str] = []
    """Keys of ``meta`` whose values are groups of instances, whose scores are compared."""

    @model_validator(mode="after")
    def _answers_are_complete(self) -> ScenarioSchema:
        if self.correct is not None and self.correct_index is not None:
            raise ValueError("has both correct and correct_index; one of them says which reference is right")
        if self.correct_index is not None and self.references is None:
            raise ValueError("has correct_index but no references that it could count")
        if self.references is not None and self.correct is None and self.correct_index is None:
            raise ValueError("has references, but neither correct nor correct_index says which is right")
        for key in self.groups:
            if key not in self.meta:
                hint = did_you_mean(key, self.meta).rstrip(".")
                raise ValueError(f"has the group {key!r}, which is no key of meta{'. ' if hint else ''}{hint}")
        if self.eval_split not in self.source.splits:
            have = ", ".join(sorted(self.source.splits))
            raise ValueError(f"has eval_split {self.eval_split}, which its source does not have. It has: {have}")
        return self


# ---------------------------------------------------------------------------------------------------------------
# Errors


def schema_diagnostics(located: Located) -> Iterator[Diagnostic]:
    """Yield everything in which a file does not keep to the schema."""
    data = located.data
    if not isinstance(data, dict):
        what = "is empty" if data is None else f"holds {_kind(data)}"
        yield located.diagnostic(
            (), f"{what}; a scenario file is a mapping with the keys name, description, source, input, …"
        )
        return
    try:
        ScenarioSchema.model_validate(data)
    except ValidationError as error:
        seen = set()
        for details in error.errors(include_url=False):
            path = _path_in(data, details["loc"])
            if path not in seen:
                seen.add(path)
                yield _diagnostic(located, path, details)


def _path_in(data: Any, loc: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return pydantic's path without the names of the types that it tried."""
    path: list[str | int] = []
    for index, step in enumerate(loc):
        if isinstance(data, dict) and step in data:
            data = data[str(step)]
        elif step == "[key]":  # pydantic's word for a wrong key; a file may have a key of that name
            continue
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        elif index < len(loc) - 1 or not isinstance(data, dict):
            continue
        path.append(step)
    return tuple(path)


def _diagnostic(located: Located, path: tuple[str | int, ...], details: Mapping[str, Any]) -> Diagnostic:
    kind = details["type"]
    if kind == "extra_forbidden":
        return located.diagnostic(path, "is not a key here.", did_you_mean(str(path[-1]), _keys(path[:-1])))
    if kind == "missing":
        return located.diagnostic(path, "is required.")
    if kind == "enum":
        return located.diagnostic(path, f"{shown(details['input'])} is not a split.", "Splits: train, valid, test.")
    if kind == "value_error":
        return located.diagnostic(path, f"{details['ctx']['error']}.")
    if kind == "string_type" and isinstance(details["input"], dict):
        return located.diagnostic(
            path, "must be text, not a mapping.", "Put a template that begins with '{{' in quotes."
        )
    message = details["msg"].replace("Input should be", "must be").replace("String should", "must")
    return located.diagnostic(path, f"{message}, not {shown(details['input'])}.")


def _keys(path: tuple[str | int, ...]) -> list[str]:
    """Return the keys that a mapping in the file may have."""
    model: Any = ScenarioSchema
    for step in path:
        field = model.model_fields.get(str(step)) if isinstance(model, type) and issubclass(model, BaseModel) else None
        annotation = field.annotation if field else None
        inner = [annotation, *typing.get_args(annotation)]
        model = next((part for part in inner if isinstance(part, type) and issubclass(part, BaseModel)), model)
    return list(model.model_fields)


def _kind(value: object) -> str:
    return "a list" if isinstance(value, list) else "text" if isinstance(value, str) else "a single value"
