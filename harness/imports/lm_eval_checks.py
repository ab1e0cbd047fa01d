"""Checks that the samples of lm-evaluation-harness belong to a task, and that they give the numbers it reports."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.imports.foreign_files import check_shape, read_json_lines
from harness.imports.lm_eval_schema import SampleLine
from harness.imports.mean_checks import Limits, check_mean, check_stderr, checked_number, largest_stderr
from harness.statistics import mean_estimate

SAMPLES_FILE = "a samples file of lm-evaluation-harness"

Row = Mapping[str, Any]

_MEANS = frozenset({"acc", "acc_norm", "acc_bytes", "exact_match"})
"""Metrics that are means of their documents' scores unless a task says otherwise."""


@dataclass(frozen=True, slots=True)
class Reported:
    """A number that a results file has for a task."""

    key: str
    """Its place in the file."""
    name: str
    """The metric."""
    filter: str
    """The filter, ``none`` for none."""
    mean: float
    """The number."""
    stderr: float | None
    """Its standard error; None if it has none."""

    @property
    def stderr_key(self) -> str:
        """The place of its standard error in the file."""
        before, _, filtered = self.key.rpartition(",")
        return f"{before}_stderr,{filtered}"


def reported_numbers(task: str, written: Row, file: Path, limits: Limits) -> list[Reported]:
    """Return the numbers of a task.

    Raises:
        DataError: One is not a number, or impossible.
    """
    values = written["results"][task]
    found = []
    for key, value in values.items():
        name, comma, filtered = key.partition(",")
        if not comma or name.endswith("_stderr") or value == "N/A":
            continue
        low, high = limits(name)
        mean = checked_number(value, f"results.{task}.{key}", file, low=low, high=high)
        one = Reported(f"results.{task}.{key}", name, filtered, mean, None)
        error = values.get(f"{name}_stderr,{filtered}")
        if error in (None, "N/A") or (isinstance(error, float) and math.isnan(error)):
            found.append(one)
            continue
        stderr = checked_number(error, one.stderr_key, file, low=0.0)
        found.append(Reported(one.key, name, filtered, mean, stderr))
    return found


def read_lines(task: str, written: Row, file: Path) -> list[Row]:
    """Return the lines of a task's samples file.

    Raises:
        DataError: A line has another shape, is listed twice or changed afterwards, or they are those of another task.
    """
    rows: list[Row] = []
    seen: set[tuple[str, str]] = set()
    for number, row in enumerate(read_json_lines(file, SAMPLES_FILE), 1):
        check_shape(SampleLine, row, file, SAMPLES_FILE, row=number)
        place = (str(row["doc_id"]), row.get("filter", "none"))
        if place in seen:
            raise DataError(f"document {place[0]} is listed twice (doc_id, filter {place[1]}).", file=file, row=number)
        seen.add(place)
        hashed = {
            "doc_hash": json.dumps(row.get("doc"), indent=2, ensure_ascii=False),
            # Of a list or tuple the file does not say which of them was hashed.
            **({} if isinstance(row["target"], list | dict) else {"target_hash": str(row["target"])}),
        }
        for key, text in hashed.items():
            if key in row and row[key] != _hash(text):
                message = f"{key} does not match {key.removesuffix('_hash')}, which was changed after the evaluation."
                raise DataError(message, file=file, row=number)
        rows.append(row)
    _check_task(task, rows, written, file)
    return rows


def check_numbers(
    task: str, numbers: Iterable[Reported], rows: Sequence[Row], written: Row, samples: Path, file: Path, limits: Limits
) -> None:
    """Check that the reported means and standard errors are those of the samples.

    Raises:
        DataError: One is not, or a sample's score is impossible.
    """
    means = set(declared_means(task, written))
    for one in numbers:
        scores = [score for _, score in sample_scores(one, rows, samples, limits, required=one.name in means)]
        if one.name not in means or not rows:
            continue
        if not scores:
            raise DataError(f"no sample has a score of {one.name}, but {one.key} is {one.mean:g}.", file=samples)
        check_mean(one.mean, one.key, file, scores, f"samples in {samples.name}")
        if one.stderr is not None:
            where = f"{len(scores)} samples in {samples.name}"
            check_stderr(one.stderr, one.stderr_key, file, mean_estimate(scores, None).stderr, where)


def check_bounds(numbers: Iterable[Reported], count: int, file: Path, limits: Limits) -> None:
    """Check that no standard error is larger than scores from 0 to 1 can give.

    Raises:
        DataError: One is.
    """
    for one in numbers:
        if one.stderr is not None and limits(one.name) == (0.0, 1.0):
            checked_number(one.stderr, one.stderr_key, file, high=largest_stderr(one.mean, count))


def declared_means(task: str, written: Row) -> Iterator[str]:
    """Yield the metrics of a task that are means of their documents' scores."""
    declared = {one["metric"]: one.get("aggregation") for one in written["configs"][task].get("metric_list") or ()}
    for name in dict.fromkeys((*declared, *_MEANS)):
        how = declared.get(name)
        if how == "mean" or (how is None and name in _MEANS):
            yield name


def sample_scores(
    one: Reported, rows: Sequence[Row], samples: Path, limits: Limits, *, required: bool
) -> Iterator[tuple[int, float]]:
    """Yield the place and score of each line that has a score of a metric.

    Args:
        one: The metric.
        rows: The lines.
        samples: The file.
        limits: The metrics' limits.
        required: True if every line that lists the metric must have a number.

    Raises:
        DataError: A score is not a number, or impossible.
    """
    low, high = limits(one.name)
    for place, row in enumerate(rows):
        if row.get("filter", "none") != one.filter:
            continue
        score = row.get(one.name)
        score = float(score) if isinstance(score, bool) else score
        number = isinstance(score, int | float)  # other metrics have lists of what is summed up
        if number or (required and (one.name in row or one.name in row.get("metrics", ()))):
            yield place, checked_number(score, one.name, samples, row=place + 1, low=low, high=high)


def _check_task(task: str, rows: Sequence[Row], written: Row, file: Path) -> None:
    """Check the lines against the hash of the task in the results file, and against its number of documents."""
    stated = (written.get("task_hashes") or {}).get(task)
    keys = ("doc_hash", "prompt_hash", "target_hash")
    if rows and stated is not None and all(isinstance(row.get(key), str) for row in rows for key in keys):
        found = _hash("".join(row[key] for row in rows for key in keys))
        if found != stated:
            message = f"these are not the samples of the task {task} in the results file: their hash is {found[:12]}…,"
            raise DataError(f"{message} not {stated[:12]}… (task_hashes.{task}).", file=file)
    documents = len({str(row["doc_id"]) for row in rows})
    expected = ((written.get("n-samples") or {}).get(task) or {}).get("effective")
    # With a choice of documents (--samples), lm-evaluation-harness counts those that it did not ask.
    if expected is not None and (documents > expected or (documents == 0 and expected > 0)):
        message = f"has {documents} documents, but n-samples.{task}.effective in the results file is {expected}."
        raise DataError(message, file=file)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
