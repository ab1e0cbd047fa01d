"""Runs as exporters read them: the record, and its examples with scores and judges' verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contracts import Example, Stat
from harness.errors import DataError
from harness.storage.encoding import decode_example
from harness.storage.example_files import EXAMPLES_FILE, example_lines, has_examples
from harness.storage.results import RUN_FILE, RunRecord, find_runs, read_run, suite_directories


@dataclass(frozen=True, slots=True)
class StoredExample:
    """One example with what was said about it."""

    example: Example
    """The example."""
    scores: Mapping[str, float]
    """Its scores by metric."""
    judgements: Sequence[Mapping[str, Any]]
    """What judges said, as in ``examples.jsonl.gz``: ``metric``, ``judge``, ``text``, ``rating`` and so on."""
    error: str | None
    """Why it has no scores; None if it was scored."""


@dataclass(frozen=True)
class StoredRun:
    """A finished run."""

    record: RunRecord
    """Its run.json."""

    @property
    def has_examples(self) -> bool:
        """True if the run has kept its examples."""
        return has_examples(self.record)

    @property
    def main_stat(self) -> Stat | None:
        """The main metric over all unperturbed instances of the evaluated split; None if the run lacks it or failed."""
        spec = self.record.spec
        if self.record.status != "ok":
            return None
        return next(
            (
                stat
                for stat in self.record.stats
                if stat.overall and stat.metric == spec.main_metric and stat.split == spec.eval_split.value
            ),
            None,
        )

    def examples(self) -> Iterator[StoredExample]:
        """Yield the run's examples one by one; none if it has not kept them.

        Raises:
            DataError: The file is damaged, or not the one that the record describes.
        """
        if self.record.examples is None:
            return
        for number, line in enumerate(example_lines(self.record), 1):
            try:
                value = json.loads(line)
                yield StoredExample(
                    decode_example(value), value.get("scores", {}), value.get("judgements", ()), value.get("error")
                )
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                file = self.record.directory / EXAMPLES_FILE
                raise DataError(f"not an example ({error}).", file=file, row=number) from error


def stored_runs(path: Path, suites: Sequence[str] | None = None) -> list[StoredRun]:
    """Return the runs of a results folder, of a suite's folder, or of one run's folder, by suite and name.

    Args:
        path: The folder.
        suites: Only these suites of a results folder; None for all.

    Raises:
        DataError: The folder holds no runs, or a suite does not exist.
    """
    if (path / RUN_FILE).exists():
        return [StoredRun(read_run(path))]
    if suites is None and suite_directories(path):
        return [StoredRun(record) for record in find_runs(path.parent, [path.name])]
    found = [StoredRun(record) for record in find_runs(path, suites)]
    if not found:
        raise DataError(f"{path} holds no runs: there is no {RUN_FILE} in it, in its suites or in their runs.")
    return found
