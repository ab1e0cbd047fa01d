"""Descriptions of plugins: kind, name, and what the harness knows before it uses one."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from harness.contracts.adapters import Example
from harness.contracts.instances import Split
from harness.contracts.scales import Scale


class Kind(StrEnum):
    """The kinds of plugins."""

    SCENARIO = "scenario"
    ADAPTER = "adapter"
    METRIC = "metric"
    PERTURBATION = "perturbation"
    BACKEND = "backend"
    JUDGE = "judge"
    LISTENER = "listener"


CONTAMINATION = "contamination"
"""The category of tests of data sets, which are not results on the data."""

CATEGORIES = (
    "accuracy",
    "calibration",
    "robustness",
    "fairness",
    "bias",
    "toxicity",
    "efficiency",
    CONTAMINATION,
)
"""The categories of metrics: HELM's seven (Liang et al. 2022, section 4), and contamination."""


@dataclass(frozen=True, slots=True)
class HubSource:
    """A data set on the Hugging Face Hub."""

    path: str
    """``owner/name``."""
    revision: str
    """The commit to read; a branch or tag is refused, since it may move."""
    splits: Mapping[str, str]
    """The Hub's name of each of our splits."""
    config: str | None = None
    """The data set's configuration, if it has several. May contain ``{{ parameter }}``."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file that its authors publish at an address, and its place in the data folder."""

    url: str
    """The address, which must always give the same content, such as that of a file at a commit."""
    file: str
    """The place in the data folder. It and ``url`` may contain ``{{ parameter }}``."""
    sha256: str
    """The SHA-256 of the content, as 64 hexadecimal digits."""
    bytes: int
    """The size of the content."""


@dataclass(frozen=True, slots=True)
class CheckpointSource:
    """A checkpoint that a plugin loads: a model with its tokenizer, or a tokenizer."""

    name: str
    """A folder, or ``owner/name`` on the Hub."""
    revision: str | None = None
    """Branch, tag or commit on the Hub (default: its main branch)."""
    weights: bool = True
    """False if only configuration and tokenizer are read."""
    remote_code: bool = False
    """True if Python code that comes with the checkpoint is run."""


FindCheckpoints = Callable[..., Sequence[CheckpointSource]]
"""Returns the checkpoints that a plugin loads, from its arguments in a sweep."""


FileSpec = str | Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a scenario's data come from: the local data folder first, then the Hub, never silently anything else."""

    files: Mapping[str, FileSpec | Sequence[FileSpec]] = field(default_factory=dict)
    """For each split, one or more files in the official distribution's layout, relative to the data folder; the first
    that exists is read, and may be compressed. ``{"zip": [a, b]}`` instead of a name joins the rows of several files.
    May contain ``{{ parameter }}``.
    """
    hub: HubSource | None = None
    """The same data on the Hub."""
    sample: Mapping[str, str] = field(default_factory=dict)
    """Files that ship with the plugin, used only on request; their instances are marked as sample data."""
    downloads: Sequence[Download] = ()
    """Files that ``harness data pull`` puts into the data folder, if they are not there and there is no ``hub``."""
    url: str = ""
    """A web page with the data, for people."""
    licence: str = ""
    """The data's licence, as stated by its authors."""
    untested: bool = False
    """True if the scenario was never run on the official data, only on rows written by hand or on a stand-in."""
    gated: bool = False
    """True if terms must be accepted, on the Hub's page or at ``url``, before the data can be downloaded."""
    private: bool = False
    """True if the rows must stay private, such as the key of a sealed data set. Their texts are then left out of what
    is published, exported or sent to trackers.
    """
    columns: tuple[str, ...] = ()
    """Names of the columns of CSV and TSV files without a header; of files of lines that are joined by ``zip``, the
    name of each file's column.
    """
    format: str = ""
    """Format of the files, such as ``txt``, if their names do not end with it."""
    encoding: str = "utf-8"
    """The files' encoding."""
    anywhere: bool = False
    """True if a file may also be an absolute path, for scenarios whose files the user names."""


TAG = re.compile("[a-z0-9]+(-[a-z0-9]+)*")
"""The form of a tag: lower-case words and numbers with hyphens between them."""


def all_tags(tags: Iterable[str], task: str) -> tuple[str, ...]:
    """Return the tags by which a scenario is found, sorted: those that it declares, and the task of its taxonomy.

    A scenario that declares none, such as one of sample data, is not found by a tag.
    """
    own = set(tags)
    words = re.findall("[a-z0-9]+", task.lower())
    return tuple(sorted(own | {"-".join(words)})) if own and words else tuple(sorted(own))


OWN_PROMPT = "default"
"""Name of a scenario's own prompt, where the scenario gives it none and has others."""


