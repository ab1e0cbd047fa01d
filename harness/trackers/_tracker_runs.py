"""How the runs of a sweep are grouped into runs of a tracker, and what all trackers show of them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from harness import FinishedRun
from harness.runs.provenance import OF_THIS_MACHINE

STEP = "training_step"
"""The name of the axis of training steps."""


@dataclass(frozen=True, slots=True)
class TrackerRun:
    """A run of a tracker: a model of a suite, or a training with its checkpoints."""

    key: str
    """Permanent identifier: sixteen hexadecimal digits."""
    name: str
    """Its name for people."""
    settings: dict[str, Any]
    """The model with its settings, and the suite."""


def tracker_run(run: FinishedRun) -> TrackerRun:
    """Return the run of a tracker to which a run of the harness belongs."""
    if run.series is not None:
        identity: dict[str, Any] = {"suite": run.suite, "series": run.series}
        name = run.series
    else:
        identity = {"suite": run.suite, "model": run.spec.model.model_dump(mode="json")}
        name = run.model
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return TrackerRun(hashlib.sha256(text.encode()).hexdigest()[:16], name, identity)


def sent_record(run: FinishedRun) -> str:
    """Return the run's run.json without the host, the command and the worker processes."""
    record = json.loads((run.folder / "run.json").read_text("utf-8"))
    for key in OF_THIS_MACHINE:
        record["provenance"].pop(key, None)
    return json.dumps(record, ensure_ascii=False, indent=2)


def sample_table(run: FinishedRun, most: int) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and rows of a table of the run's first examples.

    Args:
        run: The run.
        most: Maximum number of rows.

    Raises:
        DataError: The file of examples is missing or damaged.
    """
    rows = list(islice(_samples(run), most))
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return columns, [[row.get(column) for column in columns] for row in rows]


def _samples(run: FinishedRun) -> Iterator[dict[str, Any]]:
    for row in run.samples():
        yield {key: _cell(value) for key, value in row.items()}


def _cell(value: Any) -> Any:
    """Return a value for a tracker's table, whose cells hold texts and numbers, not lists."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def file_name(text: str, longest: int = 100) -> str:
    """Return a text as the name of a file or an artifact: letters, digits, ``.``, ``=``, ``-`` and ``_``."""
    return re.sub(r"[^A-Za-z0-9.=_-]+", "-", text).strip("-.")[:longest] or "unnamed"
