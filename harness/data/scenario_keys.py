"""The keys of a scenario file, each with its type, default, description and an example; and checks of a file."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from harness.contracts import Split
from harness.contracts.aliases import read_alias
from harness.contracts.plugins import OWN_PROMPT, TAG
from harness.errors import Diagnostic, did_you_mean, shown
from harness.validation import explain
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
        raise ValueError(f"{name!r} is not an encoding; try utf-8 or latin-1") from None
    return name


def _commit(revision: str) -> str:
    if not re.fullmatch("[0-9a-f]{40}", revision):
        raise ValueError("must be a commit, 40 hexadecimal digits; a branch or tag may move and change results")
    return revision


def _address(url: str) -> str:
    if not re.match("https?://", url):
        raise ValueError("must be an address that begins with https:// or http://")
    return url


def _digest(sha256: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise ValueError("must be a SHA-256, 64 hexadecimal digits; `sha256sum FILE` prints that of a file")
    return sha256


def _name(name: str) -> str:
    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise ValueError(
            f"{name!r} is not a valid name: use letters, digits, '_', '-' and '.', beginning with a letter or digit"
        )
    return name


_Text = {"type": "string"}
_FILE = {"anyOf": [_Text, {"type": "object", "properties": {"zip": {"type": "array", "items": _Text}}}]}
_Files = Annotated[
    Any, BeforeValidator(_files), WithJsonSchema({"anyOf": [*_FILE["anyOf"], {"type": "array", "items": _FILE}]})
]
_Texts = Annotated[str | list[str] | None, BeforeValidator(_text_or_texts)]


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True, defer_build=True)


class TaxonomyKeys(_Keys):
    """The scenario's place in HELM's taxonomy (Liang et al. 2022, section 3)."""

    task: str = Field("", examples=["question answering"])
    """The task."""

    what: str = Field("", examples=["Wikipedia passages"])
    """Kind of text."""

    who: str = Field("", examples=["web users"])
    """Who wrote the text."""

    when: str = Field("", examples=["2010s"])
    """When it was written."""

    language: str = Field("", examples=["English"])
    """Its language. Metrics that have a parameter ``language`` use it."""


class HubKeys(_Keys):
    """A data set on the Hugging Face Hub."""

    path: str = Field(min_length=1, examples=["google/boolq"])
    """The data set, ``owner/name``."""

    revision: Annotated[str, AfterValidator(_commit)] = Field(examples=["35b264d03638db9f4ce671b711558bf7ff0f80d5"])
    """The commit, as 40 hexadecimal digits; a branch or tag is refused, since it may move."""

    config: str | None = Field(None, examples=["main"])
    """The data set's configuration, if it has several. May contain ``{{ parameter }}``."""

    splits: dict[Split, str] = Field(min_length=1, examples=[{"train": "train", "valid": "validation"}])
    """For each of the splits ``train``, ``valid`` and ``test``, the name of the Hub's split."""


class DownloadKeys(_Keys):
    """A file that ``harness data pull`` puts into the data folder."""

    url: Annotated[str, AfterValidator(_address)] = Field(
        examples=["https://raw.githubusercontent.com/rudinger/winogender-schemas/1c7f8b48/data/all_sentences.tsv"]
    )
    """The address. It must always give the same content, such as that of a file at a commit."""

    file: str = Field(min_length=1, examples=["winogender/all_sentences.tsv"])
    """The place in the data folder. ``url`` and ``file`` may contain ``{{ parameter }}``."""

    sha256: Annotated[str, AfterValidator(_digest)] = Field(
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"]
    )
    """The SHA-256 of the content, 64 hexadecimal digits; other content is refused."""

    bytes: int = Field(gt=0, examples=[83644])
    """The size of the content."""


