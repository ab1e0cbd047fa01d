"""Which models are checkpoints of one training: their series and steps (:mod:`harness.contracts.training_steps`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.contracts.specs import Component
from harness.contracts.training_steps import TrainingStep
from harness.leaderboard.columns import grouped
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One model of a series."""

    step: int
    """The training step."""
    model: Component
    """The model."""


@dataclass(frozen=True, slots=True)
class Series:
    """The checkpoints of one training."""

    name: str
    """Its name for people, different from that of every other series."""
    key: str
    """What identifies it, as in data frames: :attr:`harness.contracts.training_steps.TrainingStep.series`."""
    checkpoints: tuple[Checkpoint, ...]
    """Its checkpoints, by step."""


def series_of(runs: Iterable[RunRecord]) -> list[Series]:
    """Return the series of at least two steps among the models of some runs, by name.

    What the newest run of a model says about it counts.
    """
    newest = {run.model_key: run.spec for run in sorted(runs, key=lambda run: run.finished)}
    found = [(place, spec.model) for spec in newest.values() if (place := spec.training_step)]
    several = {
        series: sorted(members, key=lambda one: (one[0].step, one[1].label))
        for series, members in grouped(found, lambda one: one[0].series).items()
        if len({place.step for place, _ in members}) > 1
    }
    names = _names([members[0][0] for members in several.values()])
    made = (
        Series(names[series], series, tuple(Checkpoint(place.step, model) for place, model in members))
        for series, members in several.items()
    )
    return sorted(made, key=lambda series: series.name)


def shared_steps(series: Series) -> list[str]:
    """Return a note for each step of a training that several models have."""
    notes = []
    for step, sharing in grouped(series.checkpoints, lambda one: one.step).items():
        if len(sharing) > 1:
            names = [one.model.label for one in sharing]
            both = "both" if len(names) == 2 else "all"
            notes.append(
                f"{series.name}: {', '.join(names[:-1])} and {names[-1]} are {both} step {step}. Comparisons with "
                f"neighbours use {names[-1]} if it has a result. Give each its own step, or another series, in `about`."
            )
    return notes


def _names(places: Sequence[TrainingStep]) -> dict[str, str]:
    """Return a name for each series: the declared one, or the shortest ending that no other has."""
    forms = {place.series: _endings(place) for place in places}
    owners = Counter(form for each in forms.values() for form in set(each))
    return {series: next((form for form in each if owners[form] == 1), each[-1]) for series, each in forms.items()}


def _endings(place: TrainingStep) -> list[str]:
    parts = place.path.partition(":")[2].split("/")
    ends = ["/".join(parts[-size:]) for size in range(1, len(parts) + 1)]
    return [*filter(None, [*ends, place.path]), place.series]
