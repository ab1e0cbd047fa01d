"""The keys of a sweep, of its defaults and of a run; and where in the file each error stands."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, field_validator

from harness.contracts import Split
from harness.errors import Diagnostic, KeyPath, SpecError, show_path
from harness.plugins.parameters import check_parameters
from harness.sweeps.foreign_names import key_hint
from harness.yaml_lines import Located

_Count = Annotated[int, Field(ge=1)]
_AnySplit = Annotated[Split, Field(strict=False)]
_List = list[Any] | None

# Checked when the names in them are looked up; here only their form in the JSON Schema is given.
_NameOrMapping = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]})]
_WHOLE = {"type": "integer", "minimum": 0}
_Counts = Annotated[Any, WithJsonSchema({"anyOf": [_WHOLE, {"type": "array", "items": _WHOLE, "minItems": 1}]})]


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class SweepKeys(_Keys):
    """A sweep: the runs to make, each with every model."""

    suite: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100, examples=["my-suite"])
    """Name of the sweep's folder in the results folder: letters, digits, ``.``, ``_`` and ``-``. Not ``site``, where
    the leaderboard's pages are."""

    description: str = Field("", examples=["Knowledge and reading, 5-shot."])
    """What the sweep is for."""

    plugins: list[str] | None = Field(None, examples=[["my_metrics.py", "scenarios/"]])
    """Python files, scenario files, or folders of them to load, relative to this file."""

    models: _List = Field(None, examples=[["hf:openai-community/gpt2", {"name": "hf:gpt2", "dtype": "bfloat16"}]])
    """The models, each as ``backend:identifier`` or as a mapping with a name and parameters. Every run is made with
    each of them."""

    defaults: dict[str, Any] | None = Field(None, examples=[{"max_eval_instances": 1000, "max_train_instances": 5}])
    """Settings of every run that does not set them itself."""

    runs: list[Any] = Field(examples=[["mmlu:subject=anatomy", {"scenario": "boolq", "metrics": ["accuracy"]}]])
    """The runs, each as HELM's shorthand, ``scenario:key=value,key=value``, or as a mapping."""

    @field_validator("suite")
    @classmethod
    def _leaves_the_site_its_folder(cls, suite: str) -> str:
        if suite == "site":
            raise ValueError("is the folder of the leaderboard's pages; choose another name")
        return suite


class DefaultKeys(_Keys):
    """Settings of every run that does not set them itself."""

    max_eval_instances: _Count | None = Field(None, examples=[1000])
    """Maximum number of evaluation instances in a run, before perturbation; null for all."""

    max_train_instances: _Counts = Field(None, examples=[5])
    """Number of few-shot examples in a prompt, for methods that use examples. A list makes a run for each number."""

    train_trials: _Counts = Field(None, examples=[3])
    """Number of times the evaluation is repeated, each time with other few-shot examples, for methods that use
    examples."""

    eval_split: _AnySplit | None = Field(None, examples=["test"])
    """Split to evaluate (default: the scenario's)."""

    max_declined: Annotated[float, Field(strict=False)] = Field(0.1, ge=0, le=1, examples=[0.5])
    """Largest share of examples, from 0 to 1, that the model or its provider may decline before the run fails."""

    instance_seed: int = Field(0, ge=0, lt=2**63, examples=[1])
    """Seed that chooses the evaluated instances and their perturbed copies. Separate from ``seed``, so that runs with
    different seeds evaluate the same instances."""

    seed: int = Field(0, ge=0, lt=2**63, examples=[1])
    """Seed of everything else that is random in a run: few-shot examples, and sampling from the model."""

    adapter: _NameOrMapping = Field(None, examples=["generation", {"method": "generation", "max_tokens": 5}])
    """The adaptation method, its settings, or both. Settings without a method change the scenario's default adapter."""

    perturbations: list[Any] = Field([], examples=[["robustness", {"name": "typos", "prob": 0.1}]])
    """Perturbations and sets of perturbations. The model is asked about each perturbed copy of an instance as well."""

    metrics: list[Any] = Field([], examples=[["accuracy", "calibration"]])
    """Metrics and sets of metrics (default: the scenario's)."""


