"""The next-example test's questions about a stretch of a data set, and the scores that its answers give.

Four examples A B C D in published order, two candidates a boundary, and one neutral context N::

    asked first      N→A  N→B  N→C  N→D               what each example scores anyway (its baseline)
    boundary 1       A→B*  A→D                        * the example that really comes next
    boundary 2       A B→C*  A B→D
    boundary 3       one candidate is left: nothing is asked

    scores           (-9, -7, -8, -8), (-5, -9), (-4, -8)      in this order, nats
    centred          B: -5 + 7 = 2, D: -9 + 8 = -1             the score less the baseline: B* ranks first of 2

The loser of a boundary is also a score of D after a context, so D's baseline at boundary 2 is the mean of -8 and
-9 less that boundary's mean centred score (0.5): -8.75. Its centred score there is -8 + 8.75 = 0.75, and that of C* is
-4 + 8 = 4.

A first look may score some of a boundary's candidates after one context; a second look then scores the others, and all
of them after a second context, a longer one. Each then bets with the mean of its two scores::

    first look       N→A  N→B  N→C  N→D    A→B*  A→C     A B→C*  A B→D
    second look      boundary 1: A→D               boundary 2: B→C*  B→D
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from harness.contamination.statistics.next_example import Centring


@dataclass(frozen=True, slots=True)
class Boundary:
    """One place between two examples, and the candidates for what comes next."""

    position: int
    """Position in the data set of the example that really comes next."""
    candidates: tuple[int, ...]
    """The examples that may come next, the true one first, then the others of a first look."""
    first: int
    """Number of candidates, from the first, that a first look scores."""
    again: bool = False
    """True if all candidates are also scored after a second context."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of neighbouring examples: the requests that learn their baselines, then those of its boundaries."""

    examples: int
    """Number of different examples; equal texts are one example."""
    neutral: tuple[int, ...]
    """For each score after a context drawn independently of the order, the example that is scored."""
    boundaries: tuple[Boundary, ...]
    """The boundaries, in the data set's order."""

    @property
    def first_scores(self) -> int:
        """Number of scores of a first look: after neutral contexts, then of each boundary's first candidates."""
        return len(self.neutral) + sum(boundary.first for boundary in self.boundaries)

    @property
    def scores(self) -> int:
        """Number of all scores: the first look's, then each boundary's others, and all again after a second context."""
        return len(self.neutral) + sum(len(one.candidates) * (2 if one.again else 1) for one in self.boundaries)

    def centred_scores(self, scores: Sequence[float]) -> Iterator[tuple[int, list[float]]]:
        """Yield each boundary's position with its candidates' centred scores, the true one's first.

        Equal examples share a score. A boundary is left out if a candidate has no baseline or all candidates are equal.
        That rule looks at the set of candidates alone, so ranks stay uniform under the null hypothesis.

        Args:
            scores: Log-likelihoods in nats, in the order described at :attr:`scores`: all, or those of a first look.

        Raises:
            ValueError: There are more or fewer.
        """
        if len(scores) not in (self.first_scores, self.scores):
            raise ValueError(f"{len(scores)} scores where {self.first_scores} or {self.scores} are expected")
        centring = Centring(self.examples)
        for example, score in zip(self.neutral, scores, strict=False):
            centring.neutral(example, score)
        for boundary, means in zip(self.boundaries, self._means(scores), strict=True):
            # Of equal examples the first score counts.
            asked = dict(zip(reversed(boundary.candidates[: len(means)]), reversed(means), strict=True))
            different = list(dict.fromkeys(boundary.candidates[: len(means)]))
            if len(different) < 2:
                continue
            centred = centring.bet(different, [asked[example] for example in different])
            if centred is not None:
                known = dict(zip(different, centred, strict=True))
                yield boundary.position, [known[example] for example in boundary.candidates[: len(means)]]

    def _means(self, scores: Sequence[float]) -> Iterator[list[float]]:
        """Yield the scores of each boundary's candidates, their mean where they are scored after two contexts."""
        rest = iter(scores)
        for _ in self.neutral:
            next(rest)
        found = [list(islice(rest, boundary.first)) for boundary in self.boundaries]
        if len(scores) == self.scores:
            for boundary, own in zip(self.boundaries, found, strict=True):
                own.extend(islice(rest, len(boundary.candidates) - boundary.first))
                if boundary.again:
                    own[:] = [(one + other) / 2 for one, other in zip(own, islice(rest, len(own)), strict=True)]
        yield from found

    def parts(self, most: int) -> list[Stretch]:
        """Return the stretch in parts of at most that many boundaries, of which the first has the neutral contexts."""
        starts = range(0, max(1, len(self.boundaries)), most)
        return [
            Stretch(self.examples, () if start else self.neutral, self.boundaries[start : start + most])
            for start in starts
        ]

    def joined(self, later: Stretch) -> Stretch:
        """Return the stretch with its next part, whose scores follow those of this one."""
        return Stretch(self.examples, self.neutral, (*self.boundaries, *later.boundaries))

    def as_json(self) -> dict[str, Any]:
        """Return the stretch as JSON values."""
        return {
            "examples": self.examples,
            "neutral": list(self.neutral),
            "boundaries": [
                [boundary.position, list(boundary.candidates), boundary.first, boundary.again]
                for boundary in self.boundaries
            ],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Stretch:
        """Return the stretch that :meth:`as_json` encoded."""
        return cls(
            value["examples"],
            tuple(value["neutral"]),
            tuple(
                Boundary(position, tuple(candidates), first, again)
                for position, candidates, first, again in value["boundaries"]
            ),
        )
