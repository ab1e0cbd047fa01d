"""What a plugin is: its kind, its name, and what the harness knows of it before it is used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

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


CATEGORIES = (
    "accuracy",
    "calibration",
    "robustness",
    "fairness",
    "bias",
    "toxicity",
    "efficiency",
    "contamination",
)
"""The categories of metrics: HELM's seven (Liang et al. 2022, section 4), and contamination."""


@dataclass(frozen=True, slots=True)
class HubSource:
    """A data set on the Hugging Face Hub.

    Attributes:
        path: ``owner/name``.
        revision: The commit that is read; a branch or tag is refused, since it may move.
        config: The data set's configuration, where it has several. May hold ``{{ parameter }}``.
        splits: The Hub's split for each of ours.
    """

    path: str
    revision: str
    splits: Mapping[str, str]
    config: str | None = None


FileSpec = str | Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a scenario's data come from: the local data folder first, then the Hub, and never silently anything else.

    Attributes:
        files: For each split one or more files in the official distribution's layout, relative to the data folder;
            the first that exists is read, and may be compressed. ``{"zip": [a, b]}`` in place of a name stands for
            files whose rows belong together, side by side. May hold ``{{ parameter }}``.
        hub: The same data on the Hub.
        sample: Files that ship with the plugin instead; what they yield is marked as sample data.
        url: Where a person finds the data.
        licence: The data's licence, as its authors state it.
        columns: Names of the columns of CSV and TSV files without a header.
        encoding: The files' encoding.
        anywhere: Whether a file may also be an absolute path, for scenarios whose files the user names.
    """

    files: Mapping[str, FileSpec | Sequence[FileSpec]] = field(default_factory=dict)
    hub: HubSource | None = None
    sample: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    licence: str = ""
    columns: tuple[str, ...] = ()
    encoding: str = "utf-8"
    anywhere: bool = False


@dataclass(frozen=True, slots=True)
class ScenarioDetails:
    """What the harness knows of a scenario before it reads any data.

    Attributes:
        title: Its name for people.
        taxonomy: HELM's: ``task``, ``what``, ``who``, ``when``, ``language``.
        data: Where the data come from.
        adapter: The default adapter, ``{"method": …, settings}``; or a function of the scenario's parameters.
        metrics: Default metrics and sets of metrics, by name.
        main_metric: The metric that stands for the scenario on a leaderboard.
        eval_split: The split that is evaluated.
        groups: Keys of the instances' ``meta`` by whose values scores are compared, such as the people a text is about.
        file: The YAML file that defines it, where one does.
    """

    title: str
    taxonomy: Mapping[str, str]
    data: Source
    adapter: Mapping[str, Any] | Callable[..., Mapping[str, Any]]
    metrics: tuple[str, ...]
    main_metric: str
    eval_split: Split = Split.TEST
    groups: tuple[str, ...] = ()
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class AdapterDetails:
    """What only adapters have.

    Attributes:
        metrics: What a run of the method measures unless it says otherwise, the main metric first; empty for what the
            scenario measures.
    """

    metrics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricDetails:
    """What the harness knows of a metric.

    Attributes:
        category: One of Liang et al.'s seven, or another.
        higher_is_better: Which way is better; None: neither.
        judges: Whether its constructor takes, first, a function that finds judges (:class:`harness.JudgeFinder`).
        gives: Names of the stats that it computes; ``*`` matches any text. Empty if not declared.
        scales: The range of its scores, by name; ``*`` matches any text. Empty if not declared.
    """

    category: str
    higher_is_better: bool | None = True
    judges: bool = False
    gives: tuple[str, ...] = ()
    scales: Mapping[str, Scale] = field(default_factory=dict)

    def scale_of(self, name: str) -> Scale | None:
        """Return the scale of a score; None if the metric does not declare it."""
        return next((scale for pattern, scale in self.scales.items() if fnmatchcase(name, pattern)), None)


PerturbationCategory = Literal["robustness", "fairness"]


@dataclass(frozen=True, slots=True)
class PerturbationDetails:
    """What the harness knows of a perturbation: which of HELM's categories the scores on its copies belong to."""

    category: PerturbationCategory


@dataclass(frozen=True, slots=True)
class JudgeDetails:
    """What the harness knows of a judge: whether its constructor takes, first, a :data:`harness.ModelFinder`."""

    models: bool = False


@dataclass(frozen=True, slots=True)
class BackendDetails:
    """What the harness knows of a backend before it is used: the modules that it needs, and how to get them."""

    needs: tuple[str, ...] = ()
    install: str = ""


Details = ScenarioDetails | AdapterDetails | MetricDetails | PerturbationDetails | JudgeDetails | BackendDetails


@dataclass(frozen=True, slots=True, eq=False)
class Plugin:
    """A named, documented thing that the harness can use.

    Attributes:
        kind: What sort of thing it is.
        name: The name that specs use, unique within its kind.
        target: The function or class that does the work; None for a set, which only stands for its members.
        doc: Its docstring: one sentence first.
        source: The paper, equation or page that defines it.
        origin: Where it was defined, for messages: ``module.qualname (file:line)``.
        details: What is particular to the kind.
        members: For a set of metrics or perturbations, what it stands for: names, or ``name:key=value,…`` where a
            member's parameters are not the defaults.
    """

    kind: Kind
    name: str
    target: Callable[..., Any] | None
    doc: str
    source: str
    origin: str
    details: Details | None = None
    members: tuple[str, ...] = field(default=())

    @property
    def file(self) -> Path | None:
        """The file that defines it, where it is known."""
        if isinstance(self.details, ScenarioDetails) and self.details.file is not None:
            return self.details.file
        module = sys.modules.get(getattr(self.target, "__module__", ""))
        file = getattr(module, "__file__", None)
        return Path(file) if file else None

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring, on one line, without code marks."""
        return " ".join(self.doc.split("\n\n")[0].split()).replace("``", "")