class RunKeys(DefaultKeys):
    """One entry of a sweep: one run or, where lists fan out, several."""

    scenario: _NameOrMapping = Field(examples=["boolq", {"name": "mmlu", "subject": ["anatomy", "virology"]}])
    """The scenario: a name, HELM's shorthand, the path of a scenario file, or a mapping with a name and parameters. A
    list as a parameter makes a run for each value; ``all`` stands for all values."""

    main_metric: str | None = Field(None, examples=["exact_match"])
    """The metric shown on leaderboards (default: the scenario's)."""

    groups: list[str] | None = Field(None, examples=[["gender"]])
    """Keys of the instances' ``meta`` whose values are groups to compare (default: the scenario's)."""

    model: _NameOrMapping = Field(None, examples=["hf:openai-community/gpt2"])
    """The model of this entry, instead of the sweep's models."""

    models: _List = Field(None, examples=[["hf:openai-community/gpt2"]])
    """The models of this entry, instead of the sweep's models."""


K = TypeVar("K", bound=_Keys)


@dataclass
class Diagnostics:
    """Every error of one sweep, and every warning, each once and with its place."""

    document: Located | None
    """The file; None when all of it came from the command line."""
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What was given on the command line, by option; a path such as ``("--model", 0)`` leads there."""
    _found: dict[Diagnostic, None] = field(default_factory=dict)
    _warned: dict[Diagnostic, None] = field(default_factory=dict)

    def warn(self, path: KeyPath, message: str, hint: str = "") -> None:
        """Note something that is allowed but that the user should know."""
        self._warned[self._place(path, message, hint)] = None

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings, in the order of their lines."""
        return tuple(sorted(self._warned, key=lambda warning: warning.line or 0))

    def add(self, path: KeyPath, message: str, hint: str = "") -> None:
        """Note an error."""
        self.extend([self._place(path, message, hint)])

    @property
    def count(self) -> int:
        """How many errors there are so far."""
        return len(self._found)

    def extend(self, found: Sequence[Diagnostic]) -> None:
        """Note errors that already have a place."""
        self._found.update(dict.fromkeys(found))

    def where(self, path: KeyPath) -> str:
        """Return a place as text, for a message about another place."""
        diagnostic = self._place(path, "", "")
        return diagnostic.path if diagnostic.line is None else f"{diagnostic.path} on line {diagnostic.line}"

    def raise_any(self) -> None:
        """Raise what was found, in the order of the lines, if anything was.

        Raises:
            SpecError: There is an error.
        """
        if self._found:
            raise SpecError(sorted(self._found, key=lambda diagnostic: diagnostic.line or 0))

    def _place(self, path: KeyPath, message: str, hint: str) -> Diagnostic:
        if path and str(path[0]).startswith("--") and not self._written(path[0]):
            return Diagnostic((self._shown_option(path),), message, hint, "command line")
        if self.document is None:
            return Diagnostic(path, message, hint, "command line")
        return self.document.diagnostic(path, message, hint)

    def _written(self, key: str | int) -> bool:
        """Return whether the file itself has a key that looks like an option."""
        return self.document is not None and isinstance(self.document.data, Mapping) and key in self.document.data

    def _shown_option(self, path: KeyPath) -> str:
        option, rest = str(path[0]), path[1:]
        if rest and isinstance(rest[0], int):
            option, rest = f"{option} {shlex.quote(self.options[option][rest[0]])}", rest[1:]
        return f"{option} [{show_path(rest)}]" if rest else option


