"""How often 95 % intervals contain the truth, by kind of score and number of instances, simulated.

    python tests/benchmarks/coverage_table.py [replications [processes]] > docs/coverage.md

Target: at least .93 in every cell except those where no method can reach it, which are marked. Exits with status 1 if a
cell misses the target by more than chance explains. Takes about ten minutes on one core with 2000 replications.
"""

from __future__ import annotations

import math
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom

from harness.contracts import BOUNDED, COUNT, PROPORTION, SIGNED, SMOOTH, Estimate, Scale, Stat
from harness.leaderboard.cells import pooled
from harness.statistics import (
    clustered_mean_interval,
    gap_estimate,
    jackknife_estimate,
    mean_estimate,
    median_estimate,
    midp_interval,
    paired_difference,
    percentile_estimate,
    ratio_estimate,
    transformed,
)

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Draw = Callable[[Generator, int], Floats]
    Drawn = tuple[Estimate, float]

SIZES = (20, 50, 100, 500)
TARGET = 0.93


@dataclass(frozen=True)
class Cell:
    """A row of a table: draws n instances and returns the estimate with the truth.

    Attributes:
        title: What is drawn.
        draw: Returns an estimate and the truth.
        impossible: Numbers of instances at which no method can cover: samples rarely show what the mean rests on.
        sizes: Numbers of instances, or of clusters.
        costly: Whether only a quarter of the replications are run.
    """

    title: str
    draw: Callable[[Generator, int], Drawn]
    impossible: tuple[int, ...] = ()
    sizes: tuple[int, ...] = SIZES
    costly: bool = False

    def replications(self, n: int, asked: int) -> int:
        """Return how many replications are run: half as many of the largest samples."""
        return asked // 4 if self.costly else asked // 2 if n >= 500 else asked


@dataclass(frozen=True)
class Result:
    """A cell's coverage, its width relative to the best normal interval's, and the share without an interval."""

    coverage: float
    width: float
    without: float
    replications: int


def mean_cell(title: str, scale: Scale, draw: Draw, truth: float, impossible: tuple[int, ...] = ()) -> Cell:
    """Return a cell of the mean of values."""
    return Cell(title, lambda rng, n: (mean_estimate(draw(rng, n).tolist(), scale), truth), impossible)


def _mixed(share: float, common: Draw, rare: Draw) -> Draw:
    def draw(rng: Generator, n: int) -> Floats:
        return np.where(rng.random(n) < share, common(rng, n), rare(rng, n))

    return draw


def _constant(value: float) -> Draw:
    return lambda _, n: np.full(n, value)


def _uniform(rng: Generator, n: int) -> Floats:
    return rng.random(n)


def _f1_like(rng: Generator, n: int) -> Floats:
    kind = rng.random(n)
    return np.where(kind < 0.3, 0.0, np.where(kind < 0.5, 1.0, rng.beta(2, 2, n)))


def _slow(share: float) -> Draw:
    return lambda rng, n: rng.gamma(20.0, 0.05, n) * np.where(rng.random(n) < share, 10.0, 1.0)


PARETO = 2.2

BOUNDED_CELLS = [
    mean_cell("95 % zeros, else uniform", BOUNDED, _mixed(0.95, _constant(0.0), _uniform), 0.025),
    mean_cell("98 % zeros, else uniform", BOUNDED, _mixed(0.98, _constant(0.0), _uniform), 0.01),
    mean_cell("93 % ones, else uniform", BOUNDED, _mixed(0.93, _constant(1.0), _uniform), 0.965),
    mean_cell(
        "2 % ones, else Beta(1, 30)",
        BOUNDED,
        _mixed(0.02, _constant(1.0), lambda rng, n: rng.beta(1, 30, n)),
        0.02 + 0.98 / 31,
    ),
    mean_cell("Beta(0.3, 3)", BOUNDED, lambda rng, n: rng.beta(0.3, 3, n), 0.3 / 3.3),
    mean_cell("like F1: 30 % zeros, 20 % ones", BOUNDED, _f1_like, 0.45),
    mean_cell("mean of 2 trials at .05", PROPORTION, lambda rng, n: rng.binomial(2, 0.05, n) / 2, 0.05),
    mean_cell("mean of 10 trials at .99", PROPORTION, lambda rng, n: rng.binomial(10, 0.99, n) / 10, 0.99),
    mean_cell("Beta(20, 2)", BOUNDED, lambda rng, n: rng.beta(20, 2, n), 20 / 22),
    mean_cell("Beta(50, 50)", BOUNDED, lambda rng, n: rng.beta(50, 50, n), 0.5),
]

