"""How often tests of the order reject although no order matters: simulated scores, and the scores of controls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.contamination.statistics.relabelling import relabelling_test
from harness.contamination.statistics.sharded_t import sharded_t

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    World = Callable[[np.random.Generator, int, int], Floats]

LEVELS = (0.05, 0.01)
SHUFFLES = 25
"""Shuffled orders of each shard, as published."""


def normal(rng: np.random.Generator, shards: int, shuffles: int) -> Floats:
    """Return scores from a normal distribution, shape (shards, 1 + shuffles), as the other worlds do."""
    return rng.normal(size=(shards, shuffles + 1))


def student(rng: np.random.Generator, shards: int, shuffles: int) -> Floats:
    """Return scores from a t-distribution with 3 degrees of freedom."""
    return rng.standard_t(3, size=(shards, shuffles + 1))


def right_skew(rng: np.random.Generator, shards: int, shuffles: int) -> Floats:
    """Return scores of which a tenth are much higher: orders that put two near duplicates side by side."""
    size = (shards, shuffles + 1)
    return rng.normal(0.0, 0.5, size=size) + 4.0 * (rng.random(size) < 0.1)


def left_skew(rng: np.random.Generator, shards: int, shuffles: int) -> Floats:
    """Return scores of which a tenth are much lower: orders that part two examples that fit."""
    size = (shards, shuffles + 1)
    return rng.normal(0.0, 0.5, size=size) - 4.0 * (rng.random(size) < 0.1)


def uneven_left_skew(rng: np.random.Generator, shards: int, shuffles: int) -> Floats:
    """Return such scores from shards of different lengths."""
    return left_skew(rng, shards, shuffles) * np.exp(rng.normal(size=(shards, 1)))


WORLDS: Mapping[str, tuple[World, int]] = {
    "normal, 10 shards": (normal, 10),
    "t with 3 df, 10 shards": (student, 10),
    "right skew, 10 shards": (right_skew, 10),
    "left skew, 10 shards": (left_skew, 10),
    "left skew, 50 shards": (left_skew, 50),
    "uneven, left skew, 50 shards": (uneven_left_skew, 50),
}
"""Kinds of scores that do not depend on which order was published, with the number of shards."""


def simulated_alarms(world: World, shards: int, nulls: int, seed: int) -> list[float]:
    """Return the shares of draws that the t-test rejects at each of :data:`LEVELS`, then those of the exact test."""
    rng = np.random.default_rng(seed)
    return _shares([world(rng, shards, SHUFFLES) for _ in range(nulls)])


def control_alarms(controls: Sequence[Sequence[Mapping[str, Any]]], nulls: int, seed: int) -> list[float]:
    """Return the same for the shard scores of controls, in which a random order of each shard counts as published."""
    rng = np.random.default_rng(seed)
    tables = [np.array([[one["canonical"], *one["shuffled"]] for one in control]) for control in controls]
    drawn = [rng.permuted(tables[number % len(tables)], axis=1) for number in range(nulls)]
    return _shares(drawn)


def _shares(tables: Sequence[Floats]) -> list[float]:
    by_test = [
        [sharded_t(table).log10_p for table in tables],
        [relabelling_test(table).log10_p for table in tables],
    ]
    return [sum(p <= math.log10(level) + 1e-12 for p in found) / len(found) for found in by_test for level in LEVELS]
