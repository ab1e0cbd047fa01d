"""The data of the page that draws checkpoints of one training over its steps: which models they are."""

from __future__ import annotations

from typing import Any

from harness.leaderboard.checkpoints import Series, series_of
from harness.leaderboard.site.addresses import model_address
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import Snapshot

PAGE = "checkpoints"
"""The page's name, and the key of its data."""


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write ``checkpoints``, if there are any: for each series its name and the step and address of each model.

    Their results are those of the leaderboard (``boards/KEY/main``).
    """
    if found := series_of(snapshot.runs):
        folder.put(PAGE, [_as_json(series) for series in found])


def _as_json(series: Series) -> dict[str, Any]:
    return {"name": series.name, "steps": [[one.step, model_address(one.model)] for one in series.checkpoints]}