SMOOTH_CELLS = [
    mean_cell("Beta(20, 2)", SMOOTH, lambda rng, n: rng.beta(20, 2, n), 20 / 22),
    mean_cell("Beta(50, 50)", SMOOTH, lambda rng, n: rng.beta(50, 50, n), 0.5),
    mean_cell("cosines: 2·Beta(30, 3) − 1", Scale("smooth", -1, 1), lambda rng, n: 2 * rng.beta(30, 3, n) - 1, 27 / 33),
]

COUNT_CELLS = [
    mean_cell("exponential", COUNT, lambda rng, n: rng.exponential(1.0, n), 1.0),
    mean_cell("lognormal, σ = 1", COUNT, lambda rng, n: rng.lognormal(0, 1, n), math.exp(0.5)),
    mean_cell("lognormal, σ = 1.5", COUNT, lambda rng, n: rng.lognormal(0, 1.5, n), math.exp(1.125)),
    mean_cell(
        f"Pareto, tail index {PARETO}",
        COUNT,
        lambda rng, n: 1 + rng.pareto(PARETO, n),
        PARETO / (PARETO - 1),
        impossible=SIZES,
    ),
    mean_cell("negative binomial", COUNT, lambda rng, n: rng.negative_binomial(1, 0.5, n).astype(float), 1.0),
    mean_cell("10 % are 10 times slower", COUNT, _slow(0.1), 1.9, impossible=(20,)),
    mean_cell("3 % are 10 times slower", COUNT, _slow(0.03), 1.27, impossible=(20, 50, 100)),
    mean_cell("normal", COUNT, lambda rng, n: rng.normal(10.0, 1.0, n), 10.0),
]

SIGNED_CELLS = [
    mean_cell("normal", SIGNED, lambda rng, n: rng.normal(0.0, 1.0, n), 0.0),
    mean_cell("Student's t with 4 degrees of freedom", SIGNED, lambda rng, n: rng.standard_t(4, n), 0.0),
]


def _ratio(spread: float, shape: float, dependence: float = 0.0) -> Callable[[Generator, int], Drawn]:
    """Return a draw of lengths, lognormal, and their rates, gamma, which depend on length to a power."""
    power = -dependence / spread
    # E[x · x^p] / E[x] of a lognormal x
    truth = math.exp(((1 + power) ** 2 - 1) * spread**2 / 2)

    def draw(rng: Generator, n: int) -> Drawn:
        lengths = rng.lognormal(0.0, spread, n)
        rates = lengths**power * rng.gamma(shape, 1 / shape, n)
        return ratio_estimate((lengths * rates).tolist(), lengths.tolist(), low=0.0), truth

    return draw


def _perplexity(rng: Generator, n: int) -> Drawn:
    estimate, truth = _ratio(1.0, 8.0)(rng, n)
    return transformed(estimate, math.exp, math.exp), math.exp(truth)


def _matched(rng: Generator, n: int) -> Drawn:
    lengths = rng.integers(5, 40, n)
    return ratio_estimate((rng.binomial(lengths, 0.4) * 1.0).tolist(), (lengths * 1.0).tolist(), low=0.0, high=1.0), 0.4


RATIO_CELLS = [
    Cell("lengths σ 1, rates gamma(8)", _ratio(1.0, 8.0)),
    Cell("lengths σ 1, rates gamma(2)", _ratio(1.0, 2.0)),
    Cell("lengths σ 1, longer is lower", _ratio(1.0, 8.0, 0.3)),
    Cell("lengths σ 1.5, rates gamma(4)", _ratio(1.5, 4.0)),
    Cell("lengths σ 0.7, longer is higher", _ratio(0.7, 8.0, -0.3)),
    Cell("lengths σ 0.3, rates gamma(0.5)", _ratio(0.3, 0.5)),
    Cell("matched of total words", _matched),
    Cell("perplexity, lengths σ 1", _perplexity),
]


