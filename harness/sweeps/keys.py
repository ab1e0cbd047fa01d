"""The keys of a sweep, of its defaults and of a run; and where in the file each error stands."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from harness.contracts import Split
from harness.errors import Diagnostic, SpecError
from harness.plugins.parameters import check_parameters
from harness.sweeps.foreign_names import key_hint
from harness.yaml_lines import Located, show_path

KeyPath = tuple[str | int, ...]

_Count = Annotated[int, Field(ge=1)]
_AnySplit = Annotated[Split, Field(strict=False)]


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class SweepKeys(_Keys):
    """A sweep: many runs, written down as scenarios × models."""

    suite: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)
    """Name of the folder of results: letters, digits, '.', '_' and '-'; not ``site``, where the leaderboard's lie."""

    description: str = ""
    """What the sweep is for."""

    plugins: list[str] | None = None
    """Python files, scenario files or folders of them, relative to this file."""

    models: list[Any] | None = None
    """Every run is made with each of these: backend:identifier, or a mapping with a name and parameters."""

    @field_validator("suite")
    @classmethod
    def _leaves_the_site_its_folder(cls, suite: str) -> str:
        if suite == "site":
            raise ValueError("is the folder of the leaderboard's pages; name the suite otherwise")
        return suite

    defaults: dict[str, Any] | None = None
    """Settings of every run that does not say otherwise."""

    runs: list[Any]
    """The runs: HELM's shorthand, or a mapping with a scenario."""


class DefaultKeys(_Keys):
    """Settings of every run that does not say otherwise."""

    max_eval_instances: _Count | None = None
    """Most evaluation instances of a run, before perturbation; null for all."""

    max_train_instances: Any = None
    """Few-shot examples in a prompt, where the method has such a setting."""

    train_trials: Any = None
    """How often the evaluation is repeated with other few-shot examples, where the method has such a setting."""

    eval_split: _AnySplit | None = None
    """The split that is evaluated; the scenario's own without it."""

    max_declined: Annotated[float, Field(strict=False)] = Field(default=0.1, ge=0, le=1)
    """Largest share of examples, from 0 to 1, that the model or its provider may decline before the run fails."""

    instance_seed: int = Field(default=0, ge=0, lt=2**63)
    """Chooses the evaluated instances and their perturbed copies, so that they are the same for every `seed`."""

    seed: int = Field(default=0, ge=0, lt=2**63)
    """Seeds everything else that is random in a run: few-shot examples, and sampling from the model."""

    adapter: Any = None
    """A method, or settings that apply to every method which has them."""

    perturbations: list[Any] = Field(default_factory=list)
    """Perturbations and sets of them: changed copies of each instance that are asked as well."""

    metrics: list[Any] = Field(default_factory=list)
    """Metrics and sets of them; the scenario's own without it."""


class RunKeys(DefaultKeys):
    """One entry of a sweep, which becomes one run or, where lists fan out, several."""

    scenario: Any
    """A scenario's name, HELM's shorthand, the path of a scenario file, or a mapping with a name and parameters."""

    main_metric: str | None = None
    """The metric that stands for the run on a leaderboard; the scenario's own without it."""

    groups: list[str] | None = None
    """Keys of the instances' ``meta`` whose values are groups that are compared; the scenario's own without it."""

    model: Any = None
    """The model of this entry, instead of the sweep's models."""

    models: list[Any] | None = None
    """The models of this entry, instead of the sweep's."""


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
            return Diagnostic("command line", None, self._shown_option(path), message, hint)
        if self.document is None:
            return Diagnostic("command line", None, show_path(path), message, hint)
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
        if diagnostic.path == ("suite",) and "pattern" in message:
            message = "is used as a folder's name: letters, digits, '.', '_' and '-', first a letter or digit."
        hint = diagnostic.hint
        if message.startswith("is not a key"):
            hint = key_hint(str(diagnostic.path[-1]), list(kind.model_fields)) or hint
        written = value.get(str(diagnostic.path[0])) if len(diagnostic.path) == 1 else None
        if "valid list" in message and isinstance(written, str):
            hint = f"Write [{written}]."
        diagnostics.add((*path, *diagnostic.path), message, hint)
    if found:
        wrong = {str(diagnostic.path[0]) for diagnostic in found if diagnostic.path}
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
