"""Composite scores: one number for several runs of a model, such as the mean that a leaderboard ranks by.

A score is a mean over *members*, each of which is the mean of its runs::

    macro    every member counts the same, and every run of a member      MMLU, (GPQA main, GPQA diamond)
    micro    every instance counts the same, whatever its run

A run's score x may be rescaled first, from its chance level c: max(0, (x − c) / (1 − c)).
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScoredRun(_Frozen):
    """A run that a score needs of every model."""

    label: str
    """The scenario with its parameters, for people."""
    question: str
    """Identifies the run without the model (:attr:`harness.contracts.specs.RunSpec.question_digest`)."""
    chance: float = Field(0.0, ge=0, lt=1)
    """The score that guessing gets, which is rescaled to 0."""


class ScoreMember(_Frozen):
    """Runs that count together as one part of a score."""

    name: str
    """Its name in messages."""
    runs: tuple[ScoredRun, ...]
    """Its runs."""


class CompositeScore(_Frozen):
    """One score over several runs; a model that lacks one of them has none."""

    name: str
    """Its name, unique in its sweep."""
    title: str = ""
    """Its title for people; empty for the name."""
    mean: Literal["macro", "micro"] = "macro"
    """How the runs are weighted."""
    members: tuple[ScoreMember, ...]
    """What it is the mean of."""

    @property
    def runs(self) -> tuple[ScoredRun, ...]:
        """The runs of all members."""
        return tuple(run for member in self.members for run in member.runs)

    @property
    def identity(self) -> str:
        """The definition without the title, as JSON: equal for the same score of several suites."""
        return json.dumps(self.model_dump(mode="json", exclude={"title"}), sort_keys=True)
