"""How often tests of the order reject although no order matters: simulated scores, and the scores of controls."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.contamination.statistics.relabelling import relabelling_test
from harness.contamination.statistics.sharded_t import sharded_t
from harness.storage.durable import writing

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


def world_draws(world: World, shards: int, seed: int) -> Iterator[Floats]:
    """Yield draws of scores from a world, endlessly; the same seed gives the same draws."""
    rng = np.random.default_rng(seed)
    while True:
        yield world(rng, shards, SHUFFLES)


def control_draws(controls: Sequence[Sequence[Mapping[str, Any]]], seed: int) -> Iterator[Floats]:
    """Yield the shard scores of controls in turn, with a random order of each shard as the published one."""
    rng = np.random.default_rng(seed)
    tables = [np.array([[one["canonical"], *one["shuffled"]] for one in control]) for control in controls]
    for table in cycle(tables):
        yield rng.permuted(table, axis=1)


def false_alarm_rates(
    draws: Iterator[Floats], count: int, file: Path | None = None, tested: Callable[[int], None] = lambda number: None
) -> list[float]:
    """Return the shares of draws that the t-test rejects at each of :data:`LEVELS`, then those of the exact test.

    Args:
        draws: Scores that do not depend on which order was published.
        count: How many draws to test.
        file: Stores the p-values of each draw as soon as it is tested, so that an interrupted simulation continues, and
            one with more draws tests only the new ones. It must belong to these draws; None to store nothing.
        tested: Called with the number of draws tested since the last call; first with the number in the file.

    Raises:
        StorageError: The file cannot be read or written.
    """
    found = _p_values(draws, count, tested) if file is None else _kept_p_values(draws, count, file, tested)
    by_test = list(zip(*found, strict=True))
    return [sum(p <= math.log10(level) + 1e-12 for p in p_values) / count for p_values in by_test for level in LEVELS]


def simulation_seconds(folder: Path, draws: int, seed: int) -> float:
    """Estimate how long the simulation of all kinds of scores will take on one core.

    The scores of controls are not known yet; they are expected to take as long as the last of :data:`WORLDS`.
    """
    seconds = left = 0.0
    for name, (_, shards) in WORLDS.items():
        left = max(0, draws - len(_read(world_file(folder, name, shards, seed)))) * _draw_seconds(shards)
        seconds += left
    return seconds + left


def _draw_seconds(shards: int) -> float:
    """Return the time of both tests of one draw, as measured on one core of a server of 2022."""
    return 0.0035 + 0.00014 * shards


def world_file(folder: Path, name: str, shards: int, seed: int) -> Path:
    """Return the file of a world's draws."""
    return simulation_file(folder, scores=name, shards=shards, shuffles=SHUFFLES, seed=seed)


def simulation_file(folder: Path, **about: Any) -> Path:
    """Return the file of the draws that these values determine; its name has a readable part and their digest."""
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]
    name = re.sub(r"[^a-z0-9]+", "-", str(about["scores"]).lower()).strip("-")
    return folder / f"{name}-{digest}.jsonl"


PValues = tuple[float, float]
"""Log10 p of the t-test and of the exact test."""


def _p_values(draws: Iterator[Floats], count: int, tested: Callable[[int], None]) -> list[PValues]:
    found = []
    for draw in islice(draws, count):
        found.append(_tested(draw))
        tested(1)
    return found


def _tested(draw: Floats) -> PValues:
    return sharded_t(draw).log10_p, relabelling_test(draw).log10_p


def _kept_p_values(draws: Iterator[Floats], count: int, file: Path, tested: Callable[[int], None]) -> list[PValues]:
    """Return p-values, first those in the file, in which a line is a draw's number, from 0, and its p-values."""
    with writing(file):
        found = _read(file)
        tested(min(len(found), count))
        if len(found) >= count:
            return found[:count]
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as lines:
            lines.write("\n" if lines.tell() else "")  # ends a line that was cut off when the process was killed
            # Draws that are in the file are generated again, but not tested, to restore the generator's state.
            for number, draw in islice(enumerate(draws), len(found), count):
                values = _tested(draw)
                found.append(values)
                lines.write(f"{json.dumps([number, *values])}\n")
                lines.flush()
                tested(1)
    return found


def _read(file: Path) -> list[PValues]:
    """Return the p-values of a file's draws up to the first missing one; damaged and repeated lines are ignored."""
    found: list[PValues] = []
    if not file.exists():
        return found
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            number, by_t, exact = json.loads(line)
            values = float(by_t), float(exact)
        except (ValueError, TypeError):
            continue
        if number == len(found):
            found.append(values)
    return found