class SourceKeys(_Keys):
    """Where the rows come from: at least one of ``files``, ``hub`` and ``sample``."""

    files: dict[Split, _Files] = Field({}, examples=[{"train": "boolq/train.jsonl", "valid": "boolq/dev.jsonl"}])
    """Files of each split, relative to the data folder (or, with ``./``, to this file). A list names alternatives, of
    which the first that exists is read; ``{zip: [a, b]}`` joins the columns of two files row by row. May contain
    ``{{ parameter }}``."""

    hub: HubKeys | None = Field(
        None,
        examples=[
            {
                "path": "google/boolq",
                "revision": "35b264d03638db9f4ce671b711558bf7ff0f80d5",
                "splits": {"train": "train", "valid": "validation"},
            }
        ],
    )
    """The same data on the Hugging Face Hub, read if the files are not in the data folder."""

    sample: dict[Split, str] = Field({}, examples=[{"test": "samples/reading.jsonl"}])
    """Sample files that ship with the scenario file, for scenarios without real data. Results are marked as sample."""

    downloads: list[DownloadKeys] = Field(
        [],
        examples=[
            [
                {
                    "url": "https://raw.githubusercontent.com/owner/name/0123abcd/dev.jsonl",
                    "file": "quiz/dev.jsonl",
                    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                    "bytes": 4,
                }
            ]
        ],
    )
    """Where the files can be downloaded, for ``harness data pull``, if the data are not on the Hub."""

    url: str = Field("", examples=["https://github.com/google-research-datasets/boolean-questions"])
    """Web page of the data set, shown when the data are missing."""

    licence: str = Field("", examples=["CC BY-SA 3.0"])
    """Licence of the data, as their authors state it."""

    untested: bool = Field(False, examples=[True])
    """True if the scenario was never run on the official data, only on rows written by hand in their layout:
    ``harness show`` and the reference say so."""

    gated: bool = Field(False, examples=[True])
    """True if terms must be accepted, on the Hub's page or at ``url``, before the data can be downloaded."""

    columns: list[str] = Field([], examples=[["question", "answer"]])
    """Column names, for CSV and TSV files without a header; for files of lines that are joined by ``zip``, one name for
    each file."""

    format: Literal["", "jsonl", "json", "csv", "tsv", "txt"] = Field("", examples=["txt"])
    """Format of the files if their names do not end with it: ``txt`` for ``train.en``."""

    encoding: Annotated[str, AfterValidator(_known_encoding)] = Field("utf-8", examples=["latin-1"])
    """Text encoding of the files."""

    @property
    def splits(self) -> frozenset[Split]:
        """The splits that any of the sources has."""
        return frozenset([*self.files, *self.sample, *(self.hub.splits if self.hub else ())])

    @model_validator(mode="after")
    def _somewhere(self) -> SourceKeys:
        if not self.splits:
            raise ValueError("must have files, hub or sample: the data have to come from somewhere")
        return self


