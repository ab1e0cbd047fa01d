"""The examples of a run as rows of a data frame."""

from __future__ import annotations

from typing import Any

from harness.python.columns import SAMPLES, Column, Columns
from harness.storage.results import RunRecord
from harness.storage.sample_rows import SCORE, sample_rows


def samples_of(record: RunRecord, model: str) -> tuple[list[dict[str, Any]], Columns]:
    """Return a run's rows, one for each example, and their columns, with one for each score.

    Args:
        record: The run.
        model: Its model's name in tables.

    Raises:
        DataError: The file of examples is missing, damaged, or not the one that the record describes.
    """
    training = record.spec.training_step
    about = {
        "suite": record.suite,
        "run": record.name,
        "model": model,
        "series": training and training.series,
        "step": training and training.step,
        "scenario": record.spec.scenario.label,
    }
    rows, scored = list[dict[str, Any]](), dict[str, Column]()
    for row in sample_rows(record):
        rows.append({**about, **row})
        names = (key.removeprefix(SCORE) for key in row if key.startswith(SCORE))
        scored.update((f"{SCORE}{name}", Column("number", f"Score of {name}.")) for name in names)
    return rows, {**SAMPLES, **scored}
