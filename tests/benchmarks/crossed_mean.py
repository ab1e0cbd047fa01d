"""How often the interval of mean ratings contains the truth, over items alone and over items and raters.

    python tests/benchmarks/crossed_mean.py [--times 400]

Draws ratings from 1 to 5 by raters whose strictness differs by a known standard deviation, around the middle of the
scale and near its end, and prints the share of the draws in which each 95 % interval contains the mean of many. Seeded.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from harness import Estimate, Scale
from harness.statistics import clustered_mean, crossed_mean

SCALE = Scale("bounded", 1.0, 5.0)


def draw(rng: random.Random, items: int, raters: int, strictness: float, mean: float) -> list[tuple[float, int, int]]:
    """Return ratings with their items and raters: every rater rates every item."""
    people = [rng.gauss(0.0, strictness) for _ in range(raters)]
    found = []
    for item in range(items):
        quality = rng.gauss(mean, 0.7)
        for rater, shift in enumerate(people):
            found.append((float(min(5, max(1, round(quality + shift + rng.gauss(0.0, 0.5))))), item, rater))
    return found


def contains(estimate: Estimate, truth: float) -> bool:
    """Return True if the interval contains the truth."""
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


def main() -> None:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=400)
    times = parser.parse_args().times
    print("mean  raters  items  strictness  over items  over items and raters")
    for mean, raters, items, strictness in product((3.0, 4.3), (5, 10), (10, 30), (0.0, 0.3, 0.7)):
        rng = random.Random(f"{mean}/{raters}/{items}/{strictness}")
        truth = statistics.fmean(value for value, _, _ in draw(rng, 400, 400, strictness, mean))
        alone = crossed = 0
        for _ in range(times):
            values, of, by = zip(*draw(rng, items, raters, strictness, mean), strict=True)
            alone += contains(clustered_mean(values, of, SCALE), truth)
            crossed += contains(crossed_mean(values, of, by, SCALE), truth)
        print(
            f"{mean:4}  {raters:6}  {items:5}  {strictness:10}  {alone / times:10.3f}  {crossed / times:21.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
