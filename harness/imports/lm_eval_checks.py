"""Checks that the samples of lm-evaluation-harness belong to a task, and that they give the means it reports."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import DataError

_MEANS = frozenset({"acc", "acc_norm", "acc_bytes", "exact_match"})
"""Metrics that are means of their documents' scores unless a task says otherwise."""

_TOLERANCE = 1e-6


def check_samples(task: str, rows: Sequence[Mapping[str, Any]], written: Mapping[str, Any], file: Path) -> None:
    """Check a task's samples against the hash of the task in the results file, if it has one.

    Raises:
        DataError: They are the samples of another task or run.
    """
    stated = (written.get("task_hashes") or {}).get(task)
    keys = ("doc_hash", "prompt_hash", "target_hash")
    if not rows or stated is None or not all(isinstance(row.get(key), str) for row in rows for key in keys):
        return
    found = hashlib.sha256("".join(row[key] for row in rows for key in keys).encode()).hexdigest()
    if found != stated:
        message = f"these are not the samples of the task {task} in the results file: their hash is {found[:12]}…, not"
        raise DataError(f"{message} {stated[:12]}… (task_hashes.{task}).", file=file)


def check_means(
    task: str, rows: Sequence[Mapping[str, Any]], written: Mapping[str, Any], samples: Path, file: Path
) -> None:
    """Check that the reported means are the means of the samples.

    Raises:
        DataError: One is not.
    """
    declared = {one["metric"]: one.get("aggregation") for one in written["configs"][task].get("metric_list") or ()}
    expected = ((written.get("n-samples") or {}).get(task) or {}).get("effective")
    for key, value in written["results"][task].items():
        name, comma, filtered = key.partition(",")
        if not comma or not isinstance(value, int | float) or isinstance(value, bool):
            continue
        if declared.get(name, "") != "mean" and not (declared.get(name) is None and name in _MEANS):
            continue
        scores = [row[name] for row in rows if row.get("filter", "none") == filtered and _is_number(row.get(name))]
        if not scores or len(scores) != expected:
            continue
        mean = math.fsum(scores) / len(scores)
        if not math.isclose(mean, value, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            message = f"results.{task}.{key} is {value:g}, but the mean of the {len(scores)} samples in {samples.name}"
            raise DataError(f"{message} is {mean:g}.", file=file)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
