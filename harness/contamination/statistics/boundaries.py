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
    """The examples that may come next, the true one first."""


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
    def scores(self) -> int:
        """Number of scores: after neutral contexts, then of each boundary's candidates."""
        return len(self.neutral) + sum(len(boundary.candidates) for boundary in self.boundaries)

    def centred_scores(self, scores: Sequence[float]) -> Iterator[tuple[int, list[float]]]:
        """Yield each boundary's position with its candidates' centred scores, the true one's first.

        Equal examples share a score. A boundary is left out if a candidate has no baseline or all candidates are equal.
        That rule looks at the set of candidates alone, so ranks stay uniform under the null hypothesis.

        Args:
            scores: Log-likelihoods in nats, in the order described at :attr:`scores`.

        Raises:
            ValueError: There are more or fewer.
        """
        if len(scores) != self.scores:
            raise ValueError(f"{len(scores)} scores where {self.scores} are expected")
        centring = Centring(self.examples)
        rest = iter(scores)
        for example in self.neutral:
            centring.neutral(example, next(rest))
        for boundary in self.boundaries:
            own = list(islice(rest, len(boundary.candidates)))
            # Of equal examples the first score counts.
            asked = dict(zip(reversed(boundary.candidates), reversed(own), strict=True))
            different = list(dict.fromkeys(boundary.candidates))
            if len(different) < 2:
                continue
            centred = centring.bet(different, [asked[example] for example in different])
            if centred is not None:
                known = dict(zip(different, centred, strict=True))
                yield boundary.position, [known[example] for example in boundary.candidates]

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
            "boundaries": [[boundary.position, list(boundary.candidates)] for boundary in self.boundaries],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Stretch:
        """Return the stretch that :meth:`as_json` encoded."""
        return cls(
            value["examples"],
            tuple(value["neutral"]),
            tuple(Boundary(position, tuple(candidates)) for position, candidates in value["boundaries"]),
        )
