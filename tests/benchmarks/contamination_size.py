"""How often do the contamination tests reject when the model does not depend on what was published? Prints a table.

Each line is a kind of null distribution of shard scores, each column the share of its simulated tables, as a
percentage, in which a test rejects at level 0.05 and at 0.01. Exact tests have to stay within their level; the t-test
need not, and on skew scores does not.

    python tests/benchmarks/contamination_size.py [--nulls 2000] [--shuffles 25] [--seed 0]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.contamination.lab.false_alarms import WORLDS, normal
from harness.contamination.statistics.dye import dye_test
from harness.contamination.statistics.held_out import Split, held_out_test

sys.path.insert(0, str(Path(__file__).parents[2]))
from adapters._order.looks import FirstLook
from harness.contamination.statistics.looks import combined_looks
from harness.contamination.statistics.neighbours import Neighbours, neighbour_test
from harness.contamination.statistics.next_example import EProcess, RankTest
from harness.contamination.statistics.option_order import option_order_test
from harness.contamination.statistics.permutation import BesagClifford
from harness.contamination.statistics.published_choice import Choice, published_choice_test
from harness.contamination.statistics.relabelling import relabelling_test
from harness.contamination.statistics.sharded_t import sharded_t
from harness.seeds import derive_rng

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Floats]


TESTS: dict[str, Callable[[Floats], float]] = {
    "t as published": lambda scores: sharded_t(scores).log10_p,
    "t repaired": lambda scores: sharded_t(scores, ddof=1).log10_p,
    "exact, normal scores": lambda scores: relabelling_test(scores).log10_p,
    "exact, raw": lambda scores: relabelling_test(scores, "raw").log10_p,
    "certified": lambda scores: relabelling_test(scores, "raw").log10_certified,
    "permutation": lambda scores: math.log10(((sums := scores.sum(axis=0))[0] <= sums).mean()),
}


def rejections(draw: Draw, r: int, m: int, nulls: int, seed: int, test: Callable[[Floats], float]) -> Floats:
    """Return the shares of null tables in which a test rejects at 0.05 and 0.01, shape (2,)."""
    rng = np.random.default_rng(seed)
    log10_p = np.array([test(draw(rng, r, m)) for _ in range(nulls)])
    return np.array([(log10_p <= math.log10(level) + 1e-12).mean() for level in (0.05, 0.01)])


def next_example_nulls(nulls: int, seed: int, boundaries: int = 90) -> Iterator[tuple[float, float]]:
    """Yield log10 p of the rank test and the most log10 evidence, for candidates that are exchangeable."""
    rng = np.random.default_rng(seed)
    for null in range(nulls):
        ranks, evidence, ties = RankTest(), EProcess(), derive_rng(seed, f"null {null}")
        most = 0.0
        for left in range(boundaries, 0, -1):
            scores = 3.0 * rng.standard_t(3, size=min(8, left + 1)).round(2)
            ranks.add(scores.tolist(), ties)
            most = max(most, evidence.add(scores.tolist()))
        yield ranks.result().log10_p, most


def neighbours_log10_p(nulls: int, seed: int, blocks: int = 3, size: int = 8) -> Iterator[float]:
    """Yield log10 p of the neighbour test for random orders; left-skewed scores, and some examples likelier."""
    rng = np.random.default_rng(seed)
    for _ in range(nulls):
        scores = 10 * rng.normal(size=(blocks, 1, size)) - np.exp(rng.normal(size=(blocks, size, size)))
        pairs = [table[~np.eye(size, dtype=bool)] for table in scores]
        yield neighbour_test([Neighbours((0,) * size, tuple(one.tolist())) for one in pairs]).log10_p


def two_looks(draw: Draw, r: int, nulls: int, seed: int) -> Floats:
    """Return log10 p of both looks together, with the default rule for the second, shape (nulls,)."""
    rng, look = np.random.default_rng(seed), FirstLook()
    found = []
    for _ in range(nulls):
        scores = draw(rng, r, 25)
        first = relabelling_test(scores[:, : 1 + look.shuffles]).log10_p
        second = relabelling_test(scores).log10_p if look.asks_again(first, None) else None
        found.append(combined_looks(first, second, look.share, look.open))
    return np.array(found)


def stopped_p(nulls: int, seed: int) -> Iterator[float]:
    """Yield p-values of the permutation test that stops early."""
    rng = np.random.default_rng(seed)
    for _ in range(nulls):
        canonical, test = rng.normal(), BesagClifford()
        while not test.add(bool(rng.normal() >= canonical)):
            pass
        yield test.p


def held_out_p(nulls: int, seed: int, rows: int = 60, draws: int = 999) -> Iterator[float]:
    """Yield p-values of the held-out test, for left-skew scores, some of which near duplicates share."""
    rng = np.random.default_rng(seed)
    pairs = rows // 6
    units = (*((row,) for row in range(2 * pairs, rows)), *((2 * pair, 2 * pair + 1) for pair in range(pairs)))
    for null in range(nulls):
        scores = -np.exp(rng.normal(size=rows))
        scores[1 : 2 * pairs : 2] = scores[0 : 2 * pairs : 2]
        published = rng.random(len(units)) < 0.5
        yield held_out_test(Split(units, tuple(published.tolist()), 0), scores.tolist(), draws, null).p


def option_order_log10_p(nulls: int, seed: int, items: int = 60) -> Iterator[float]:
    """Yield log10 p of the option-order test for random orders; left-skew scores, some of them tied."""
    rng = np.random.default_rng(seed)
    for _ in range(nulls):
        yield option_order_test((-np.exp(rng.normal(size=(items, 24)))).round(1).tolist()).log10_p


def published_choice_log10_p(nulls: int, seed: int, texts: int, items: int = 60) -> Iterator[float]:
    """Yield log10 p of the published-choice test; the first text of an item is usually likelier than the others."""
    rng = np.random.default_rng(seed)
    for _ in range(nulls):
        scores = -np.exp(rng.normal(size=(items, texts)))
        scores[:, 0] += 1.0
        published = rng.integers(texts, size=items).tolist()
        choices = [Choice(tuple(row), place) for row, place in zip(scores.tolist(), published, strict=True)]
        yield published_choice_test(choices).log10_p


def dye_log10_p(nulls: int, seed: int, questions: int = 60) -> Iterator[float]:
    """Yield log10 p of the dye test for a model that always answers A; questions have two to five options."""
    rng = np.random.default_rng(seed)
    for _ in range(nulls):
        options = rng.integers(2, 6, size=questions)
        yield dye_test(zip((rng.integers(options) == 0).tolist(), options.tolist(), strict=True)).log10_p


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--nulls", type=int, default=2000)
    arguments.add_argument("--shuffles", type=int, default=25)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    print(f"{given.nulls} nulls, {given.shuffles} shuffles, seed {given.seed}: percent rejected at 0.05 / at 0.01\n")
    print(f"{'':<30}" + "".join(f"{name:>22}" for name in TESTS))
    for kind, (draw, r) in WORLDS.items():
        cells = []
        for test in TESTS.values():
            at_5, at_1 = 100 * rejections(draw, r, given.shuffles, given.nulls, given.seed, test)
            cells.append(f"{at_5:>13.1f} / {at_1:>6.2f}")
        print(f"{kind:<30}" + "".join(cells), flush=True)

    found = np.array(list(next_example_nulls(given.nulls, given.seed)))
    at_5, at_1 = (100 * (found[:, 0] <= math.log10(level) + 1e-12).mean() for level in (0.05, 0.01))
    reached = 100 * (found[:, 1] >= math.log10(20)).mean()
    print(f"\nnext example, 90 boundaries: ranks {at_5:.1f} / {at_1:.2f}; most evidence at least 20: {reached:.1f}")
    log10_p = np.array(list(neighbours_log10_p(given.nulls, given.seed)))
    at_5, at_1 = (100 * (log10_p <= math.log10(level) + 1e-12).mean() for level in (0.05, 0.01))
    print(f"neighbours, 24 examples: {at_5:.1f} / {at_1:.2f}", flush=True)
    for kind, (draw, r) in WORLDS.items():
        log10_p = two_looks(draw, r, given.nulls, given.seed)
        at_5, at_1 = (100 * (log10_p <= math.log10(level) + 1e-12).mean() for level in (0.05, 0.01))
        print(f"two looks, {kind}: {at_5:.1f} / {at_1:.2f}")
    p = np.array(list(stopped_p(given.nulls, given.seed)))
    print(f"permutation test that stops early: {100 * (p <= 0.05).mean():.1f} / {100 * (p <= 0.01).mean():.2f}")
    p = np.array(list(held_out_p(given.nulls, given.seed)))
    at_5, at_1 = (100 * (p <= level).mean() for level in (0.05, 0.01))
    print(f"held-out test, 60 rows, ten pairs of duplicates: {at_5:.1f} / {at_1:.2f}")

    content = {
        "option order, 60 questions": option_order_log10_p(given.nulls, given.seed),
        "twins, 60 rows": published_choice_log10_p(given.nulls, given.seed, texts=2),
        "canaries, 60 rows, 9 alternatives": published_choice_log10_p(given.nulls, given.seed, texts=10),
        "dye, 60 questions": dye_log10_p(given.nulls, given.seed),
    }
    for name, drawn in content.items():
        log10_p = np.array(list(drawn))
        at_5, at_1 = (100 * (log10_p <= math.log10(level) + 1e-12).mean() for level in (0.05, 0.01))
        print(f"{name}: {at_5:.1f} / {at_1:.2f}", flush=True)

    rng = np.random.default_rng(given.seed)
    for r, m in ((8, 10), (50, 25), (200, 250)):
        tables = [normal(rng, r, m) for _ in range(20)]
        seconds = []
        for transform in ("normal_scores", "raw"):
            start = time.process_time()
            for table in tables:
                relabelling_test(table, transform)
            seconds.append((time.process_time() - start) / len(tables))
        print(f"{r} shards, {m} shuffles: {seconds[0]:.3f} s (normal scores), {seconds[1]:.3f} s (raw)")


if __name__ == "__main__":
    main()
