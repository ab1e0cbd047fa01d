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
    """One possible answer.

    Attributes:
        text: The answer as the data set gives it.
        correct: Whether it is right.
        relevance: Graded relevance for ranking scenarios (0 is irrelevant); None elsewhere.
    """

    text: str
    correct: bool = False
    relevance: int | None = None


@dataclass(frozen=True, slots=True)
class Instance:
    """One question of a scenario.

    Attributes:
        id: Stable: a re-run, another machine and another order give the same id.
        input: The text that is put to the model, without any prompt format.
        references: Possible answers, correct and wrong; empty for open generation and language modelling.
        split: The part of the data set that it belongs to.
        perturbation: Name of the perturbation that changed it; the id stays that of the original.
        published: The example verbatim as its authors published it, labels included, or as near to that as the file
            format lets one come; empty where the scenario does not say. It is not kept with a run's examples.
        meta: What a scenario wants its adapters and metrics to see (group labels, unit tests); JSON values only.
    """

    id: str
    input: str
    references: tuple[Reference, ...] = ()
    split: Split = Split.TEST
    perturbation: str | None = None
    published: str = field(default="", compare=False)
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def correct(self) -> tuple[Reference, ...]:
        """The references that are right, in the scenario's order."""
        return tuple(reference for reference in self.references if reference.correct)

    def replace(self, **changes: Any) -> Instance:
        """Return a copy with the given fields changed."""
        return replace(self, **changes)
