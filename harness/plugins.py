"""How a plugin says what it is: decorators that attach a description and change nothing else.

A decorated object works as before; the registry finds descriptions by looking through a module's members, so importing
a plugin has no side effect and a name means nothing until a registry has looked at it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from harness.contracts import SCALES, Scale, ScaleName, Split

ATTRIBUTE = "__harness_plugin__"

T = TypeVar("T", bound=Callable[..., Any])


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


def _origin(target: Callable[..., Any]) -> str:
    code = target.__init__.__code__ if inspect.isclass(target) and "__init__" in vars(target) else None
    code = code or getattr(target, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return f"{target.__module__}.{target.__qualname__}{place}"


def _attach(kind: Kind, name: str, source: str, details: Details | None) -> Callable[[T], T]:
    def decorate(target: T) -> T:
        plugin = Plugin(kind, name, target, inspect.getdoc(target) or "", source, _origin(target), details)
        setattr(target, ATTRIBUTE, plugin)
        return target

    return decorate


def scenario(
    name: str,
    *,
    title: str,
    source: str,
    data: Source,
    adapter: Mapping[str, Any] | Callable[..., Mapping[str, Any]],
    metrics: Sequence[str],
    main_metric: str,
    taxonomy: Mapping[str, str],
    eval_split: Split = Split.TEST,
    groups: Sequence[str] = (),
) -> Callable[[T], T]:
    """Register ``f(data: Data, *, parameters…) -> Iterator[Instance]`` as a scenario.

    Args:
        name: The name that specs use.
        title: The name for people.
        source: The paper that introduced the data set.
        data: Where the data come from.
        adapter: The default adapter, or a function of the scenario's parameters that returns it.
        metrics: Default metrics and sets of metrics.
        main_metric: The metric that stands for the scenario on a leaderboard.
        eval_split: The split that is evaluated.
        taxonomy: ``task``, ``what``, ``who``, ``when``, ``language``.
        groups: Keys of the instances' ``meta``: their values are groups, whose scores are compared. A list puts an
            instance into several.
    """
    details = ScenarioDetails(
        title, dict(taxonomy), data, adapter, tuple(metrics), main_metric, eval_split, tuple(groups)
    )
    return _attach(Kind.SCENARIO, name, source, details)


def adapter(name: str, *, source: str, metrics: Sequence[str] = ()) -> Callable[[T], T]:
    """Register a subclass of :class:`harness.Adapter` as an adaptation method.

    A method whose answers only some metrics can read names them: its runs then measure these unless they say
    otherwise, and the first stands for them.
    """
    return _attach(Kind.ADAPTER, name, source, AdapterDetails(tuple(metrics)))


def metric(
    name: str,
    *,
    category: str,
    higher_is_better: bool | None = True,
    source: str = "",
    judges: bool = False,
    gives: str | Sequence[str] = (),
    scale: Scale | ScaleName | Mapping[str, Scale | ScaleName] | None = None,
) -> Callable[[T], T]:
    """Register a metric: a function, or a subclass of :class:`harness.RunMetric` or :class:`harness.ExampleMetric`.

    A function ``f(example, *, parameters…)`` returns the example's score, a mapping of scores by name, or None where
    the score is undefined; the harness averages over instances. Its docstring defines it and, unless ``source`` is
    given, names the paper in parentheses. With ``judges``, the first argument of a RunMetric's constructor is a
    :class:`harness.JudgeFinder`: it gives the judge that the metric's parameter ``judge`` names.

    ``gives`` names the stats, ``*`` standing for any text (``("RR@*", "NDCG@*")``), so that a main metric that none
    gives is found before a run. A function whose annotation says that it returns a number gives its own name.

    ``scale`` says what values the score of an instance can have, which decides the interval of its mean:
    ``"proportion"`` for 0 or 1, ``"bounded"`` for 0 to 1, ``"smooth"`` for 0 to 1 where scores hardly ever come near
    the ends, ``"count"`` for at least 0, ``"signed"`` for any number, or a :class:`harness.Scale` with other bounds;
    for several scores, a mapping by name. Without a scale, means have no interval. A score outside of its scale fails
    the run.

    Raises:
        ValueError: The scale is unknown.
    """
    return _attach(
        Kind.METRIC,
        name,
        source,
        MetricDetails(category, higher_is_better, judges, _names(gives), _scales(name, scale)),
    )


def _scales(name: str, declared: Scale | ScaleName | Mapping[str, Scale | ScaleName] | None) -> dict[str, Scale]:
    if declared is None:
        return {}
    by_name = declared if isinstance(declared, Mapping) else {"*": declared}
    scales: dict[str, Scale] = {}
    for pattern, scale in by_name.items():
        if not isinstance(scale, Scale) and scale not in SCALES:
            raise ValueError(f"metric {name!r}: scale must be one of {', '.join(SCALES)} or a Scale, not {scale!r}.")
        scales[pattern] = scale if isinstance(scale, Scale) else SCALES[scale]
    return scales


def perturbation(name: str, *, category: PerturbationCategory = "robustness", source: str) -> Callable[[T], T]:
    """Register ``f(instance, rng: random.Random, *, parameters…) -> Instance | None`` as a perturbation.

    None says that there is no copy of this instance; what is measured is then about the others alone.

    The generator is seeded by run, perturbation and instance, so the result depends on nothing else. What is measured
    on the perturbed copies belongs to the ``category``, robustness or fairness.

    Raises:
        ValueError: The category is neither.
    """
    if category not in get_args(PerturbationCategory):
        raise ValueError(f"perturbation {name!r}: category is robustness or fairness, not {category!r}.")
    return _attach(Kind.PERTURBATION, name, source, PerturbationDetails(category))


def judge(name: str, *, source: str, models: bool = False) -> Callable[[T], T]:
    """Register a subclass of :class:`harness.Judge`; its constructor takes keyword-only parameters, typed.

    With ``models``, the constructor's first argument is a :data:`harness.ModelFinder`: it gives the models that the
    judge's parameters name.
    """
    return _attach(Kind.JUDGE, name, source, JudgeDetails(models))


def backend(name: str, *, source: str, needs: str | Sequence[str] = (), install: str = "") -> Callable[[T], T]:
    """Register a subclass of :class:`harness.Model` as the backend of the models named ``name:identifier``.

    Args:
        name: What stands before the colon.
        source: Whose models or protocol it is.
        needs: Modules that it imports when it is used; that one is missing is said before anything is run.
        install: How to get them.
    """
    return _attach(Kind.BACKEND, name, source, BackendDetails(_names(needs), install))


def _names(written: str | Sequence[str]) -> tuple[str, ...]:
    return (written,) if isinstance(written, str) else tuple(written)


def _members(kind: Kind, name: str, members: Sequence[str], doc: str, source: str) -> Plugin:
    caller = sys._getframe(2)
    origin = f"{caller.f_code.co_filename}:{caller.f_lineno}"
    return Plugin(kind, name, None, doc, source, origin, members=tuple(members))


def metric_set(name: str, members: Sequence[str], *, doc: str, source: str) -> Plugin:
    """Name several metrics at once; assign the result to a module's variable to register it.

    A member is a name, or ``name:key=value,…`` as in a sweep where its parameters are not the defaults.
    """
    return _members(Kind.METRIC, name, members, doc, source)


def perturbation_set(name: str, members: Sequence[str], *, doc: str, source: str) -> Plugin:
    """Name several perturbations at once; assign the result to a module's variable to register it.

    A member is a name, or ``name:key=value,…`` as in a sweep where its parameters are not the defaults.
    """
    return _members(Kind.PERTURBATION, name, members, doc, source)
