"""The names for people that all pages share: what they show in place of the identifiers that records have."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from harness.contracts.plugins import CATEGORIES
from harness.leaderboard.site.addresses import model_address
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.model_facts import facts_of, tags_of
from harness.leaderboard.site.snapshot import Snapshot
from harness.plugins.titles import COMPUTED_ON, MetricTitle, Title


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write ``names``: for each kind of thing, what is known of each identifier that occurs in the runs.

    ``metrics`` (statistics included), ``methods``, ``perturbations``, ``categories`` and ``scenarios`` have ``title``,
    ``short``, ``definition`` and ``source``; metrics also ``direction`` (``higher``, ``lower`` or empty), ``range``
    (``[low, high]``, null for an end without a bound; null if unknown) and ``category``. ``runs`` has the title of each
    scenario with its parameters, by its label; ``models``, by address, ``name``, ``identifier``, ``backend``,
    ``parameters`` (null if unknown) and ``tags``; ``computed`` the words for what a statistic of perturbed copies is
    computed on.
    """
    titles, specs = snapshot.titles, [run.spec for run in snapshot.runs]
    metrics = {stat.metric for run in snapshot.runs for stat in run.stats} | {spec.main_metric for spec in specs}
    categories = {*CATEGORIES, *(stat.category for run in snapshot.runs for stat in run.stats)}
    perturbations = {one.name for spec in specs for one in spec.perturbations}
    folder.put(
        "names",
        {
            "metrics": {name: metric_about(titles.metric(name)) for name in sorted(metrics)},
            "methods": {name: _about(titles.method(name)) for name in sorted({spec.adapter.name for spec in specs})},
            "perturbations": {name: _about(titles.perturbation(name)) for name in sorted(perturbations)},
            "categories": {name: _about(titles.category(name)) for name in sorted(categories)},
            "scenarios": {
                name: _about(titles.scenario(name)) for name in sorted({spec.scenario.name for spec in specs})
            },
            "runs": {spec.scenario.label: titles.run(spec.scenario) for spec in specs},
            "models": dict(_models(snapshot)),
            "computed": COMPUTED_ON,
        },
    )


def metric_about(metric: MetricTitle) -> dict[str, Any]:
    """Return what a heading's tooltip shows of a metric, as JSON."""
    ends = None if metric.scale is None else [end if math.isfinite(end) else None for end in metric.scale.bounds]
    direction = {True: "higher", False: "lower", None: ""}[metric.higher_is_better]
    return {**_about(metric), "category": metric.category, "direction": direction, "range": ends}


def _about(title: Title) -> dict[str, Any]:
    return {"title": title.title, "short": title.short, "definition": title.definition, "source": title.source}


def _models(snapshot: Snapshot) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, runs in snapshot.by_model.items():
        model = runs[0].spec.model
        size = facts_of(runs).get("parameters", [None])[0]
        yield (
            model_address(model),
            {
                "name": name,
                "identifier": model.label,
                "backend": model.name.partition(":")[0],
                "parameters": size if isinstance(size, int) else None,
                "tags": tags_of(runs),
            },
        )
