"""Simulates comparisons of two models, and counts how often the tests show a difference that was planned for.

Usage: python tests/benchmarks/power_simulation.py [--replications 2000]

For each kind of score, the number of instances is that of ``instances_needed`` for a power of 0.8, from the true
variance. The standard error of a share of 2,000 is 0.009. The last columns are what ``harness compare`` says of these
draws (MDE: the smallest difference that could have been shown), and how many instances ``harness plan`` would ask for
after pilots of 100 instances.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.contracts.scales import BOUNDED, PROPORTION, SIGNED, Scale
from harness.statistics import (
    cluster_sums,
    detectable_difference,
    instances_needed,
    mcnemar_test,
    paired_variance,
    permutation_test,
)

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]
CLUSTER = 5


@dataclass(frozen=True)
class Cell:
    """A kind of score, and the difference of two models in it."""

    name: str
    draw: Callable[[np.random.Generator, int], Pair]
    detect: float
    scale: Scale
    step: float = 0.0
    clustered: bool = False


def binary(agree: float, difference: float) -> Callable[[np.random.Generator, int], Pair]:
    """Scores of 0 or 1 that are equal on a share of instances."""

    def draw(rng: np.random.Generator, count: int) -> Pair:
        kind = rng.random(count)
        first = (kind < (1 - agree + difference) / 2) | ((kind > 1 - agree) & (rng.random(count) < 0.5))
        second = np.where(kind < 1 - agree, ~first, first)
        return first.astype(float), second.astype(float)

    return draw


def sampled(samples: int, difference: float) -> Callable[[np.random.Generator, int], Pair]:
    """Means of several answers, right with a probability that both models share but for the difference."""

    def draw(rng: np.random.Generator, count: int) -> Pair:
        chances = rng.uniform(0.1, 0.9 - difference, count)
        return tuple(rng.binomial(samples, chances + more) / samples for more in (difference, 0.0))  # type: ignore[return-value]

    return draw


def f1_scores(rng: np.random.Generator, count: int) -> Pair:
    """Scores from 0 to 1, of which a third are at a bound and half are equal."""
    first, other = (np.clip(rng.normal(0.5, 0.5, count), 0, 1) for _ in range(2))
    better = np.clip(first + 0.05, 0, 1)
    same = rng.random(count) < 0.5
    return better, np.where(same, better, other)


def losses(rng: np.random.Generator, count: int) -> Pair:
    """Skewed scores without bounds."""
    shared = rng.gamma(1.0, 1.0, count)
    return shared + rng.gamma(0.5, 0.4, count) + 0.05, shared + rng.gamma(0.5, 0.4, count)


def passages(rng: np.random.Generator, count: int) -> Pair:
    """Scores of 0 or 1 of five questions about each passage, which a model tends to get right together."""
    first, second = (
        np.repeat(rng.beta(2 * mean, 2 * (1 - mean), -(-count // CLUSTER)), CLUSTER)[:count] for mean in (0.65, 0.55)
    )
    return tuple((rng.random(count) < chance).astype(float) for chance in (first, second))  # type: ignore[return-value]


CELLS = (
    Cell("0 or 1, agree on .5, δ .05", binary(0.5, 0.05), 0.05, PROPORTION, 1.0),
    Cell("0 or 1, agree on .8, δ .05", binary(0.8, 0.05), 0.05, PROPORTION, 1.0),
    Cell("0 or 1, agree on .9, δ .05", binary(0.9, 0.05), 0.05, PROPORTION, 1.0),
    Cell("0 or 1, agree on .7, δ .2", binary(0.7, 0.2), 0.2, PROPORTION, 1.0),
    Cell("mean of 4 samples, δ .05", sampled(4, 0.05), 0.05, PROPORTION, 0.25),
    Cell("mean of 16 samples, δ .05", sampled(16, 0.05), 0.05, PROPORTION, 1 / 16),
    Cell("0 to 1, half equal", f1_scores, 0.0, BOUNDED),
    Cell("loss, skewed, δ .05", losses, 0.05, SIGNED),
    Cell("passages of 5, δ .1", passages, 0.1, PROPORTION, 1.0, clustered=True),
)


def shown(cell: Cell, pair: Pair) -> bool:
    """Return whether the test of ``harness compare`` shows a difference."""
    differences = pair[0] - pair[1]
    if cell.clustered:
        members = [place // CLUSTER for place in range(len(differences))]
        return permutation_test(cluster_sums(differences.tolist(), members), resamples=1_000) < 0.05
    if cell.step == 1.0:
        return mcnemar_test(int((differences > 0).sum()), int((differences < 0).sum())) < 0.05
    return permutation_test(differences.tolist(), resamples=1_000) < 0.05


def variance_of(cell: Cell, pair: Pair) -> float:
    """Return the paired variance as ``harness plan`` computes it."""
    members = [place // CLUSTER for place in range(len(pair[0]))] if cell.clustered else None
    return paired_variance(pair[0].tolist(), pair[1].tolist(), cell.scale, members)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=2_000)
    replications = parser.parse_args().replications
    rng = np.random.default_rng(20_261_123)
    print(f"{replications} replications; power asked for: .8\n")
    print("| scores | variance | n | power | MDE at n: median, 5 and 95 % | n from pilots of 100: median, 5 and 95 % |")
    print("|---|---|---|---|---|---|")
    for cell in CELLS:
        large = cell.draw(rng, 400_000)
        variance, detect = variance_of(cell, large), cell.detect or float(np.mean(large[0] - large[1]))
        count = instances_needed(variance, detect, step=cell.step)
        count += -count % CLUSTER if cell.clustered else 0
        seen, power, pilots = list[float](), 0, list[int]()
        for _ in range(replications):
            pair = cell.draw(rng, count)
            power += shown(cell, pair)
            seen.append(detectable_difference(variance_of(cell, pair), count, step=cell.step) or np.inf)
            pilots.append(instances_needed(variance_of(cell, cell.draw(rng, 100)), detect, step=cell.step))
        low, median, high = np.quantile(seen, [0.05, 0.5, 0.95])
        least, middle, most = np.quantile(pilots, [0.05, 0.5, 0.95])
        print(
            f"| {cell.name} | {variance:.3f} | {count:,} | {power / replications:.3f} | "
            f"{median:.3f}, {low:.3f} to {high:.3f} | {middle:,.0f}, {least:,.0f} to {most:,.0f} |"
        )


if __name__ == "__main__":
    main()
