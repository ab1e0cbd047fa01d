"""A run's tasks, for formats that know neither splits nor perturbed copies: a task for each of their combinations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from harness.contracts import Example, Stat
from harness.contracts.specs import RunSpec
from harness.exports.output_folder import portable_name
from harness.exports.privacy import public_text
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """The instances of a run that have the same split and the same perturbation."""

    split: str
    """The split."""
    perturbation: str
    """The perturbation; empty for the originals."""

    @classmethod
    def of(cls, example: Example) -> Task:
        """Return the task that an example belongs to."""
        return cls(str(example.instance.split), example.instance.perturbation or "")

    @classmethod
    def main(cls, spec: RunSpec) -> Task:
        """Return the task of a run's main metric."""
        return cls(spec.eval_split.value, "")

    def suffix(self, spec: RunSpec) -> str:
        """Return what distinguishes the task's name from the main task's: ``_typos``, ``_train``."""
        split = "" if self.split == spec.eval_split.value else self.split
        return "".join(f"_{part}" for part in (split, self.perturbation) if part)

    def means(self, record: RunRecord) -> list[Stat]:
        """Return the statistics over all of the task's instances."""
        return [stat for stat in record.stats if self._has(stat) and is_plain(stat)]

    def derived(self, record: RunRecord) -> list[Stat]:
        """Return the other statistics of the task: of groups, worst cases and drops.

        Those over all perturbations of a kind belong to the main task.
        """
        known = {component.name for component in record.spec.perturbations}
        main = self == Task.main(record.spec)
        return [
            stat
            for stat in record.stats
            if not (is_plain(stat) and (stat.perturbation or "") in {"", *known})
            and (self._has(stat) or (main and stat.split == self.split and stat.perturbation not in {None, *known}))
        ]

    def _has(self, stat: Stat) -> bool:
        return stat.split == self.split and (stat.perturbation or "") == self.perturbation


def is_plain(stat: Stat) -> bool:
    """Return True for a statistic over all instances, of a group neither nor of pairs of instances."""
    return stat.group is None and stat.computed_on == ("perturbed" if stat.perturbation else "original")


def is_mean(stat: Stat, scores: Mapping[str, Sequence[float]]) -> bool:
    """Return True if a statistic is the mean over instances of the means of their examples."""
    if not scores or len(scores) != stat.count:
        return False
    each = [math.fsum(values) / len(values) for values in scores.values()]
    return math.isclose(math.fsum(each) / len(each), stat.mean, rel_tol=1e-9, abs_tol=1e-9)


def repeat_of(example: Example, samples: int) -> int:
    """Return the number of an instance's example, from 0: train trials one after the other, each with its samples."""
    return example.trial * samples + example.sample


def scenario_name(spec: RunSpec, separator: str = "_") -> str:
    """Return a scenario's name with the arguments that choose its data, as one word: ``mmlu_anatomy``."""
    chosen = [str(spec.scenario.arguments[part]) for part in spec.parts if part in spec.scenario.arguments]
    words = [portable_name(public_text(one).replace(" ", "-")) for one in (spec.scenario.name, *chosen)]
    return separator.join(words)


def moment(written: str) -> datetime:
    """Return a run's time; 1970 if it is unknown."""
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def file_date(written: str) -> str:
    """Return a time as other harnesses have it in names of files, ``2026-11-21T00-31-06.000000``."""
    return moment(written).astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