def _clustered(
    sizes: Callable[[Generator, int], Floats], share: float, correlation: float
) -> Callable[[Generator, int], Drawn]:
    """Return a draw of items in clusters whose shares are Beta with the correlation."""
    total = (1 - correlation) / correlation

    def draw(rng: Generator, n: int) -> Drawn:
        number = sizes(rng, n)
        shares = rng.beta(share * total, (1 - share) * total, n)
        right = rng.binomial(number.astype(int), shares)
        found = clustered_mean_interval(right.tolist(), number.astype(int).tolist())
        return Estimate(right.sum() / number.sum(), n, 0.0, found.low, found.high), share

    return draw


def _equal_sizes(_: Generator, n: int) -> Floats:
    return np.full(n, 10.0)


def _lognormal_sizes(rng: Generator, n: int) -> Floats:
    return np.maximum(1.0, np.round(rng.lognormal(2.0, 1.0, n)))


def _one_has_half(_: Generator, n: int) -> Floats:
    return np.array([10.0 * (n - 1), *[10.0] * (n - 1)])


CLUSTER_CELLS = [
    Cell(title, draw, sizes=(5, 10, 20, 50), costly=True)
    for title, draw in (
        ("10 items each, .9, correlation .3", _clustered(_equal_sizes, 0.9, 0.3)),
        ("10 items each, .5, correlation .2", _clustered(_equal_sizes, 0.5, 0.2)),
        ("10 items each, .97, correlation .3", _clustered(_equal_sizes, 0.97, 0.3)),
        ("lognormal sizes, .9, correlation .3", _clustered(_lognormal_sizes, 0.9, 0.3)),
        ("one has half, .9, correlation .3", _clustered(_one_has_half, 0.9, 0.3)),
    )
]


def _binary_pairs(both: float, first: float, second: float) -> Callable[[Generator, int], Drawn]:
    def draw(rng: Generator, n: int) -> Drawn:
        kind = rng.random(n)
        one = (kind < both + first).astype(float)
        other = ((kind < both) | ((kind >= both + first) & (kind < both + first + second))).astype(float)
        return paired_difference(one.tolist(), other.tolist(), PROPORTION), first - second

    return draw


def _f1_pairs(rng: Generator, n: int) -> Drawn:
    first = _f1_like(rng, n)
    second = np.where(rng.random(n) < 0.2, _f1_like(rng, n), first)
    return paired_difference(first.tolist(), second.tolist(), BOUNDED), 0.0


def _whole_range_pairs(rng: Generator, n: int) -> Drawn:
    second = np.where(rng.random(n) < 0.5, 0.0, rng.beta(2, 2, n))
    gains = (second == 0.0) & (rng.random(n) < 0.06)
    return paired_difference(np.where(gains, 1.0, second).tolist(), second.tolist(), BOUNDED), 0.03


def _smooth_pairs(rng: Generator, n: int) -> Drawn:
    first = rng.beta(30, 20, n)
    second = np.clip(first + rng.normal(0.01, 0.05, n), 0.0, 1.0)
    return paired_difference(first.tolist(), second.tolist(), SMOOTH), -0.01


PAIRED_CELLS = [
    Cell("0 or 1: 5 % gain, 5 % lose", _binary_pairs(0.6, 0.05, 0.05)),
    Cell("0 or 1: 20 % gain, 5 % lose", _binary_pairs(0.4, 0.2, 0.05)),
    Cell("0 or 1: 2 % gain", _binary_pairs(0.9, 0.02, 0.0)),
    Cell("F1, 20 % differ", _f1_pairs),
    Cell("3 % gain the whole range", _whole_range_pairs),
    Cell("smooth, deviation .05", _smooth_pairs),
]


def _gap(first: float, second: float) -> Callable[[Generator, int], Drawn]:
    def draw(rng: Generator, n: int) -> Drawn:
        half = n // 2
        values = np.concatenate([rng.random(half) < first, rng.random(n - half) < second]).astype(float)
        return gap_estimate(values.tolist(), [range(half), range(half, n)], PROPORTION), abs(first - second)

    return draw


def _f1_gap(rng: Generator, n: int) -> Drawn:
    half = n // 2
    values = np.concatenate([_f1_like(rng, half), rng.beta(0.3, 3, n - half)])
    return gap_estimate(values.tolist(), [range(half), range(half, n)], BOUNDED), 0.45 - 0.3 / 3.3


