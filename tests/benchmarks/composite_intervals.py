"""How often the 95 % interval of a composite score covers the truth, and how wide it is.

::

    python -m tests.benchmarks.composite_intervals [REPLICATIONS]

Each row simulates a score over independent runs with the given numbers of instances and true accuracies, or over two
runs that share their instances. The width is relative to that of a normal interval with the true standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from harness.contracts import SCALES, Split, Stat
from harness.leaderboard.composites import Part, composite_estimate
from harness.statistics import mean_estimate
from harness.storage.instance_scores import KEY_BYTES, InstanceScores


@dataclass(frozen=True)
class Case:
    """One score that is simulated."""

    name: str
    sizes: Sequence[int]
    truths: Sequence[float]
    chances: Sequence[float]
    micro: bool = False
    bounded: bool = True
    correlation: float = 0.0
    """Share of instances that two runs answer alike beyond chance; they then share their instances."""


def cases() -> Iterator[Case]:
    """Yield the cases of the table."""
    for n in (20, 100, 1000):
        yield Case(f"capabilities: 5 runs of {n}", [n] * 5, [0.9, 0.6, 0.8, 0.5, 0.4], [0.0] * 5)
        yield Case(f"near the top: 5 runs of {n}", [n] * 5, [0.97, 0.99, 0.95, 0.98, 1.0], [0.0] * 5)
        yield Case(f"micro, unequal: {n}, {3 * n}, {10 * n}", [n, 3 * n, 10 * n], [0.3, 0.8, 0.6], [0.0] * 3, True)
        yield Case(f"above chance: 24 runs of {n}", [n] * 24, [0.6] * 24, [0.5, 0.25] * 12)
        yield Case(f"half at chance: 24 runs of {n}", [n] * 24, [0.5, 0.6] * 12, [0.5, 0.25] * 12)
        yield Case(f"all at chance: 24 runs of {n}", [n] * 24, [0.5, 0.25] * 12, [0.5, 0.25] * 12)
        yield Case(f"unbounded scores: 3 runs of {n}", [n] * 3, [0.4, 0.5, 0.6], [0.0] * 3, bounded=False)
        yield Case(f"shared instances: 2 runs of {n}", [n] * 2, [0.6, 0.6], [0.0] * 2, correlation=0.8)


def truth(case: Case) -> float:
    """Return the true score."""
    weights = np.array(case.sizes) / sum(case.sizes) if case.micro else np.full(len(case.sizes), 1 / len(case.sizes))
    rescaled = [max(0.0, (t - c) / (1 - c)) for t, c in zip(case.truths, case.chances, strict=True)]
    return float(weights @ np.array(rescaled))


def simulate(case: Case, replications: int, seed: int = 0) -> tuple[float, float, float]:
    """Return coverage, the share of intervals that lie above the truth, and the mean width relative to the ideal."""
    rng = np.random.default_rng(seed)
    true = truth(case)
    scale = SCALES["proportion"] if case.bounded else SCALES["signed"]
    covered = above = 0
    widths = []
    values = []
    for _ in range(replications):
        parts = []
        shared = rng.random(case.sizes[0])
        for size, accuracy, chance in zip(case.sizes, case.truths, case.chances, strict=True):
            draws = rng.random(size)
            if case.correlation:
                draws = np.where(rng.random(size) < case.correlation, shared, draws)
            scores = (draws < accuracy).astype(float)
            if not case.bounded:
                scores = scores + rng.normal(0.0, 0.5, size)
            found = mean_estimate(scores.tolist(), scale)
            interval = None if found.low is None or found.high is None else (found.low, found.high)
            stat = Stat("s", "accuracy", Split.TEST, None, size, found.value, found.stderr, interval, 0, 1, scale=scale)
            weight = size / sum(case.sizes) if case.micro else 1 / len(case.sizes)
            packed = None
            if case.correlation:
                keyed = [(number.to_bytes(KEY_BYTES, "big"), score) for number, score in enumerate(scores.tolist())]
                packed = InstanceScores.of(keyed)
            parts.append(Part(stat, weight, chance, "same", packed))
        estimate = composite_estimate(parts)
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= true <= estimate.high
        above += estimate.low > true
        widths.append(estimate.high - estimate.low)
        values.append(estimate.value)
    ideal = 2 * 1.959964 * float(np.std(values))
    return covered / replications, above / replications, float(np.mean(widths)) / ideal if ideal else float("nan")


def main() -> None:
    """Print the table."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| score | coverage | too high | width |\n|---|--:|--:|--:|")
    for case in cases():
        coverage, above, width = simulate(case, replications)
        print(f"| {case.name} | {coverage:.3f} | {above:.3f} | {width:.2f} |")


if __name__ == "__main__":
    main()
