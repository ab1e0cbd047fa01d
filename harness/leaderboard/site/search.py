"""The search's data: every model, scenario, metric and run by name, with the address of its page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.boards import MAIN
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import Snapshot

Entry = tuple[str, str, str]
"""A name, another name that finds it too, and the address of its page."""


def write(snapshot: Snapshot, folder: SiteFolder, further: Iterable[tuple[str, Sequence[Entry]]] = ()) -> None:
    """Write ``search``: kinds with their entries, and further ones."""
    kinds = [
        ("Models", _models(snapshot)),
        ("Scenarios", _scenarios(snapshot)),
        ("Metrics", _metrics(snapshot)),
        ("Runs", _runs(snapshot)),
        *further,
    ]
    folder.put("search", [(title, entries) for title, entries in kinds if entries])


def _models(snapshot: Snapshot) -> list[Entry]:
    found = []
    for name, runs in snapshot.by_model.items():
        label = runs[-1].spec.model.label
        found.append((name, label if label != name else "", f"model/{model_address(runs[0].spec.model)}"))
    return found


def _scenarios(snapshot: Snapshot) -> list[Entry]:
    names = sorted({group.scenario for group in snapshot.boards[0].groups})
    titles = {name: snapshot.titles.scenario(name).title for name in names}
    return [
        (title, name if name != title else "", f"scenario/{scenario_address(name)}") for name, title in titles.items()
    ]


def _metrics(snapshot: Snapshot) -> list[Entry]:
    """Each metric that the leaderboard compares leads to the category in which it does."""
    view = snapshot.boards[0]
    found: dict[str, str] = {}
    for group in view.groups:
        found.setdefault(group.metric, MAIN)
    for category, measures in view.categories.items():
        for measure in measures:
            found.setdefault(measure.metric, category)
    return [
        (snapshot.titles.metric(name).title, name, f"board?suites=all&tab={category}")
        for name, category in sorted(found.items())
    ]


def _runs(snapshot: Snapshot) -> list[Entry]:
    found = []
    for run in snapshot.runs:
        title = f"{snapshot.titles.run(run.spec.scenario)} · {snapshot.model(run)}"
        found.append((title, f"{run.suite}, {run.name}", f"run/{address_of(run)}"))
    return found