class ParameterKeys(_Keys):
    """One parameter of a scenario."""

    choices: list[str | int] = Field([], examples=[["anatomy", "virology"]])
    """The allowed values. Empty: any value of the type."""

    default: str | int | float | bool | None = Field(None, examples=["anatomy"])
    """Value when a sweep gives none. A parameter without a default is required."""

    description: str = Field("", examples=["The subject of the examination."])
    """What the parameter means, for ``harness show``."""

    titles: dict[str, str] = Field({}, examples=[{"us_history": "US history"}])
    """Titles of values for tables and pages. Others are shown as their own words: `college_biology` as
    "college biology"."""

    type: Literal["str", "int", "float", "bool"] = Field("str", examples=["int"])
    """Type of the value, if there are no choices."""

    @property
    def python_type(self) -> Any:
        """The type as Python's."""
        return {"str": str, "int": int, "float": float, "bool": bool}[self.type]

    @field_validator("titles")
    @classmethod
    def _titles_are_of_choices(cls, titles: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        choices = [str(choice) for choice in info.data.get("choices", ())]
        for value in titles if choices else ():
            if value not in choices:
                near = did_you_mean(value, choices).rstrip(".")
                raise ValueError(f"names {value!r}, which is not one of the choices. {near}")
        return titles

    @model_validator(mode="after")
    def _default_is_possible(self) -> ParameterKeys:
        default = self.default
        if default is None:
            return self
        if self.choices and default not in self.choices:
            raise ValueError(f"has the default {default!r}, which is not one of its choices")
        if not self.choices and type(default) is not self.python_type and (self.type, type(default)) != ("float", int):
            raise ValueError(f"has the default {default!r}, which is not of type {self.type}; set `type`")
        return self


def _parameter_name(name: str) -> str:
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or hasattr(BaseModel, name):
        raise ValueError(
            "is not a valid parameter name: use lower-case letters, digits and '_', but not a Python keyword"
        )
    return name


def _tag(tag: str) -> str:
    if not TAG.fullmatch(tag):
        raise ValueError(f"{tag!r} is not a tag: write lower-case words with hyphens, such as 'long-context'")
    return tag


def _aliases(names: dict[str, str]) -> dict[str, str]:
    for pattern, means in names.items():
        read_alias("", pattern, means)
    return names


def _adapter(value: Any) -> Any:
    settings = {"method": value} if isinstance(value, str) else value
    if not isinstance(settings, dict) or not isinstance(settings.get("method"), str):
        raise ValueError("must be a method's name, or a mapping with the key method and settings")
    return settings


_ANSWERS = ("references", "correct", "correct_index")
"""The keys that say which answers there are; a prompt that has one of them replaces all."""

_AdapterKeys = Annotated[
    dict[str, Any], BeforeValidator(_adapter), WithJsonSchema({"anyOf": [_Text, {"type": "object"}]})
]


class PromptKeys(_Keys):
    """Another prompt of a scenario: what changes. A key that is left out is as in the scenario."""

    description: str = Field(min_length=1, examples=["As task ``boolq`` of lm-evaluation-harness 0.4.13."])
    """How it asks, in one sentence."""

    adapter: _AdapterKeys | None = Field(None, examples=[{"method": "multiple_choice_separate_original"}])
    """The whole adapter, ``method`` and its settings; nothing of the scenario's remains."""

    metrics: list[str] = Field([], examples=[["multiple_choice_accuracy", "efficiency"]])
    """The metrics and sets of metrics."""

    main_metric: str = Field("", examples=["multiple_choice_accuracy"])
    """The metric shown on leaderboards (default: the first of ``metrics``)."""

    eval_split: Split | None = Field(None, examples=["valid"])
    """The split that is evaluated."""

    input: str = Field("", examples=["{{ passage }}\nQuestion: {{ question }}?"])
    """Template of the instance's input."""

    references: _Texts = Field(None, examples=[["no", "yes"]])
    """Templates of the references, or one ``{{ expression }}``. With ``references``, ``correct`` or ``correct_index``,
    none of the scenario's three remains."""

    correct: str | None = Field(None, examples=["{{ 'yes' if answer else 'no' }}"])
    """Template of the correct reference's text, or an expression that yields several texts."""

    correct_index: str | int | list[int] | None = Field(None, examples=["{{ answer | int }}"])
    """Instead of ``correct``: the correct reference's position, counted from 0."""

    meta: dict[str, Any] | None = Field(None, examples=[{"subject": "{{ subject }}"}])
    """Further data of each instance; none of the scenario's remains."""

    filter: str | None = Field(None, examples=["{{ language == 'en' }}"])
    """Expression; rows for which it is false are left out."""

    examples: list[dict[str, Any]] | None = Field(None, examples=[[{"question": "2 + 2?", "answer": "4"}]])
    """Rows that are the train split instead of the source's."""


def asked_by(data: dict[str, Any], prompt: str) -> dict[str, Any]:
    """Return the keys of a scenario file whose own prompt would be another of its prompts."""
    changes = {key: value for key, value in data["prompts"][prompt].items() if key != "description"}
    replaced = {"prompt", "prompts"}
    if changes.keys() & set(_ANSWERS):
        replaced |= set(_ANSWERS)
    if "metrics" in changes:
        replaced.add("main_metric")
    return {**{key: value for key, value in data.items() if key not in replaced}, **changes}


class ScenarioKeys(_Keys):
    """A scenario file: how each row of a data set becomes an instance."""

    name: Annotated[str, AfterValidator(_name)] = Field(examples=["boolq"])
    """The name used in sweeps: letters, digits, ``_``, ``-`` and ``.``."""

    title: str = Field("", examples=["BoolQ"])
    """The name shown on leaderboards (default: ``name``)."""

    short: str = Field("", examples=["BoolQ"])
    """The title where there is little room, such as a column of a leaderboard (default: ``title``)."""

    description: str = Field(min_length=1, examples=["Yes/no questions about a Wikipedia passage."])
    """What the scenario measures. Lists show the first sentence."""

    citation: str = Field("", examples=["Clark et al. 2019 (arXiv:1905.10044)"])
    """The paper that introduced the data: authors, year, arXiv number."""

    taxonomy: TaxonomyKeys = Field(
        TaxonomyKeys(), examples=[{"task": "question answering", "what": "Wikipedia passages", "language": "English"}]
    )
    """The scenario's place in HELM's taxonomy."""

    tags: list[Annotated[str, AfterValidator(_tag)]] = Field([], examples=[["reading", "helm-lite"]])
    """What the scenario tests, and the leaderboards that it is part of: ``tag:reading`` runs it. The task of the
    taxonomy need not be repeated: it is a tag, too, as ``question-answering``."""

    aliases: dict[str, Annotated[dict[str, str], AfterValidator(_aliases)]] = Field(
        {}, examples=[{"lm_eval": {"mmlu_{subject}": ""}, "helm": {"wmt_14:language_pair={source}-en": ""}}]
    )
    """What other programs call the scenario: by program, their names, each with our arguments (``subset=easy``).
    ``{parameter}`` is replaced by the parameter's value, ``*`` is any text. The error for such a name suggests ours. If
    the scenario has a prompt named after the program, that is chosen, too; ``prompt=`` keeps the scenario's own."""

    source: SourceKeys = Field(examples=[{"files": {"train": "boolq/train.jsonl", "valid": "boolq/dev.jsonl"}}])
    """Where the rows come from."""

    parameters: dict[Annotated[str, AfterValidator(_parameter_name)], ParameterKeys] = Field(
        {}, examples=[{"subject": {"choices": ["anatomy", "virology"]}}]
    )
    """What a sweep may choose, by name. Templates use a parameter as ``{{ subject }}``."""

    id: str = Field("", examples=["{{ id }}"])
    """Template of the instance's id, unique within the scenario (default: split and row number)."""

    input: str = Field(examples=["{{ passage }}\nQuestion: {{ question }}?"])
    """Template of the instance's input."""

    published: str = Field("", examples=["{{ question }} {{ answer }}"])
    """Template of the example as its authors published it, with its answer, for tests of contamination (default: the
    record's own text)."""

    references: _Texts = Field(None, examples=[["Yes", "No"]])
    """Templates of the references, or one ``{{ expression }}`` that yields a list."""

    correct: str | None = Field(None, examples=["{{ 'Yes' if answer else 'No' }}"])
    """Template of the correct reference's text, or an expression that yields several texts. Without ``references``,
    these are the references."""

    correct_index: str | int | list[int] | None = Field(None, examples=["{{ label }}"])
    """Instead of ``correct``: the correct reference's position, counted from 0, or an expression that yields one or
    several."""

    meta: dict[str, Any] = Field({}, examples=[{"gender": "{{ speaker.gender }}"}])
    """Further data of each instance, for metrics and groups: names with templates, expressions or plain values."""

    filter: str | None = Field(None, examples=["{{ language == 'en' }}"])
    """Expression; rows for which it is false are left out. Besides the row's columns it can use ``split`` and
    ``number``, the row's number in its file."""

    cluster: str = Field("", examples=["{{ passage_id }}"])
    """Template that has the same value for instances which depend on each other, such as the questions about one
    passage; standard errors are over these clusters. It is kept as ``meta.cluster``, a long text as a digest."""

    adapter: _AdapterKeys = Field(
        examples=[{"method": "generation", "input_noun": "Passage", "output_noun": "Answer", "max_tokens": 5}]
    )
    """The default adapter: ``method`` and its settings. May contain ``{{ parameter }}``."""

    metrics: list[str] = Field(min_length=1, examples=[["accuracy", "calibration", "efficiency"]])
    """The default metrics and sets of metrics."""

    main_metric: str = Field("", examples=["exact_match"])
    """The metric shown on leaderboards (default: the first of ``metrics``); of a set, its first metric."""

    eval_split: Split = Field(Split.TEST, examples=["valid"])
    """The split that is evaluated."""

    groups: list[str] = Field([], examples=[["gender"]])
    """Keys of ``meta`` whose values are groups of instances; scores are compared between groups."""

    parts: list[str] = Field([], examples=[["subject"]])
    """Parameters that choose one of several disjoint parts of the data, such as a subject. Runs of different parts
    share a column of the leaderboard; other parameters get a column for each value."""

    examples: list[dict[str, Any]] | None = Field(None, examples=[[{"question": "2 + 2?", "answer": "4"}]])
    """Rows that are the train split instead of the source's, for examples that belong to the prompt. ``filter`` does
    not apply to them."""

    prompt: Annotated[str, AfterValidator(_name)] = Field("", examples=["helm"])
    """Name of the prompt that the keys above describe, which runs have unless they choose another (default: ``default``
    where there are others)."""

    prompts: dict[Annotated[str, AfterValidator(_name)], PromptKeys] = Field(
        {},
        examples=[
            {
                "lm_eval": {
                    "description": "As task ``boolq`` of lm-evaluation-harness 0.4.13.",
                    "adapter": {"method": "multiple_choice_separate_original", "max_train_instances": 0},
                    "metrics": ["multiple_choice_accuracy", "efficiency"],
                }
            }
        ],
    )
    """Other prompts by name, each with what changes. A run chooses one by ``prompt: NAME``."""

    @model_validator(mode="after")
    def _prompts_have_names_of_their_own(self) -> ScenarioKeys:
        if (own := self.prompt or OWN_PROMPT) in self.prompts:
            raise ValueError(f"has {own!r} under prompts, which is the name of its own prompt (key prompt)")
        if (self.prompt or self.prompts) and "prompt" in self.parameters:
            raise ValueError("has both prompts and a parameter named 'prompt', by which a run chooses one of them")
        return self

    @model_validator(mode="after")
    def _answers_are_complete(self) -> ScenarioKeys:
        if self.correct is not None and self.correct_index is not None:
            raise ValueError("has both correct and correct_index; one of them says which reference is right")
        if self.correct_index is not None and self.references is None:
            raise ValueError("has correct_index but no references that it could count")
        if self.references is not None and self.correct is None and self.correct_index is None:
            raise ValueError("has references, but neither correct nor correct_index says which is right")
        if self.cluster and "cluster" in self.meta:
            raise ValueError(
                "has both cluster and the key 'cluster' in meta; rename the key, since the cluster is kept there"
            )
        for key in self.groups:
            if key not in self.meta:
                hint = did_you_mean(key, self.meta).rstrip(".")
                raise ValueError(f"has the group {key!r}, which is not a key of meta{'. ' if hint else ''}{hint}")
        for name in self.parts:
            if name not in self.parameters:
                hint = did_you_mean(name, self.parameters).rstrip(".")
                raise ValueError(
                    f"has the part {name!r}, which is not one of its parameters{'. ' if hint else ''}{hint}"
                )
        if self.eval_split not in self.source.splits:
            have = ", ".join(sorted(self.source.splits))
            raise ValueError(f"has eval_split {self.eval_split}, which its source does not have. It has: {have}")
        return self


def check_scenario(located: Located) -> Iterator[Diagnostic]:
    """Yield every error in a scenario file's keys and values; templates are not looked at."""
    data = located.data
    if not isinstance(data, dict):
        what = "is empty" if data is None else f"is {shown(data)}"
        yield located.diagnostic((), f"{what}; a scenario file is a mapping with the keys name, description, source, …")
        return
    try:
        ScenarioKeys.model_validate(data)
    except ValidationError as error:
        for found in explain(error, ScenarioKeys, data):
            yield located.diagnostic(found.keys, found.message, found.hint)
        return
    for name in data.get("prompts", {}):
        asked = asked_by(data, name)
        try:
            ScenarioKeys.model_validate(asked)
        except ValidationError as error:
            for found in explain(error, ScenarioKeys, asked):
                yield located.diagnostic(("prompts", name, *found.keys), found.message, found.hint)
