"""The data of the page that draws checkpoints of one training over its steps: which models they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.leaderboard.checkpoint_changes import ColumnChanges, column_changes
from harness.leaderboard.checkpoints import Series, series_of, shared_steps
from harness.leaderboard.site.addresses import model_address
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import Snapshot

PAGE = "checkpoints"
"""The page's name, and the key of its data."""


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write ``checkpoints``, if there are any: for each series its name, notes, and each model's step and address.

    Their results are those of the leaderboard (``boards/KEY/main``). ``checkpoints/KEY`` has for each of the board's
    columns, by its position, what it can tell apart in each series, by the series' position: pairs of neighbours, how
    many of them differ significantly, signal to noise, the smallest change that could be shown, the instances that a
    typical change needs, instances, and 1 if checkpoints are paired; and under ``""`` the signal to noise between
    trainings.
    """
    if not (found := series_of(snapshot.runs)):
        return
    folder.put(PAGE, [_as_json(series) for series in found])
    places = {series.key: place for place, series in enumerate(found)}
    for view in snapshot.boards:
        columns = column_changes(view.groups, view.counting, found)
        folder.put(f"{PAGE}/{view.key}", {str(one.column): _changes_as_json(one, places) for one in columns})


def _changes_as_json(column: ColumnChanges, places: Mapping[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in column.series:
        signal = one.signal
        found[str(places[one.series.key])] = [
            len(one.changes), one.told_apart, signal and signal.ratio, one.could_show, one.needed, one.count,
            int(all(change.paired for change in one.changes)),
        ]  # fmt: skip
    between = column.between
    return {**found, "": between and between.ratio}


def _as_json(series: Series) -> dict[str, Any]:
    steps = [[one.step, model_address(one.model)] for one in series.checkpoints]
    return {"name": series.name, "steps": steps, "notes": shared_steps(series)}