def _macro_mean(shares: tuple[float, ...]) -> Callable[[Generator, int], Drawn]:
    """Return a draw of a column's mean over sub-runs of n instances each."""

    def draw(rng: Generator, n: int) -> Drawn:
        found = []
        for share in shares:
            one = mean_estimate((rng.random(n) < share).astype(float).tolist(), PROPORTION)
            ends = None if one.low is None or one.high is None else (one.low, one.high)
            found.append(
                Stat("m", "accuracy", "test", None, n, one.value, one.stderr, ends, 0.0, 1.0, scale=PROPORTION)
            )
        cell = pooled(found, len(found))
        return Estimate(cell.mean or 0.0, n, cell.stderr, cell.low, cell.high), sum(shares) / len(shares)

    return draw


def _macro_f1(shares: tuple[float, ...], right: float) -> Callable[[Generator, int], Drawn]:
    """Return a draw of macro F1 with classes of these shares; wrong predictions are any other class."""
    classes = len(shares)
    confusion = np.full((classes, classes), (1 - right) / (classes - 1))
    np.fill_diagonal(confusion, right)
    joint = (np.array(shares)[:, None] * confusion).ravel()
    gold, predicted = np.divmod(np.arange(classes**2), classes)
    is_gold, is_predicted = (np.eye(classes)[which] for which in (gold, predicted))

    def macro(counts: Floats) -> Floats:
        sizes = counts @ is_gold + counts @ is_predicted
        return np.asarray((2 * (counts @ (is_gold * is_predicted)) / np.maximum(sizes, 1e-12)).mean(axis=1))

    truth = float(macro(joint[None, :])[0])

    def draw(rng: Generator, n: int) -> Drawn:
        counts = rng.multinomial(n, joint).astype(float)
        found = jackknife_estimate(macro, counts)
        if (counts @ is_gold).min() < 10:  # as metrics/classification.py
            return Estimate(found.value, n, found.stderr), truth
        return found, truth

    return draw


def _quantile(share: float) -> Callable[[Generator, int], Drawn]:
    def draw(rng: Generator, n: int) -> Drawn:
        values = rng.exponential(1.0, n).tolist()
        found = median_estimate(values) if share == 0.5 else percentile_estimate(values, share)
        return found, -math.log(1 - share)

    return draw


OTHER_CELLS = [
    Cell("gap of two groups, .75 and .45", _gap(0.75, 0.45)),
    Cell("gap of two groups, .98 and .90", _gap(0.98, 0.90)),
    Cell("gap of two groups of F1", _f1_gap),
    Cell("mean of 5 sub-runs, .3 to .9", _macro_mean((0.3, 0.5, 0.7, 0.8, 0.9))),
    Cell("mean of 5 sub-runs, .97", _macro_mean((0.97,) * 5)),
    Cell("macro F1, 2 classes", _macro_f1((0.5, 0.5), 0.8), sizes=(50, 100, 500)),
    Cell("macro F1, 5 classes", _macro_f1((0.2,) * 5, 0.7), sizes=(100, 500)),
    Cell("macro F1, a class of 10 %", _macro_f1((0.45, 0.45, 0.1), 0.8), sizes=(100, 500)),
    Cell("median of exponential times", _quantile(0.5)),
    Cell("95th percentile of exponential times", _quantile(0.95), sizes=(100, 500)),
]

TABLES: dict[str, list[Cell]] = {
    "Bounded scores: Jeffreys–Dirichlet": BOUNDED_CELLS,
    "Smooth scores: Hall's transformation": SMOOTH_CELLS,
    "Counts, times and losses: Hall's transformation": COUNT_CELLS,
    "Any number: Student's t": SIGNED_CELLS,
    "Ratios of sums: corrected for leverage and skewness": RATIO_CELLS,
    "Means over items in clusters (n: clusters)": CLUSTER_CELLS,
    "Paired differences": PAIRED_CELLS,
    "Gaps, macro-averages, F1 and percentiles": OTHER_CELLS,
}


def simulate(cell: Cell, n: int, replications: int) -> Result:
    """Return how a cell's interval does at a number of instances; the same numbers every time."""
    rng = np.random.default_rng(zlib.crc32(cell.title.encode()) + n)
    hits, widths, values, without = 0, [], [], 0
    for _ in range(replications):
        estimate, truth = cell.draw(rng, n)
        values.append(estimate.value)
        if estimate.low is None or estimate.high is None:
            without += 1
            continue
        hits += estimate.low - 1e-12 <= truth <= estimate.high + 1e-12
        widths.append(estimate.high - estimate.low)
    best = 2 * 1.96 * float(np.std(values))
    found = replications - without
    return Result(hits / max(found, 1), float(np.mean(widths)) / best if best else 0.0, without / replications, found)


