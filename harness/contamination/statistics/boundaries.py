"""What was asked at the boundaries of a stretch of a data set, and how answers become bets of the next-example test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.contamination.statistics.next_example import Centring


@dataclass(frozen=True, slots=True)
class Boundary:
    """One place between two examples, and the candidates for what comes next."""

    position: int
    """Position in the data set of the example that really comes next."""
    candidates: tuple[int, ...]
    """Indices of the examples that are scored after the prefix, the true next one first."""
    draws: tuple[tuple[int, ...], ...]
    """For each draw of candidates, the indices into ``candidates`` that compete; 0, the true one, first."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a data set: what each of its examples scores anyway is learnt, then its boundaries are bet on."""

    examples: int
    """How many different examples there are; equal texts are one example."""
    neutral: tuple[int, ...]
    """The examples that are scored after contexts drawn independently of the order, one entry a score."""
    boundaries: tuple[Boundary, ...]
    """The boundaries, in the data set's order."""

    @property
    def scores(self) -> int:
        """How many scores are asked for: the neutral ones, then each boundary's candidates."""
        return len(self.neutral) + sum(len(boundary.candidates) for boundary in self.boundaries)

    def bets(self, scores: Sequence[float]) -> Iterator[tuple[int, list[list[float]]]]:
        """Yield each boundary's position with its candidates' centred scores, the true one's first, for each draw.

        Equal examples share what they score. A boundary one of whose candidates has no score to compare with, or
        all of which are equal, is left out: a rule on the set of candidates, so that ranks stay uniform under the null.

        Args:
            scores: Log-likelihoods in nats, as many as :attr:`scores`, in that order.

        Raises:
            ValueError: There are more or fewer.
        """
        if len(scores) != self.scores:
            raise ValueError(f"{len(scores)} scores, of {self.scores}")
        centring = Centring(self.examples)
        for example, score in zip(self.neutral, scores, strict=False):
            centring.neutral(example, score)
        start = len(self.neutral)
        for boundary in self.boundaries:
            end = start + len(boundary.candidates)
            asked = dict(zip(reversed(boundary.candidates), reversed(scores[start:end]), strict=True))
            different = tuple(dict.fromkeys(boundary.candidates))
            start = end
            if len(different) < 2:
                continue
            centred = centring.bet(different, [asked[example] for example in different])
            if centred is not None:
                known = dict(zip(different, centred, strict=True))
                yield (
                    boundary.position,
                    [[known[boundary.candidates[place]] for place in draw] for draw in boundary.draws],
                )

    def encoded(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "examples": self.examples,
            "neutral": list(self.neutral),
            "boundaries": [
                [boundary.position, list(boundary.candidates), [list(draw) for draw in boundary.draws]]
                for boundary in self.boundaries
            ],
        }

    @classmethod
    def decoded(cls, value: Mapping[str, Any]) -> Stretch:
        """Return what :meth:`encoded` made JSON values of."""
        return cls(
            value["examples"],
            tuple(value["neutral"]),
            tuple(
                Boundary(position, tuple(candidates), tuple(map(tuple, draws)))
                for position, candidates, draws in value["boundaries"]
            ),
        )
