"""What the page that compares models needs to know: which runs of theirs asked the same questions.

The differences and their tests are computed in the browser from the indices of the runs' examples: of every two models
on every scenario they would be more than everything else on the site.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from harness.leaderboard.cells import main_stat
from harness.leaderboard.site.addresses import address_of, model_address
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import BoardView, Snapshot
from harness.output.display import brief
from harness.storage.results import RunRecord


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write for each board ``compare/KEY``: its models, and for each question the models' runs."""
    addresses = {snapshot.model(run): model_address(run.spec.model) for run in snapshot.runs}
    for view in snapshot.boards:
        models = [row.model for row in view.board.rows]
        folder.put(
            f"compare/{view.key}",
            {
                "title": view.title,
                "models": [[addresses[model], model] for model in models],
                "questions": [question for column in range(len(view.groups)) for question in _questions(view, column)],
            },
        )


def _questions(view: BoardView, column: int) -> list[dict[str, Any]]:
    """Return a column's sub-runs that at least two models were asked and whose examples are there."""
    about, heading = view.board.columns[column], view.headings[column]
    by_subrun: dict[str, dict[str, RunRecord]] = {}
    for model, runs in view.counting[column].items():
        for subrun, run in runs.items():
            if run.status == "ok" and main_stat(run) is not None and run.examples is not None:
                by_subrun.setdefault(subrun, {})[model] = run
    positions = {row.model: position for position, row in enumerate(view.board.rows)}
    return [
        {
            "title": brief(next(iter(runs.values())).spec.scenario.label, 80),
            "method": about.method,
            "details": [brief(detail, 80) for detail in heading.details],
            "metric": about.metric,
            "higher": about.higher_is_better,
            "scale": _scale(runs.values()),
            "runs": {str(positions[model]): address_of(run) for model, run in runs.items()},
        }
        for _, runs in sorted(by_subrun.items())
        if len(runs) > 1
    ]


def _scale(runs: Iterable[RunRecord]) -> dict[str, Any] | None:
    """Return what values the main metric's scores can have; None if that is unknown, or the runs disagree."""
    scales = {stat.scale for run in runs if (stat := main_stat(run)) is not None}
    scale = scales.pop() if len(scales) == 1 else None
    return None if scale is None else asdict(scale)