def misses(cell: Cell, n: int, result: Result) -> bool:
    """Return whether a cell is below the target by more than twice the simulation's standard error."""
    error = math.sqrt(TARGET * (1 - TARGET) / max(result.replications, 1))
    return n not in cell.impossible and result.coverage < TARGET - 2 * error


def exact_proportions(n: int) -> tuple[float, float, float]:
    """Return the mid-p interval's mean and smallest coverage over all p, and the share of p with less than .93."""
    grid = np.linspace(0.0005, 0.9995, 4000)
    ends = np.array([midp_interval(k, n) for k in range(n + 1)])
    first = np.searchsorted(ends[:, 1], grid)  # the fewest successes whose interval reaches up to p
    last = np.searchsorted(ends[:, 0], grid, side="right") - 1
    coverage = binom.cdf(last, n, grid) - binom.cdf(first - 1, n, grid)
    return float(coverage.mean()), float(coverage.min()), float((coverage < TARGET).mean())


def _simulated(task: tuple[str, int, int, int]) -> Result:
    title, row, n, replications = task
    cell = TABLES[title][row]
    return simulate(cell, n, cell.replications(n, replications))


def markdown(replications: int, processes: int) -> Iterator[str]:
    """Yield the lines of the document; the last of all says whether the target was met."""
    tasks = [
        (title, row, n, replications)
        for title, cells in TABLES.items()
        for row, cell in enumerate(cells)
        for n in cell.sizes
    ]
    with ProcessPoolExecutor(processes) as pool:
        yield from _document(replications, pool.map(_simulated, tasks))


def _document(replications: int, results: Iterator[Result]) -> Iterator[str]:
    error = math.sqrt(0.0475 / replications)
    yield from (
        "# Coverage of the 95 % intervals",
        "",
        "How often an interval contains the true value, and its mean width relative to the best normal interval's",
        "(2·1.96 standard deviations of the estimate). Written by `python tests/benchmarks/coverage_table.py`, with",
        f"{replications} replications per cell (half as many at n = 500, a quarter for clusters): the standard",
        f"error at .95 is {error:.3f}, {error * math.sqrt(2):.3f} and {2 * error:.3f}.",
        f"The target is {TARGET:.2f}. No method can reach it in cells with ∗: the mean rests on outcomes that most",
        "samples of that size do not contain. A dash means too few instances for an interval.",
        "",
        "## Proportions: mid-p binomial, exact",
        "",
        "| n | mean over p | smallest | share of p below .93 |",
        "|---|---|---|---|",
    )
    for n in (10, *SIZES):
        mean, smallest, share = exact_proportions(n)
        yield f"| {n} | {mean:.3f} | {smallest:.3f} | {share:.2f} |"
    missed = []
    for title, cells in TABLES.items():
        sizes = sorted({n for cell in cells for n in cell.sizes})
        yield from ("", f"## {title}", "", f"| drawn | {' | '.join(f'n = {n}' for n in sizes)} |")
        yield "|---" * (len(sizes) + 1) + "|"
        for cell in cells:
            shown = []
            for n in sizes:
                result = next(results) if n in cell.sizes else None
                if result is None or not result.replications:
                    shown.append("–")
                    continue
                if misses(cell, n, result):
                    missed.append(f"{title}, {cell.title}, n = {n}: {result.coverage:.3f}")
                mark = "∗" if n in cell.impossible else ""
                shown.append(f"{result.coverage:.3f}{mark} / {result.width:.2f}")
            yield f"| {cell.title} | {' | '.join(shown)} |"
    yield ""
    yield f"Cells below the target: {'; '.join(missed) or 'none'}."


def main() -> None:
    line = ""
    arguments = [int(argument) for argument in sys.argv[1:]]
    for line in markdown(*[*arguments, *(2000, 1)[len(arguments) :]]):
        print(line, flush=True)
    sys.exit(0 if line.endswith(": none.") else 1)


if __name__ == "__main__":
    main()
