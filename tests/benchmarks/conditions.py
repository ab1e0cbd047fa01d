"""How often the interval of a mean over instances and conditions contains the truth.

    python tests/benchmarks/conditions.py [--times 1000]

Draws right and wrong answers to questions of different difficulty under prompts that change their probabilities by a
known standard deviation (probit), and prints the share of the draws in which each 95 % interval contains the truth, and
how often the difference of two equally good models is significant at 5 %. Seeded.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from harness.statistics import PROPORTION, condition_effects, paired_condition_effects

NORMAL = NormalDist()


def draw(
    rng: np.random.Generator, difficulty: np.ndarray, conditions: int, deviation: float, share: float
) -> np.ndarray:
    """Return the scores, shape (instances, conditions), of which the true mean is ``share``."""
    scale = (1.0 + deviation**2 + 0.5**2) ** 0.5
    prompts = rng.normal(0.0, deviation, conditions)
    noise = rng.normal(0.0, 0.5, (len(difficulty), conditions))
    return np.where(difficulty[:, None] + prompts + noise + NORMAL.inv_cdf(share) * scale > 0, 1.0, 0.0)


def main() -> None:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1000)
    times = parser.parse_args().times
    print("mean  instances  prompts  deviation  over instances  over both  wrong differences")
    for share, size, conditions, deviation in product((0.6, 0.9), (50, 300), (3, 5, 10), (0.0, 0.1, 0.3)):
        rng = np.random.default_rng([round(share * 10), size, conditions, round(deviation * 10)])
        alone = both = wrong = 0
        for _ in range(times):
            difficulty = rng.normal(0.0, 1.0, size)
            first, second = (draw(rng, difficulty, conditions, deviation, share) for _ in range(2))
            found = condition_effects(first, PROPORTION)
            alone += (found.instances.low or 0.0) <= share <= (found.instances.high or 0.0)
            both += (found.estimate.low or 0.0) <= share <= (found.estimate.high or 0.0)
            wrong += paired_condition_effects(first, second, PROPORTION).p() < 0.05
        print(
            f"{share:4}  {size:9}  {conditions:7}  {deviation:9}  {alone / times:14.3f}  {both / times:9.3f}  "
            f"{wrong / times:17.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
