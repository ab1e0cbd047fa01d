"""How often intervals of win rates, ranks, calibration errors and judge-corrected means contain the truth.

    python tests/benchmarks/coverage_comparisons.py [--times 400] > docs/coverage_comparisons.md

Draws data whose truth is known, computes the intervals with the code that leaderboards and metrics use, and prints the
share of the draws in which they contain it. Seeded: the same command prints the same table. About fifteen minutes.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import norm

sys.path.insert(0, str(Path(__file__).parents[2]))

from harness import Example, Instance, Reference
from harness.leaderboard.pairwise import Contest, ContestResult, column_ranks
from harness.leaderboard.win_rate import mean_win_rates
from harness.statistics import corrected_mean
from harness.storage.instance_scores import InstanceScores
from metrics._calibration.platt import fit_platt, scaled
from metrics.calibration import CalibrationError, PlattCalibrationError, bin_numbers, equal_mass_edges

Generator = np.random.Generator
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

KEYS = [f"{index:06d}".encode() for index in range(1000)]
SHARED = 0.5
"""Correlation of two models' answers to one instance, before they are cut into right and wrong."""


def contest(name: str, shares: Sequence[float], count: int, rng: Generator) -> Contest:
    """Return models that answer the same instances, each right on a share of them."""
    hard = rng.standard_normal(count)
    entries = {}
    for place, share in enumerate(shares):
        noise = math.sqrt(SHARED) * hard + math.sqrt(1 - SHARED) * rng.standard_normal(count)
        right = (noise < norm.ppf(share)).astype(np.float64)
        scores = (InstanceScores.of(zip(KEYS, right.tolist(), strict=False)),)
        entries[f"m{place:02d}"] = ContestResult(
            float(right.mean()), float(right.std(ddof=1)) / math.sqrt(count), count, scores
        )
    return Contest(name, True, entries)


def true_rates(shares: Sequence[float]) -> list[float]:
    others = len(shares) - 1
    return [
        (sum(own > each for each in shares) + (sum(own == each for each in shares) - 1) / 2) / others for own in shares
    ]


def win_rates(shares: Sequence[float], columns: int, count: int, times: int) -> tuple[float, float, float, float]:
    """Return the worst model's coverage, the mean width, and the ranks' simultaneous coverage and mean number."""
    rng = np.random.default_rng(count)
    truth = true_rates(shares)
    best = [1 + sum(each > own for each in shares) for own in shares]
    worst = [len(shares) - sum(each < own for each in shares) for own in shares]
    held, widths, ranked, sizes = np.zeros(len(shares)), [], 0, []
    for _ in range(times):
        found = mean_win_rates([contest(str(column), shares, count, rng) for column in range(columns)])
        rates = [found[name] for name in sorted(found)]
        ends = [(rate.low or 0.0, 1.0 if rate.high is None else rate.high) for rate in rates]
        held += [low - 1e-9 <= true <= high + 1e-9 for (low, high), true in zip(ends, truth, strict=True)]
        widths += [high - low for low, high in ends]
        ranked += all(
            rate.first <= most and least <= rate.last for rate, most, least in zip(rates, best, worst, strict=True)
        )
        sizes += [rate.last - rate.first + 1 for rate in rates]
    return float(held.min()) / times, float(np.mean(widths)), ranked / times, float(np.mean(sizes))


def ranks(shares: Sequence[float], count: int, times: int) -> tuple[float, float]:
    """Return the simultaneous coverage and the mean number of ranks within one column."""
    rng = np.random.default_rng(count)
    held, sizes = 0, []
    for _ in range(times):
        found = list(column_ranks(contest("c", shares, count, rng)).values())
        held += all(
            first <= 1 + sum(each > own for each in shares) and len(shares) - sum(each < own for each in shares) <= last
            for (first, last), own in zip(found, shares, strict=True)
        )
        sizes += [last - first + 1 for first, last in found]
    return held / times, float(np.mean(sizes))


Draw = Callable[[Generator, int], Floats]
Curve = Callable[[Floats], Floats]

VALUES: dict[str, Draw] = {
    "one": lambda rng, n: np.full(n, 0.9),
    "five": lambda rng, n: rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], n),
    "many": lambda rng, n: rng.beta(2.0, 2.0, n).clip(0.01, 0.99),
}
CURVES: dict[str, Curve] = {
    "logistic": lambda p: 1 / (1 + np.exp(-(0.5 * np.log(p / (1 - p)) - 0.3))),
    "wave": lambda p: 0.5 + 0.4 * np.sin(7.0 * p),
}
"""The share that is right for a stated probability; Platt scaling can correct the first curve."""


def true_errors(values: Draw, curve: Curve) -> tuple[float, float]:
    """Return the calibration errors in ten bins, before and after the best logistic curve, of very many predictions."""
    stated = np.sort(values(np.random.default_rng(0), 400_000))
    right = curve(stated)
    bins = bin_numbers(stated, equal_mass_edges(stated, 10))
    fitted = scaled(stated, *fit_platt(stated, right))
    return tuple(float(np.abs(np.bincount(bins, each - right)).sum()) / len(stated) for each in (stated, fitted))  # type: ignore[return-value]


