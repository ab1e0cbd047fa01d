"""Texts that are made up, in an order that is random."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

_SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in ("a", "e", "i", "o", "u", "an", "el", "or")]


@pytest.fixture(scope="session")
def made_up() -> Callable[..., list[str]]:
    """A function that makes questions of invented words, about as often repeated as words are."""

    def make(n: int, seed: int = 0) -> list[str]:
        rng = Random(seed)
        words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 3))) for _ in range(2000)]
        weights = [1 / (rank + 3) for rank in range(len(words))]
        texts = []
        for _ in range(n):
            drawn = rng.choices(words, weights, k=rng.randint(6, 30))
            texts.append(f"Question: {' '.join(drawn)}?\nAnswer: {rng.choice(['yes', 'no'])}")
        return texts

    return make
