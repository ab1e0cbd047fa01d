"""The determinism grade: what asking the same again may be expected to give."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Determinism(StrEnum):
    """What a model answers if it is asked the same again, with the same software; from the strictest grade down.

    It holds for greedy decoding, log-probabilities and sampling with a seed, and is tested for the built-in backends.
    """

    EXACT = "exact"
    """The same bits, on any machine: answers are looked up, or computed without rounding."""
    FLOAT32 = "float32"
    """The same text, and log-probabilities up to float32's rounding (usually below 1e-4). Another token can come out
    only where two are equally likely up to rounding. The same bits if the whole run is repeated on one CPU with as many
    threads.
    """
    BATCHED = "batched"
    """Rounding, mostly in 16 bits, depends on which requests share a batch, and on the hardware: a
    sample asked again differs in log-probabilities (often by 0.01 to 0.1), and texts can differ.
    """
    PROVIDER = "provider"
    """A server answers, whose hardware, software and batches are unknown: nothing is promised, even with a seed."""
    UNKNOWN = "unknown"
    """The backend does not say."""

    @property
    def meaning(self) -> str:
        """The grade as a short sentence for tables."""
        return _MEANINGS[self]


_MEANINGS = {
    Determinism.EXACT: "The same answers, bit for bit, on any machine.",
    Determinism.FLOAT32: "The same answers up to float32's rounding.",
    Determinism.BATCHED: "Answers depend, by rounding, on batches and hardware.",
    Determinism.PROVIDER: "A server answers; nothing is promised.",
    Determinism.UNKNOWN: "The backend does not say.",
}


def weakest(grades: Iterable[Determinism]) -> Determinism:
    """Return the grade that promises least; of none, ``exact``."""
    order = list(Determinism)
    return max(grades, key=order.index, default=Determinism.EXACT)
