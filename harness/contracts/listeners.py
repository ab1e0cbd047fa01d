"""Listeners: what is given each run of a sweep as it ends, such as an experiment tracker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contracts.metrics import Stat
from harness.contracts.specs import RunSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A run that has ended, as listeners get it."""

    folder: Path
    """The run's folder: ``run.json``, and ``examples.jsonl.gz`` unless it failed before any were written."""
    suite: str
    """The suite that the run belongs to."""
    name: str
    """The run's name, which is also its folder's; unique within the suite."""
    spec: RunSpec
    """The resolved settings."""
    model: str
    """The model's name for people."""
    series: str | None = None
    """The training of which the model is a checkpoint; None if it is not known to be one."""
    step: int | None = None
    """The checkpoint's training step; None without a series."""
    title: str
    """The scenario with its parameters, and the settings that tell it from the sweep's other runs of the scenario."""
    error: str | None = None
    """Why the run failed; None if it did not."""
    stats: Sequence[Stat] = ()
    """Every statistic of the run."""
    efficiency: Mapping[str, Any]
    """Requests, tokens, seconds, and where known money and energy, as in run.json."""
    samples: Callable[[], Iterator[Mapping[str, Any]]]
    """Reads the run's examples from the disk, each as a row: ``id``, ``input``, ``prediction``, ``score_…`` and so on.
    It raises a :class:`harness.DataError` if the file is damaged."""

    def metrics(self) -> dict[str, float]:
        """Return the means of all statistics, and the standard error of those over all unperturbed instances.

        The keys are ``TITLE/METRIC``, followed by perturbation, kind of comparison and group where there are any:
        ``boolq/exact_match``, ``boolq/exact_match_stderr``, ``boolq/exact_match/robustness/worst``.
        """
        found: dict[str, float] = {}
        for stat in self.stats:
            about = (stat.perturbation, None if stat.computed_on == "original" else stat.computed_on, stat.group)
            key = "/".join([self.title, stat.metric, *filter(None, about)])
            found[key] = stat.mean
            if stat.overall and stat.stderr is not None:
                found[f"{key}_stderr"] = stat.stderr
        return found


class Listener(ABC):
    """Receives the runs of a sweep as they end.

    One thread calls it, beside the sweep, so that a slow server does not hold the sweep up; an error ends what is sent
    to this listener, and nothing else. A run may come again after an interruption, and must then not count twice.
    """

    @abstractmethod
    def run_ended(self, run: FinishedRun) -> None:
        """Take a run that has ended, successfully or not.

        Raises:
            Exception: Any error; the harness reports it, and how to send the rest later.
        """

    def close(self) -> None:  # noqa: B027 - most have nothing to do
        """Send what is left. Runs count as sent only once this has returned.

        Raises:
            Exception: Any error, as with :meth:`run_ended`.
        """