def read_keys(kind: type[K], value: Mapping[str, Any], path: KeyPath, diagnostics: Diagnostics) -> K | None:
    """Return the keys of a sweep, its defaults or a run, and note every error.

    Wrong keys are returned as if they were not there, so that what stands in the others is checked as well; None if
    nothing can be said without them.
    """
    keys, found = check_parameters(kind, value, noun="key")
    for diagnostic in found:
        message = diagnostic.message
        if diagnostic.keys == ("suite",) and "pattern" in message:
            message = "is used as a folder's name: letters, digits, '.', '_' and '-', first a letter or digit."
        hint = diagnostic.hint
        if message.startswith("is not a key"):
            hint = key_hint(str(diagnostic.keys[-1]), list(kind.model_fields)) or hint
        written = value.get(str(diagnostic.keys[0])) if len(diagnostic.keys) == 1 else None
        if "valid list" in message and isinstance(written, str):
            hint = f"Write [{written}]."
        diagnostics.add((*path, *diagnostic.keys), message, hint)
    if found:
        wrong = {str(diagnostic.keys[0]) for diagnostic in found if diagnostic.keys}
        keys, _ = check_parameters(kind, {key: item for key, item in value.items() if key not in wrong})
    return keys if isinstance(keys, kind) else None


@dataclass(frozen=True, slots=True)
class Setting:
    """One argument as it was written."""

    value: Any
    """Its value."""
    path: KeyPath
    """Where it stands."""
    text: bool = False
    """Whether it is text of a shorthand, which may stand for a number."""
    origin: str = ""
    """Whose setting it is if the file does not hold it, for messages: ``scenario 'boolq'``."""


@dataclass(frozen=True, slots=True)
class Written:
    """A component as it was written: a name, its arguments, and where they stand."""

    name: str
    """Its name."""
    arguments: Mapping[str, Setting]
    """Its arguments."""
    path: KeyPath
    """Where it stands."""
    key: str = ""
    """The key of the name, where it is written as a mapping."""
    origin: str = ""
    """Who wrote it, if not the file, for messages."""

    @property
    def name_path(self) -> KeyPath:
        """Where the name stands."""
        return (*self.path, self.key) if self.key else self.path


def read_component(
    value: Any,
    path: KeyPath,
    diagnostics: Diagnostics,
    *,
    key: str = "name",
    nameless: bool = False,
    parse: Callable[[str], tuple[str, Mapping[str, str]]],
    origin: str = "",
) -> Written | None:
    """Return a component that is written as text or as a mapping; None, and an error noted, if it is neither.

    Args:
        value: What was written.
        path: Where it stands.
        diagnostics: Takes errors.
        key: The mapping's key that holds the name: ``name``, or ``method`` for an adapter.
        nameless: Whether a mapping may lack the name, which is then empty.
        parse: Splits text into name and arguments; its ValueError is an error.
        origin: Who wrote it, if not the file.
    """
    if isinstance(value, str):
        try:
            name, arguments = parse(value)
        except ValueError as error:
            diagnostics.add(path, str(error))
            return None
        settings = {k: Setting(v, (*path, k), text=True, origin=origin) for k, v in arguments.items()}
        return Written(name, settings, path, origin=origin)
    if not isinstance(value, Mapping):
        diagnostics.add(path, f"is a name, or a mapping with `{key}`, not {shown(value)}.")
        return None
    named = value.get(key, "" if nameless else None)
    if not isinstance(named, str) or (not named and key in value):
        message = f"`{key}` is required." if key not in value else f"is a name, not {shown(named)}."
        diagnostics.add((*path, key), message, absence_hint(key, value))
        return None
    settings = {k: Setting(v, (*path, k), origin=origin) for k, v in value.items() if k != key}
    return Written(named, settings, path, key if key in value else "", origin)


def shown(value: object) -> str:
    """Return a value as it is shown in a message: short, whatever it is."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def absence_hint(missing: str, value: Mapping[str, Any]) -> str:
    """Return what a mapping that lacks a key may have meant: a mistyped key, a shorthand with a space in it; or ''."""
    near = difflib.get_close_matches(missing, value, n=1, cutoff=0.7)
    if near:
        return f"Did you mean {missing!r} by {near[0]!r}?"
    if len(value) == 1:
        ((key, inner),) = value.items()
        if isinstance(inner, str | int | float) and key:
            return f"Did you mean '{key}:{inner}', without a space after the colon?"
    return ""
