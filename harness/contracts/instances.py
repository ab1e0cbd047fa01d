"""What a scenario yields: instances with their references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any


class Split(StrEnum):
    """The part of a data set that an instance belongs to."""

    TRAIN = "train"
    VALID = "valid"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Reference:
    """One possible answer."""

    text: str
    """The answer as the data set gives it."""
    correct: bool = False
    """Whether it is right."""
    relevance: int | None = None
    """Graded relevance for ranking scenarios (0 is irrelevant); None elsewhere."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One question of a scenario."""

    id: str
    """Stable: a re-run, another machine and another order give the same id."""
    input: str
    """The text that is put to the model, without any prompt format."""
    references: tuple[Reference, ...] = ()
    """Possible answers, correct and wrong; empty for open generation and language modelling."""
    split: Split = Split.TEST
    """The part of the data set that it belongs to."""
    perturbation: str | None = None
    """Name of the perturbation that changed it; the id stays that of the original."""
    published: str = field(default="", compare=False)
    """The example verbatim as its authors published it, labels included, or as near to that as the file format lets one
    come; empty where the scenario does not say. It is not kept with a run's examples.
    """
    meta: Mapping[str, Any] = field(default_factory=dict)
    """What a scenario wants its adapters and metrics to see (group labels, unit tests); JSON values only."""

    @property
    def correct(self) -> tuple[Reference, ...]:
        """The references that are right, in the scenario's order."""
        return tuple(reference for reference in self.references if reference.correct)

    def replace(self, **changes: Any) -> Instance:
        """Return a copy with the given fields changed."""
        return replace(self, **changes)