def calibration(values: Draw, curve: Curve, count: int, times: int) -> Iterator[tuple[str, float, float, float, float]]:
    """Yield name, truth, coverage, and the mean observed and debiased figure."""
    rng = np.random.default_rng(count)
    truth = dict(zip(("ece_10_bin", "platt_ece_10_bin"), true_errors(values, curve), strict=True))
    found: dict[str, list[tuple[bool, float, float]]] = {name: [] for name in truth}
    instances = [Instance(f"i{index}", "", (Reference("yes", correct=True),)) for index in range(count)]
    for _ in range(times):
        stated = values(rng, count)
        right = rng.random(count) < curve(stated)
        metrics = (CalibrationError(), PlattCalibrationError())
        for instance, p, ok in zip(instances, stated.tolist(), right.tolist(), strict=True):
            for each in metrics:
                each.add(Example(instance, prediction="yes" if ok else "no", probability=p))
        for metric, (name, true) in zip(metrics, truth.items(), strict=True):
            estimates = metric.estimates()
            if name in estimates:
                one = estimates[name]
                low, high = one.low or 0.0, 1.0 if one.high is None else one.high
                # A truth of 0 is only 0 up to the rounding of a fit.
                held = low - 1e-6 <= true <= high + 1e-6
                found[name].append((held, one.value, estimates[f"{name}_debiased"].value))
    for name, rows in found.items():
        if rows:
            held_share, observed, debiased = (float(np.mean([row[at] for row in rows])) for at in range(3))
            yield name, truth[name], held_share, observed, debiased


def judges(share: float, right: float, wrong: float, count: int, times: int) -> tuple[float, float]:
    """Return the coverage of the corrected mean and its width relative to the labels' own normal interval."""
    rng = np.random.default_rng(count)
    held, widths = 0, []
    for _ in range(times):
        truth = rng.random(count + 1000) < share
        judge = np.where(truth, rng.random(count + 1000) < right, rng.random(count + 1000) >= wrong).astype(float)
        found = corrected_mean(truth[:count].astype(float).tolist(), judge[:count].tolist(), judge[count:].tolist())
        assert found is not None
        low, high = found.estimate.low or 0.0, 1.0 if found.estimate.high is None else found.estimate.high
        held += low <= share <= high
        widths.append(high - low)
    return held / times, float(np.mean(widths)) / (2 * 1.96 * math.sqrt(share * (1 - share) / count))


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    print(f"| {' | '.join(head)} |")
    print(f"|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    print()


def around(middle: float, gap: float) -> tuple[float, ...]:
    return (middle - gap, middle, middle + gap)


BOARDS: dict[str, tuple[Sequence[float], int, tuple[int, ...]]] = {
    "3 × 5, shares .45 to .55": (around(0.5, 0.05), 5, (20, 100, 500)),
    "3 × 5, shares .35 to .65": (around(0.5, 0.15), 5, (20, 100, 500)),
    "3 × 5, shares .495 to .505": (around(0.5, 0.005), 5, (20, 50, 500)),
    "3 × 5, all .5": ((0.5,) * 3, 5, (20, 100, 500)),
    "3 × 5, shares .97 to .99": (around(0.98, 0.01), 5, (20, 100, 500)),
    "10 × 12, shares .3 to .8": (tuple(np.linspace(0.3, 0.8, 10)), 12, (20, 100)),
}
JUDGES = [(0.5, 0.85, 0.85), (0.5, 0.6, 0.6), (0.5, 0.97, 0.97), (0.9, 0.95, 0.7), (0.97, 0.98, 0.6), (0.05, 0.8, 0.97)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=400, help="draws for each cell; the large boards take a fifth")
    times = parser.parse_args().times
    print("# Coverage of comparisons and calibration errors\n")
    print("Written by `tests/benchmarks/coverage_comparisons.py`: the share of draws in which a 95 % interval")
    error = math.sqrt(0.95 * 0.05 / times)
    print(f"contains the truth, with {times} draws per cell (standard error {error:.3f} at .95), a fifth of that")
    print("for ten models.\n")
    print("## Mean win rates\n")
    print(
        "Models × columns with n shared instances in each column; answers to the same instance are correlated. Coverage"
    )
    print("is that of the model with the lowest; ranks count as covered if those of all models are.\n")
    table(
        ("board", "n", "win rate: coverage", "width", "ranks: coverage", "mean number"),
        (
            [name, str(count), *(f"{each:.3f}" for each in found)]
            for name, (shares, columns, counts) in BOARDS.items()
            for count in counts
            for found in [win_rates(shares, columns, count, times if columns == 5 else times // 5)]
        ),
    )
    print("## Ranks within a column, eight models\n")
    table(
        ("shares", "n", "coverage", "mean number"),
        (
            [name, str(count), *(f"{each:.3f}" for each in ranks(shares, count, times))]
            for name, shares in ((".4 to .8", tuple(np.linspace(0.4, 0.8, 8))), ("all .6", (0.6,) * 8))
            for count in (20, 50, 100, 500)
        ),
    )
    print("## Calibration errors\n")
    print("With one, five or many different stated probabilities, where a logistic curve can correct them and where it")
    print("cannot. Platt-scaled errors are undefined below 5 right or 5 wrong; draws without a figure are left out.\n")
    table(
        ("stated", "right", "n", "error", "truth", "coverage", "mean", "mean, debiased"),
        (
            [kind, shape, str(count), name, *(f"{each:.3f}" for each in found)]
            for kind, values in VALUES.items()
            for shape, curve in CURVES.items()
            if (kind, shape) != ("one", "wave")
            for count in (20, 50, 100, 200, 300)
            for name, *found in calibration(values, curve, count, times)
        ),
    )
    print("## Labels corrected by a judge\n")
    print("The judge recognises labels of 1 and of 0 with the probabilities given, and has rated 1,000 more items. The")
    print("width is relative to the normal interval of the labels alone.\n")
    table(
        ("share of 1", "judge", "n", "coverage", "width"),
        (
            [f"{share}", f"{right} / {wrong}", str(count), *(f"{each:.3f}" for each in found)]
            for share, right, wrong in JUDGES
            for count in (20, 50, 100, 200)
            for found in [judges(share, right, wrong, count, times)]
        ),
    )


if __name__ == "__main__":
    main()
