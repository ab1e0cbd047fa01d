"""Which examples share a long run of words with a folder of text?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of a data set stands in a corpus.

    Attributes:
        n: Words of a run.
        counts: Per example, how many of its distinct runs stand in the corpus; None where it is shorter than a run.
        files: Files read.
        words: Words read.
    """

    n: int
    counts: tuple[int | None, ...]
    files: int
    words: int

    @property
    def share(self) -> float | None:
        """Share of the examples long enough that have a hit; None where none is."""
        examined = [count for count in self.counts if count is not None]
        return sum(count > 0 for count in examined) / len(examined) if examined else None


def overlap(texts: Sequence[str], corpus: Path, n: int = 13) -> Overlap:
    """Count the runs of ``n`` words that each example shares with the files of a folder.

    Args:
        texts: The examples.
        corpus: A folder, read with all that is below it.
        n: Words of a run.
    """
    raise NotImplementedError