@dataclass(frozen=True, slots=True)
class PromptVariant:
    """Another way to ask a scenario's questions, such as another harness's; what it leaves out is the scenario's."""

    description: str
    """How it asks, in one sentence, for ``harness show``."""
    adapter: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None
    """The whole adapter, ``{"method": …, settings}``, or a function of the scenario's parameters that returns it."""
    metrics: tuple[str, ...] = ()
    """Metrics and sets of metrics, by name."""
    main_metric: str = ""
    """The metric shown on leaderboards (default: the first of ``metrics``)."""
    eval_split: Split | None = None
    """The split to evaluate."""
    options: bool | None = None
    """True if its instances have wrong references, which multiple-choice methods need."""


@dataclass(frozen=True, slots=True)
class ScenarioDetails:
    """What the harness knows about a scenario before it reads any data."""

    title: str
    """Its name for people."""
    taxonomy: Mapping[str, str]
    """HELM's: ``task``, ``what``, ``who``, ``when``, ``language``."""
    data: Source
    """The source of the data."""
    adapter: Mapping[str, Any] | Callable[..., Mapping[str, Any]]
    """The default adapter, ``{"method": …, settings}``, or a function of the scenario's parameters that returns it."""
    metrics: tuple[str, ...]
    """Default metrics and sets of metrics, by name."""
    main_metric: str
    """The metric that represents the scenario on a leaderboard."""
    eval_split: Split = Split.TEST
    """The split to evaluate."""
    groups: tuple[str, ...] = ()
    """Keys of the instances' ``meta`` whose values define groups to compare, such as the people a text is about."""
    parts: tuple[str, ...] = ()
    """Parameters that choose one of several disjoint parts of the data, such as a subject; ``all`` is the whole."""
    options: bool = True
    """False if its instances have no wrong references: then methods of multiple choice are refused."""
    cluster: str = ""
    """Key of the instances' ``meta``: instances with equal values depend on each other, such as the questions about one
    passage; standard errors are over these clusters. Empty if instances are independent.
    """
    tags: tuple[str, ...] = ()
    """What it tests and the leaderboards that it is part of, such as ``safety`` or ``helm-lite``; see :attr:`all_tags`.
    """
    aliases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What it is called in other programs: by program, then by the name there, our arguments
    (:mod:`harness.contracts.aliases`).
    """
    file: Path | None = None
    """The YAML file that defines it, if any."""
    short: str = ""
    """Its title where there is little room; empty to use the title."""
    value_titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Titles of parameters' values, by parameter and value; other values are shown as their own words."""
    train_from_files: bool = False
    """True if all train instances come from the source's split train, so that without its files there are none."""
    prompt: str = ""
    """Name of the scenario's own prompt; empty if it has no name, and there are no others."""
    prompts: Mapping[str, PromptVariant] = field(default_factory=dict)
    """Its other prompts by name; a run chooses one by the parameter ``prompt``."""

    @property
    def all_tags(self) -> tuple[str, ...]:
        """The tags by which it is found."""
        return all_tags(self.tags, self.taxonomy.get("task", ""))

    @property
    def named_prompts(self) -> tuple[str, ...]:
        """The names by which a run can choose a prompt, the scenario's own first."""
        return (self.prompt or OWN_PROMPT, *self.prompts) if self.prompt or self.prompts else ()

    def asked(self, prompt: str) -> ScenarioDetails:
        """Return the details of a run that asks by a prompt."""
        variant = self.prompts.get(prompt)
        if variant is None:
            return self
        return replace(
            self,
            adapter=self.adapter if variant.adapter is None else variant.adapter,
            metrics=variant.metrics or self.metrics,
            main_metric=variant.main_metric or (variant.metrics[0] if variant.metrics else self.main_metric),
            eval_split=variant.eval_split or self.eval_split,
            options=self.options if variant.options is None else variant.options,
        )

    def chosen_parts(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the parameters of ``parts`` by which these arguments choose a part rather than the whole."""
        return tuple(name for name in self.parts if arguments.get(name, "all") != "all")


@dataclass(frozen=True, slots=True)
class AdapterDetails:
    """What the harness knows about an adapter."""

    metrics: tuple[str, ...] = ()
    """Metrics of the method's runs by default, the main one first; empty to use the scenario's."""
    report: str = ""
    """The command that reports on finished runs of the method, ``contamination report``; empty for the leaderboard."""
    title: str = ""
    """Its name for people; empty to make one of its identifier."""
    short: str = ""
    """Its title where there is little room; empty to use the title."""
    if_too_long: str = ""
    """What happens to a prompt that is too long for the model, for the note at the end of a sweep, without a full stop;
    empty if few-shot examples are dropped or the input is cut.
    """


@dataclass(frozen=True, slots=True)
class MetricDetails:
    """What the harness knows about a metric."""

    category: str
    """One of :data:`CATEGORIES`, or another."""
    higher_is_better: bool | None = True
    """True if higher is better, False if lower is; None for neither."""
    judges: bool = False
    """True if its constructor's first argument is a :data:`harness.JudgeFinder`."""
    models: bool = False
    """True if its constructor's first argument is a :data:`harness.judging.ModelFinder`."""
    needs_probabilities: bool = False
    """True if it needs the probability that the model gives its prediction."""
    needs_options: Literal["", "chosen", "scored"] = ""
    """``chosen`` if it needs a method that lets the model choose between options, ``scored`` if the method must also
    score each of them; empty if any method will do.
    """
    gives: tuple[str, ...] = ()
    """Names of the stats that it computes, in which ``*`` matches any text; empty if not declared."""
    scales: Mapping[str, Scale] = field(default_factory=dict)
    """The range of its scores by name, in which ``*`` matches any text; empty if not declared."""
    represents: str = ""
    """The stat that represents the whole category on a leaderboard, where several measure the same; empty for none."""
    same_as: tuple[str, ...] = ()
    """Metrics of other programs with the same definition, ``program:name``: their results are imported as its own."""
    agrees_with: tuple[str, ...] = ()
    """Metrics of other programs, ``program:name``, that are defined alike only where each answer option is scored by
    itself: other results are imported as its own if every example has the same score.
    """

    votes: Callable[[Example], Hashable | None] | None = None
    """Returns what an example answers, for the score of the most frequent of several answers; None for its prediction.
    """
    binary_samples: bool = False
    """True if a sampled answer always scores 0 or 1, although the scale allows scores between them."""
    attempts: str = ""
    """Name of the probability that one of k samples scores 1, ``*`` being k; the score of one sample is its name with
    1. Empty for the score's name followed by ``:pass@k``.
    """
    titles: Mapping[str, str] = field(default_factory=dict)
    """Names for people by the metric's own name or a stat's, in which ``*`` matches any text; a ``*`` in the title is
    replaced with that text. Those that are left out are made of the identifier.
    """
    shorts: Mapping[str, str] = field(default_factory=dict)
    """Titles where there is little room, in the same form; those that are left out are the titles."""
    checkpoints: FindCheckpoints | None = None
    """Returns the checkpoints that it loads; None if it loads none."""

    def scale_of(self, name: str) -> Scale | None:
        """Return the scale of a score; None if the metric does not declare it."""
        return next((scale for pattern, scale in self.scales.items() if fnmatchcase(name, pattern)), None)


PerturbationCategory = Literal["robustness", "fairness"]


@dataclass(frozen=True, slots=True)
class PerturbationDetails:
    """What the harness knows about a perturbation."""

    category: PerturbationCategory
    """HELM's category for the scores on its copies."""
    title: str = ""
    """Its name for people; empty to make one of its identifier."""
    short: str = ""
    """Its title where there is little room; empty to use the title."""


@dataclass(frozen=True, slots=True)
class JudgeDetails:
    """What the harness knows about a judge."""

    models: bool = False
    """True if its constructor's first argument is a :data:`harness.judging.ModelFinder`."""
    checkpoints: FindCheckpoints | None = None
    """Returns the checkpoints that it loads; None if it loads none."""


@dataclass(frozen=True, slots=True)
class BackendDetails:
    """What the harness knows about a backend."""

    needs: tuple[str, ...] = ()
    """Modules that it imports when it is used."""
    install: str = ""
    """How to install them."""
    checkpoints: FindCheckpoints | None = None
    """Returns the checkpoints that it loads, from the identifier and its parameters; None if it loads none."""
    price: Callable[[str], Any] | None = None
    """Returns the price of a model's tokens (``harness.backends.Price``) from the identifier; None if it is not known.
    Price tables take precedence.
    """


@dataclass(frozen=True, slots=True)
class ListenerDetails:
    """What the harness knows about a listener."""

    needs: tuple[str, ...] = ()
    """Modules that it imports when it is used."""
    install: str = ""
    """How to install them."""


Details = (
    ScenarioDetails
    | AdapterDetails
    | MetricDetails
    | PerturbationDetails
    | JudgeDetails
    | BackendDetails
    | ListenerDetails
)


@dataclass(frozen=True, slots=True, eq=False)
class Plugin:
    """A named, documented extension of the harness."""

    kind: Kind
    """The kind of plugin."""
    name: str
    """The name that specs use, unique within its kind."""
    target: Callable[..., Any] | None
    """The function or class that does the work; None for a set, which only lists members."""
    doc: str
    """Its docstring: one sentence first."""
    source: str
    """The paper, equation or page that defines it."""
    origin: str
    """Its place of definition, for messages: ``module.qualname (file:line)``."""
    details: Details | None = None
    """Details specific to the kind."""
    members: tuple[str, ...] = field(default=())
    """The members of a set of metrics or perturbations: names, or ``name:key=value,…`` for a member whose parameters
    differ from the defaults.
    """
    role: str = ""
    """The job for which a command of the harness looks it up, so that the command need not know its name."""

    @property
    def file(self) -> Path | None:
        """The file that defines it; None if unknown."""
        if isinstance(self.details, ScenarioDetails) and self.details.file is not None:
            return self.details.file
        module = sys.modules.get(getattr(self.target, "__module__", ""))
        file = getattr(module, "__file__", None)
        return Path(file) if file else None

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring, on one line, without code marks."""
        return " ".join(self.doc.split("\n\n")[0].split()).replace("``", "")
