"""Names for people of what runs are about, from plugins and, for scenarios that are not loaded, from the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.plugins.registry import Registry
from harness.plugins.titles import ScenarioTitle, Titles
from harness.storage.results import RunRecord


def run_titles(runs: Iterable[RunRecord], registry: Registry | None) -> Titles:
    """Return the titles of what runs are about; of a scenario that the registry lacks, those of its newest run."""
    found: dict[str, tuple[str, ScenarioTitle]] = {}
    for run in runs:
        name, recorded = run.spec.scenario.name, _recorded(run)
        if recorded is not None and (name not in found or found[name][0] <= run.finished):
            found[name] = run.finished, recorded
    return Titles(registry, {name: recorded for name, (_, recorded) in found.items()})


def _recorded(run: RunRecord) -> ScenarioTitle | None:
    known = run.provenance.get("scenario")
    if not isinstance(known, Mapping) or not isinstance(title := known.get("title"), str) or not title.strip():
        return None
    short, defaults = known.get("short"), known.get("defaults")
    return ScenarioTitle(
        title,
        short if isinstance(short, str) and short.strip() else title,
        defaults if isinstance(defaults, Mapping) else {},
    )
