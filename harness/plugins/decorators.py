"""How a plugin declares itself: decorators that attach a description and change nothing else.

A decorated object works as before; the registry finds descriptions by looking through a module's members, so importing
a plugin has no side effect and a name means nothing until a registry has looked at it.

The plugin API is what ``harness`` exports, and the contracts behind those names. ``PLUGIN_API_VERSION`` is its
version, *major.minor*: a minor version only adds, a major one may rename or remove, so that a plugin written for 1.2
works with 1.2, 1.3 and every later 1.x. A module, or its top-level package, may declare the version that it was written
for; if this harness does not offer it, the plugin is refused with a message that says so::

    REQUIRES_PLUGIN_API = "1.0"
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import ModuleType
from typing import Any, Literal, TypeVar, get_args

from harness.contracts import SCALES, Example, Scale, ScaleName, Split
from harness.contracts.plugins import (
    OWN_PROMPT,
    AdapterDetails,
    BackendDetails,
    Details,
    FindCheckpoints,
    JudgeDetails,
    Kind,
    ListenerDetails,
    MetricDetails,
    PerturbationCategory,
    PerturbationDetails,
    Plugin,
    PromptVariant,
    ScenarioDetails,
    Source,
)
from harness.errors import PluginError, shown

PLUGIN_API_VERSION = "1.0"
"""The version of the plugin API, *major.minor*."""

ATTRIBUTE = "__harness_plugin__"

_NAME = re.compile(r"\w[\w.-]*")
"""What sweeps can name: ``mmlu:subject=anatomy`` has a name before the colon."""

T = TypeVar("T", bound=Callable[..., Any])


def _origin(target: Callable[..., Any]) -> str:
    code = target.__init__.__code__ if inspect.isclass(target) and "__init__" in vars(target) else None
    code = code or getattr(target, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return f"{target.__module__}.{target.__qualname__}{place}"


def _attach(kind: Kind, name: str, source: str, details: Details | None, role: str = "") -> Callable[[T], T]:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PluginError(f"{shown(name)} cannot be the name of a {kind}: use letters, digits, '_', '-' and '.' only.")

    def decorate(target: T) -> T:
        plugin = Plugin(kind, name, target, inspect.getdoc(target) or "", source, _origin(target), details, role=role)
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
    parts: Sequence[str] = (),
    options: bool = True,
    cluster: str = "",
    tags: Sequence[str] = (),
    aliases: Mapping[str, Mapping[str, str]] | None = None,
    role: str = "",
    short: str = "",
    titles: Mapping[str, Mapping[str, str]] | None = None,
    prompt: str = "",
    prompts: Mapping[str, PromptVariant] | None = None,
) -> Callable[[T], T]:
    """Register ``f(data: Data, *, parameters…) -> Iterator[Instance]`` as a scenario.

    Args:
        name: The name that specs use.
        title: The name for people.
        source: The paper that introduced the data set.
        data: Where the data come from.
        adapter: The default adapter, or a function of the scenario's parameters that returns it.
        metrics: Default metrics and sets of metrics.
        main_metric: The metric that leaderboards show for the scenario.
        eval_split: The split that is evaluated.
        taxonomy: ``task``, ``what``, ``who``, ``when``, ``language``.
        groups: Keys of the instances' ``meta``: their values are groups, whose scores are compared. A list puts an
            instance into several.
        parts: Parameters that choose one of several disjoint parts of the data, such as a subject. Runs of different
            parts share a column of the leaderboard; of other parameters, each value has a column of its own.
        options: False if the instances have no wrong references: then methods of multiple choice are refused.
        cluster: Key of the instances' ``meta``: instances with equal values depend on each other, such as the questions
            about one passage. Errors are then over these clusters.
        tags: What it tests, and the leaderboards that it is part of, such as ``("reasoning", "helm-classic")``:
            ``tag:reasoning`` runs it. The task of its taxonomy need not be repeated: it is a tag, too.
        aliases: What other programs call it, and our arguments for that: ``{"lm_eval": {"mmlu_{subject}": ""}}``. The
            error for such a name suggests ours.
        role: The job for which a command of the harness looks the scenario up, such as ``examples file``.
        short: The title where there is little room, such as a column of a leaderboard (default: the title).
        titles: Titles of parameters' values, such as ``{"subject": {"us_history": "US history"}}``; other values are
            shown as their own words, ``college_biology`` as "college biology".
        prompt: Name of the scenario's own prompt, such as ``helm`` (``default`` if there are others).
        prompts: Other prompts by name, among which a run chooses by ``prompt: NAME``. If the text of the instances
            differs too, the function has a keyword-only parameter ``prompt``, which is given the name.

    Raises:
        ValueError: One of the other prompts has the name of the scenario's own.
    """
    if (own := prompt or OWN_PROMPT) in (prompts or ()):
        raise ValueError(f"scenario {name!r}: {own!r} is the name of its own prompt and of another.")
    details = ScenarioDetails(
        title,
        dict(taxonomy),
        data,
        adapter,
        tuple(metrics),
        main_metric,
        eval_split,
        tuple(groups),
        tuple(parts),
        options,
        cluster,
        tags=tuple(tags),
        aliases={program: dict(names) for program, names in (aliases or {}).items()},
        short=short,
        value_titles={name: dict(values) for name, values in (titles or {}).items()},
        prompt=prompt,
        prompts=dict(prompts or {}),
    )
    return _attach(Kind.SCENARIO, name, source, details, role)


def adapter(
    name: str,
    *,
    source: str,
    metrics: Sequence[str] = (),
    report: str = "",
    role: str = "",
    title: str = "",
    short: str = "",
    if_too_long: str = "",
) -> Callable[[T], T]:
    """Register a subclass of :class:`harness.Adapter` as an adaptation method.

    ``title`` is the method's name for people, and ``short`` the same where there is little room; by default the title
    is made of the name.

    A method whose answers only some metrics can read names them: its runs then measure these unless they say
    otherwise, and the first is the main metric. ``report`` is the command that reports on its finished runs, where
    that is not the leaderboard; ``role`` the job for which a command of the harness looks the method up.
    ``if_too_long`` says what happens to a prompt that is too long for the model, if neither few-shot examples are
    dropped nor the input is cut.
    """
    details = AdapterDetails(tuple(metrics), report, title, short, if_too_long)
    return _attach(Kind.ADAPTER, name, source, details, role)


def metric(
    name: str,
    *,
    category: str,
    higher_is_better: bool | None = True,
    source: str = "",
    judges: bool = False,
    models: bool = False,
    needs_probabilities: bool = False,
    needs_options: Literal["", "chosen", "scored"] = "",
    gives: str | Sequence[str] = (),
    scale: Scale | ScaleName | Mapping[str, Scale | ScaleName] | None = None,
    represents: str = "",
    same_as: str | Sequence[str] = (),
    agrees_with: str | Sequence[str] = (),
    votes: Callable[[Example], Hashable | None] | None = None,
    binary_samples: bool = False,
    attempts: str = "",
    title: str | Mapping[str, str] = "",
    short: str | Mapping[str, str] = "",
    checkpoints: FindCheckpoints | None = None,
) -> Callable[[T], T]:
    """Register a metric: a function, or a subclass of RunMetric, ExampleMetric or BatchMetric.

    A function ``f(example, *, parameters…)`` returns the example's score, a mapping of scores by name, or None where
    the score is undefined; the harness averages over instances. Its docstring defines it and, unless ``source`` is
    given, names the paper in parentheses. With ``judges``, the first argument of a RunMetric's constructor is a
    :class:`harness.JudgeFinder`: it gives the judge that the metric's parameter ``judge`` names. With ``models``, the
    first argument of a BatchMetric's constructor is a :data:`harness.judging.ModelFinder`: it gives the models that the
    metric's parameters name.

    With ``needs_probabilities``, it needs the probability that the model gives its prediction; if a run's model
    gives none, the run warns about it. With ``needs_options``, it needs a method that lets the model choose between
    options (``"chosen"``), or one that also scores each of them (``"scored"``); other runs with it are refused.

    ``gives`` names the stats (``*`` matches any text, as in ``("RR@*", "NDCG@*")``), so that a main metric which no
    metric gives is found before a run. A function annotated to return a number gives its own name, and one that may
    return a :class:`harness.BestOf` also ``name@k``.

    ``scale`` says what values the score of an instance can have, which decides the interval of its mean:
    ``"proportion"`` for 0 or 1, ``"bounded"`` for 0 to 1, ``"smooth"`` for 0 to 1 where scores hardly ever come near
    the ends, ``"count"`` for at least 0, ``"signed"`` for any number, or a :class:`harness.Scale` with other bounds;
    for several scores, a mapping by name. Without a scale, means have no interval. A score outside of its scale fails
    the run.

    Where several stats of a category measure the same, ``represents`` names the one that leaderboards show for it.
    ``same_as`` names metrics of other programs with the same definition, ``"helm:exact_match"``;
    ``agrees_with`` those that are defined alike only where each answer option is scored by itself.

    ``votes(example)`` returns what the example answers, or None for no answer: with several samples, ``maj@n`` is the
    score of the most frequent answer. By default it is the prediction, whatever its case and spaces; a metric that
    reads the answer out of a longer text names the function that reads it. ``binary_samples`` says that a sampled
    answer always scores 0 or 1, although the scale allows scores between them. ``attempts`` names the probability that
    one of k samples scores 1, where the metric has a name for it: ``"pass@*"``.

    ``title`` is the metric's name for people, and ``short`` the same where there is little room; for several stats, a
    mapping by name, in which a ``*`` in the title is what the ``*`` in the name matches: ``{"RR@*": "MRR@*"}``. By
    default a title is made of the name, and the short one is the title.

    ``checkpoints(**arguments)`` returns the :class:`harness.CheckpointSource` of each model that it loads.

    Raises:
        ValueError: The scale is unknown, or a title has a ``*`` that its name has not.
    """
    details = MetricDetails(
        category=category,
        higher_is_better=higher_is_better,
        judges=judges,
        models=models,
        needs_probabilities=needs_probabilities,
        needs_options=needs_options,
        gives=_names(gives),
        scales=_scales(name, scale),
        represents=represents,
        same_as=_names(same_as),
        agrees_with=_names(agrees_with),
        votes=votes,
        binary_samples=binary_samples,
        attempts=attempts,
        titles=_titles(name, title),
        shorts=_titles(name, short),
        checkpoints=checkpoints,
    )
    return _attach(Kind.METRIC, name, source, details)


def _titles(name: str, declared: str | Mapping[str, str]) -> dict[str, str]:
    if isinstance(declared, str):
        return {name: declared} if declared else {}
    for pattern, title in declared.items():
        if title.count("*") > pattern.count("*"):
            raise ValueError(f"metric {name!r}: title {title!r} has a '*' that {pattern!r} has not.")
    return dict(declared)


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


def perturbation(
    name: str, *, category: PerturbationCategory = "robustness", source: str, title: str = "", short: str = ""
) -> Callable[[T], T]:
    """Register ``f(instance, rng: random.Random, *, parameters…) -> Instance | None`` as a perturbation.

    None says that there is no copy of this instance; what is measured is then about the others alone.

    The generator is seeded by run, perturbation and instance, so the result depends on nothing else. What is measured
    on the perturbed copies belongs to the ``category``, robustness or fairness. ``title`` is its name for people, and
    ``short`` the same where there is little room; by default the title is made of the name.

    Raises:
        ValueError: The category is neither.
    """
    if category not in get_args(PerturbationCategory):
        raise ValueError(f"perturbation {name!r}: category is robustness or fairness, not {category!r}.")
    return _attach(Kind.PERTURBATION, name, source, PerturbationDetails(category, title, short))


def judge(
    name: str, *, source: str, models: bool = False, checkpoints: FindCheckpoints | None = None
) -> Callable[[T], T]:
    """Register a subclass of :class:`harness.Judge`; its constructor takes keyword-only parameters, typed.

    With ``models``, the constructor's first argument is a :data:`harness.judging.ModelFinder`: it gives the models that
    the judge's parameters name. ``checkpoints(**arguments)`` returns the :class:`harness.CheckpointSource` of each
    model that it loads itself.
    """
    return _attach(Kind.JUDGE, name, source, JudgeDetails(models, checkpoints))


def backend(
    name: str,
    *,
    source: str,
    needs: str | Sequence[str] = (),
    install: str = "",
    checkpoints: FindCheckpoints | None = None,
    price: Callable[[str], Any] | None = None,
) -> Callable[[T], T]:
    """Register a subclass of :class:`harness.Model` as the backend of the models named ``name:identifier``.

    Args:
        name: The part before the colon.
        source: Whose models or protocol it is.
        needs: Modules that it imports when it is used; that one is missing is said before anything is run.
        install: How to get them.
        checkpoints: A function ``f(identifier, **arguments)`` that returns the :class:`harness.CheckpointSource` of
            each checkpoint that the model loads, so that it can be downloaded ahead of time. None for servers.
        price: A function ``f(identifier)`` that returns the :class:`harness.backends.Price` of a model where no price
            table has one, or None.
    """
    return _attach(Kind.BACKEND, name, source, BackendDetails(_names(needs), install, checkpoints, price))


def listener(name: str, *, source: str, needs: str | Sequence[str] = (), install: str = "") -> Callable[[T], T]:
    """Register a subclass of :class:`harness.Listener`; its constructor takes keyword-only parameters, typed.

    The constructor is called before anything is run. It should raise a :class:`harness.HarnessError` for what the user
    has to mend, such as a missing key, and leave what needs the network to later.

    Args:
        name: The name that sweeps use.
        source: Whose program or protocol it is.
        needs: Modules that it imports when it is used; that one is missing is said before anything is run.
        install: How to get them.
    """
    return _attach(Kind.LISTENER, name, source, ListenerDetails(_names(needs), install))


def _names(written: str | Sequence[str]) -> tuple[str, ...]:
    return (written,) if isinstance(written, str) else tuple(written)


def check_api_version(module: ModuleType) -> None:
    """Refuse a plugin's module that was written for another version of the plugin API.

    Raises:
        PluginError: The version that it, or its top-level package, requires is not on offer, or is not a version.
    """
    package = sys.modules.get(module.__name__.partition(".")[0])
    required = getattr(module, "REQUIRES_PLUGIN_API", getattr(package, "REQUIRES_PLUGIN_API", None))
    if required is None:
        return
    major, minor = map(int, PLUGIN_API_VERSION.split("."))
    wanted = re.fullmatch(r"(\d+)\.(\d+)", str(required))
    if wanted is None:
        raise PluginError(f"REQUIRES_PLUGIN_API is {required!r}; write it as major.minor, such as '1.0'.")
    if int(wanted[1]) != major or int(wanted[2]) > minor:
        newer = (int(wanted[1]), int(wanted[2])) > (major, minor)
        advice = "Install a newer harness." if newer else "Install a newer version of the plugin."
        raise PluginError(f"it needs plugin API {required}; this harness has {PLUGIN_API_VERSION}. {advice}")
