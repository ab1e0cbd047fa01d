"""The scores of single instances in HELM's per-instance stats, and which of them a stat is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from harness.errors import DataError
from harness.imports.helm_examples import Key, perturbation_name
from harness.imports.mean_checks import Limits, checked_number

KINDS = frozenset({"robustness", "fairness"})
"""Kinds of perturbations. HELM names the worst case over a kind after it; without perturbations, it is the
original's value."""


@dataclass(frozen=True, slots=True)
class HelmScores:
    """The scores of a run's instances, and the kinds of their perturbed copies."""

    by_split: Mapping[str | None, Mapping[Key, Mapping[str, float]]] | None
    """By split; None if the run has no file of them."""
    kinds: Mapping[str, frozenset[str]]
    """The perturbations of each kind."""
    own: bool
    """True if this harness wrote the run."""

    def of(self, about: Mapping[str, Any], computed_on: str, *, higher: bool | None) -> list[float] | None:
        """Return the score of each instance that a stat is about; None if they do not follow from the file."""
        if self.by_split is None or about.get("sub_split") is not None:
            return None
        changed = perturbation_name(about.get("perturbation"))
        table: dict[tuple[str, int], dict[str | None, float]] = {}
        for (instance, copy, trial), values in self.by_split.get(about["split"], {}).items():
            if about["name"] in values:
                table.setdefault((instance, trial), {})[copy] = values[about["name"]]
        if computed_on == "perturbed" or changed is None:
            return _over_trials({place: found[changed] for place, found in table.items() if changed in found})
        copies = {changed, *self.kinds.get(changed, ())}
        table = {place: found for place, found in table.items() if None in found and copies & found.keys()}
        if computed_on == "original":
            return _over_trials({place: found[None] for place, found in table.items()})
        if not self.own:  # HELM takes the smallest score in each trial, even if lower is better
            return _over_trials(
                {place: min(score for copy, score in found.items() if copy is None or copy in copies)
                 for place, found in table.items()}
            )  # fmt: skip
        pick = max if higher is False else min
        worst: dict[str, dict[str | None, list[float]]] = {}
        for (instance, _), found in table.items():
            for copy, score in found.items():
                if copy is None or copy in copies:
                    worst.setdefault(instance, {}).setdefault(copy, []).append(score)
        return [pick(fmean(each) for each in found.values()) for found in worst.values()]


def _over_trials(scores: Mapping[tuple[str, int], float]) -> list[float]:
    trials: dict[str, list[float]] = {}
    for (instance, _), score in scores.items():
        trials.setdefault(instance, []).append(score)
    return [fmean(values) for values in trials.values()]


def instance_scores(
    rows: Iterable[Mapping[str, Any]], file: Path, limits: Limits
) -> dict[str | None, dict[Key, dict[str, float]]]:
    """Return the scores of single instances by split: a run has instances of several, and a stat is over one's.

    Raises:
        DataError: A score is not a number, impossible, or listed twice.
    """
    found: dict[str | None, dict[Key, dict[str, float]]] = {}
    for number, row in enumerate(rows):
        key = row_key(row)
        for place, stat in enumerate(row["stats"]):
            name = str(stat["name"]["name"])
            if "mean" not in stat:
                continue
            low, high = limits(name)
            where = f"[{number}].stats[{place}].mean ({name})"
            score = checked_number(stat["mean"], where, file, low=low, high=high)
            table = found.setdefault(stat["name"].get("split"), {}).setdefault(key, {})
            if table.setdefault(name, score) != score:  # metrics may share a stat, but not its value
                raise DataError(f"{where} is {score:g}, but an earlier entry has {table[name]:g}.", file=file)
    return found


def row_key(row: Mapping[str, Any]) -> Key:
    """Return the key of the instance that stats are about."""
    return str(row["instance_id"]), perturbation_name(row.get("perturbation")), int(row["train_trial_index"])


def kinds_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, frozenset[str]]:
    """Return the perturbations of each kind among the instances."""
    copies = [one for row in rows if (one := row.get("perturbation"))]
    return {kind: frozenset(str(one["name"]) for one in copies if one.get(kind) is True) for kind in KINDS}
