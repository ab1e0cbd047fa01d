"""The metrics of a run: chosen by its entry, its method or its scenario, with a main metric among them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from harness.answers.reading import ANSWER, reading_names
from harness.contracts import stat_of_reading
from harness.contracts.plugins import AdapterDetails, Kind, ScenarioDetails
from harness.contracts.specs import Component
from harness.errors import did_you_mean, shown
from harness.plugins.parameters import given_names
from harness.statistics.reductions import split_name
from harness.sweeps.components import resolve_members
from harness.sweeps.context import Context
from harness.sweeps.entries import Entry
from harness.sweeps.shorthand import parse_entry
from harness.yaml_lines import load


def run_metrics(
    entry: Entry, adapter: Component, other_method: bool, samples: int, context: Context
) -> tuple[tuple[Component, ...], str]:
    """Return a run's metrics and its main metric, which is among them where it is the name of a metric.

    An entry with a method and metrics of its own measures something else than the scenario's main metric: then its
    first metric is its main metric. The same holds for a method that names its metrics, if the entry names none. If the
    main metric is the name of a set, it is the set's first.
    """
    details = context.registry.get(Kind.ADAPTER, adapter.name).details
    own, chosen = entry.own_metrics, entry.metrics
    if not own and other_method and isinstance(details, AdapterDetails) and details.metrics:
        named = [((*entry.path, "adapter"), name) for name in details.metrics]
        origin = f"adapter {adapter.name!r}"
        own = True
        chosen = resolve_members(Kind.METRIC, named, context, origin=origin)
    metrics = {metric.name: metric for metric in chosen}
    main = entry.keys.main_metric or entry.details.main_metric
    if not entry.keys.main_metric and own and other_method and main not in metrics and metrics:
        main = next(iter(metrics))
    if main in context.registry.names(Kind.METRIC):
        main = context.registry.expand(Kind.METRIC, main)[0]
    base, _ = split_name(_without_reading(main, other_readings(adapter)), samples)
    reported = not own and any(parse_entry(listed).name == base for listed in entry.details.metrics)
    if base not in metrics and base in context.registry.names(Kind.METRIC) and not reported:
        place = (*entry.path, "main_metric") if entry.keys.main_metric else entry.scenario.path
        name = entry.plugin.name
        for component in resolve_members(
            Kind.METRIC, [(place, base)], context, origin=f"scenario {name!r}", scenario=name
        ):
            metrics[component.name] = component
    return tuple(metrics.values()), main


def in_language(metrics: Sequence[Component], details: ScenarioDetails) -> tuple[Component, ...]:
    """Return the metrics; those that have a parameter ``language`` and are not given one measure the scenario's."""
    language = details.taxonomy.get("language")

    def measured(metric: Component) -> Component:
        if not language or metric.arguments.get("language", "") is not None:
            return metric
        return Component(name=metric.name, arguments={**metric.arguments, "language": language})

    return tuple(map(measured, metrics))


def other_readings(adapter: Component) -> tuple[str, ...]:
    """Return the names of an adapter's readings whose stats bear the name: all but the first."""
    return reading_names(adapter.arguments.get(ANSWER))[1:]


def _without_reading(stat: str, readings: Sequence[str]) -> str:
    """Return a stat's name without that of a reading: exact_match of ``exact_match (flexible)``."""
    suffixes = [stat_of_reading("", reading) for reading in readings]
    return next((stat.removesuffix(suffix) for suffix in suffixes if stat.endswith(suffix)), stat)


def check_main_metric(
    entry: Entry, metrics: Sequence[Component], main: str, samples: int, readings: Sequence[str], context: Context
) -> None:
    """Report a main metric that none of a run's metrics gives, where all of them say what they give."""
    base, _ = split_name(_without_reading(main, readings), samples)
    given: list[str] = []
    for metric in metrics:
        names = given_names(context.registry.get(Kind.METRIC, metric.name))
        if not names or any(fnmatchcase(base, name) for name in names):
            return
        given += [*names, *(stat_of_reading(name, reading) for name in names for reading in readings)]
    wrong = f"is {shown(main)}, which none of the run's metrics computes: {', '.join(part.name for part in metrics)}."
    others = [metric.name for metric in context.registry.all(Kind.METRIC) if metric.name in given_names(metric)]
    hints = [did_you_mean(base, given), did_you_mean(base, others)]
    hint = next((hint for hint in hints if hint.startswith("Did")), hints[0])
    if entry.keys.main_metric:
        context.diagnostics.add((*entry.path, "main_metric"), wrong, hint)
    elif entry.own_metrics:
        message = f"the main metric of scenario {entry.plugin.name!r} {wrong}"
        context.diagnostics.add(entry.scenario.path, message, "Name another with `main_metric`.")
    elif entry.details.file is None:
        context.diagnostics.add(entry.scenario.path, f"the main metric of scenario {entry.plugin.name!r} {wrong}", hint)
    else:
        context.diagnostics.extend([load(entry.details.file).diagnostic(("main_metric",), wrong, hint)])
