"""The cells of a leaderboard: one model's result in one column.

A cell is the macro-average of a column's sub-runs, as in HELM: the mean of their means, whatever their sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.answers.declined import Declined
from harness.answers.reasoning_count import UNANNOUNCED, UNFINISHED
from harness.contracts import Estimate, Stat
from harness.errors import DataError
from harness.leaderboard.columns import agreed
from harness.leaderboard.prompt_spread import PromptSpread, VariedRun, joined_spread, parts, variants
from harness.statistics import effective_size_interval
from harness.statistics.quantiles import Z
from harness.storage.example_files import check_examples
from harness.storage.instance_scores import InstanceScores
from harness.storage.results import RunRecord

COUNTED = ("truncated_examples", "unread_examples", "unjudged_examples", UNFINISHED, UNANNOUNCED)
"""Kinds of examples, as run.json counts them, that a reader of a number must know of."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A sub-run that gave no number."""

    run: str
    """Its name."""
    error: str
    """Why it gave no number."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One model's result in one column."""

    mean: float | None
    """The metric; for several sub-runs the mean of their means; None if no sub-run gave a number."""
    stderr: float | None
    """Standard error of the mean; of several sub-runs √(Σ stderr²) / k."""
    low: float | None
    """Lower end of the 95 % interval."""
    high: float | None
    """Upper end of the 95 % interval."""
    count: int
    """Number of instances."""
    missing: int
    """Number of further examples that gave no value of the metric."""
    have: int
    """Number of sub-runs that gave a number."""
    of: int
    """Number of sub-runs of the column."""
    best: bool = False
    """True if no other model of the column is shown to be better, but one is shown to be worse than another."""
    first: int | None = None
    """The best rank in the column that the model may have; the ranks of all models are correct at once with 95 %
    probability. None if the column is not compared.
    """
    last: int | None = None
    """The worst rank that it may have."""
    failures: tuple[Failure, ...] = ()
    """Sub-runs that failed, then failed runs of sub-runs of which another run counts."""
    no_value: tuple[Failure, ...] = ()
    """Sub-runs that gave no number for a reason that is not an error, such as a test of data that cannot be tested."""
    runs: tuple[str, ...] = ()
    """Folders of its runs, ``suite/name``."""
    imported: bool = False
    """True if another program measured it, at least in part."""
    effective: float = 0.0
    """K²/Σ(1/n) over its k sub-runs of n instances or clusters each: as many equally weighted ones would make the mean
    of the sub-runs' means as precise.
    """
    bounds: tuple[float, float] | None = None
    """The smallest and the largest score that an instance can have, of a metric whose scores reach them."""
    declined: Declined = field(default_factory=Declined)
    """The declined examples of its runs, unperturbed and of the evaluated split."""
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For each kind in :data:`COUNTED` of which there are any, their number and that of all examples of its runs,
    perturbed copies included.
    """
    prompts: PromptSpread | None = None
    """How much the number depends on the prompt; None if all runs have the same single prompt."""
    damaged: tuple[str, ...] = ()
    """The problems of its runs' files of examples, one message per damaged file."""

    @property
    def complete(self) -> bool:
        """True if every sub-run of the column gave a number, so that the cell may be compared."""
        return self.have == self.of

    @property
    def no_value_word(self) -> str:
        """What to show instead of a number, such as ``not testable``; '' if there is one or all sub-runs failed."""
        return self.no_value[0].error.partition(":")[0] if self.mean is None and self.no_value else ""

    @property
    def spread(self) -> float | None:
        """The standard deviation of a normal distribution whose 95 % interval is as wide; None without an interval.

        Where all answers are right or wrong it is positive, which the standard error is not.
        """
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2 / Z


def main_stat(run: RunRecord) -> Stat | None:
    """Return the run's main metric on the unperturbed instances of the evaluated split, if it is a finite number."""
    for stat in run.stats:
        if stat.metric == run.spec.main_metric and stat.split == run.spec.eval_split and stat.overall:
            return stat if math.isfinite(stat.mean) else None
    return None


def newest(runs: Sequence[RunRecord]) -> RunRecord:
    """Return which of several runs of the same thing counts: the newest with a number, else the newest."""
    return max(runs, key=lambda run: (has_number(run), run.finished, run.suite, run.name))


def examples_problem(run: RunRecord) -> str:
    """Return what is wrong with a run's file of examples; '' if it is as the record describes, or the run has none."""
    if run.examples is None:
        return ""
    try:
        check_examples(run)
    except DataError as error:
        return str(error)
    return ""


def cell_of(
    subruns: Mapping[str, RunRecord],
    of: int,
    failed: Sequence[RunRecord] = (),
    check: Callable[[RunRecord], str] = examples_problem,
) -> Cell:
    """Return one model's cell.

    The 95 % interval of a single run is the run's own. That of a macro-average recovers the variances from the
    sub-runs' intervals (MOVER, Zou and Donner 2008, eq. 3): each end lies √(Σ d²) / k from the mean, d the distance of
    a sub-run's end from its own mean. So it has a width even if all of a sub-run's answers are right or wrong, as
    the intervals of the sub-runs have. If a sub-run has no interval, the cell has none.

    Args:
        subruns: For each sub-run the run that counts.
        of: Number of sub-runs of the column.
        failed: Other runs, which gave no number and do not count, but of which a reader must know.
        check: Returns what is wrong with a run's examples.
    """
    runs = [subruns[key] for key in sorted(subruns)]
    stats = [stat for run in runs if run.status == "ok" and (stat := main_stat(run)) is not None]
    return replace(
        _over_prompts(pooled(stats, of), [run for run in runs if has_number(run)]),
        failures=(
            *(Failure(run.spec.scenario.label, _error(run)) for run in runs if not (has_number(run) or run.no_value)),
            *(Failure(run.name, _error(run)) for run in failed),
        ),
        no_value=tuple(Failure(run.spec.scenario.label, run.no_value) for run in runs if run.no_value),
        runs=tuple(f"{part.suite}/{part.name}" for run in runs if has_number(run) for part in parts(run)),
        imported=any(has_number(run) and imported_from(run) for run in runs),
        declined=declined_by(run for run in runs if has_number(run)),
        counts=counts_of([one for run in runs if has_number(run) for one in variants(run)]),
        damaged=tuple(problem for run in runs if has_number(run) for part in parts(run) if (problem := check(part))),
    )


def _over_prompts(cell: Cell, runs: Sequence[RunRecord]) -> Cell:
    """Return a cell with the error that prompts add to the mean of its sub-runs, all of which they change at once."""
    varied = [run for run in runs if isinstance(run, VariedRun)]
    if not varied or len(varied) < len(runs):
        return cell
    if len(varied) == 1:
        return replace(cell, prompts=varied[0].prompts)
    over_instances = pooled([_for_these_prompts(run) for run in varied], cell.of)
    mean = Estimate(
        over_instances.mean or 0.0,
        over_instances.count,
        over_instances.stderr,
        over_instances.low,
        over_instances.high,
    )
    prompts = joined_spread([run.prompts for run in varied], mean, cell.bounds)
    if prompts is None:
        return cell
    found = prompts.effects.estimate
    return replace(cell, stderr=found.stderr, low=found.low, high=found.high, prompts=prompts)


def _for_these_prompts(run: VariedRun) -> Stat:
    """Return the main statistic with its error over instances alone."""
    stat, found = main_stat(run), run.prompts.effects.instances
    if stat is None:
        raise AssertionError(f"{run.name} has a number")
    ends = None if found.low is None or found.high is None else (found.low, found.high)
    return replace(stat, stderr=found.stderr, ci95=ends)


def declined_by(runs: Iterable[RunRecord]) -> Declined:
    """Return the declined examples in the runs' main metrics: unperturbed, of the evaluated split."""
    return sum((run.declined.part(run.spec.eval_split.value) for run in runs), Declined())


def counts_of(runs: Sequence[RunRecord]) -> Mapping[str, tuple[int, int]]:
    """Return :attr:`Cell.counts` of runs."""
    of = sum(run.efficiency.get("examples") or 0 for run in runs)
    found = {kind: sum(run.efficiency.get(kind) or 0 for run in runs) for kind in COUNTED}
    return {kind: (count, of) for kind, count in found.items() if count}


def imported_from(run: RunRecord) -> str:
    """Return the program that measured a run; '' for the harness itself."""
    origin = run.provenance.get("origin")
    return str(origin.get("program", "another program")) if isinstance(origin, Mapping) and origin else ""


def pooled(
    stats: Sequence[Stat],
    of: int,
    declined: Declined | None = None,
    counts: Mapping[str, tuple[int, int]] | None = None,
) -> Cell:
    """Return the cell of one metric from its stats, one for each sub-run that has it.

    Args:
        stats: The stats.
        of: Number of sub-runs of the column.
        declined: See :attr:`Cell.declined`.
        counts: See :attr:`Cell.counts`.
    """
    low, high = _interval(stats)
    return Cell(
        mean=math.fsum(stat.mean for stat in stats) / len(stats) if stats else None,
        stderr=_macro_stderr(stats),
        low=low,
        high=high,
        count=sum(stat.count for stat in stats),
        missing=sum(stat.missing for stat in stats),
        have=len(stats),
        of=of,
        effective=len(stats) ** 2 / math.fsum(1.0 / _units(stat) for stat in stats) if _counted(stats) else 0.0,
        bounds=agreed(map(_bounds, stats)),
        declined=declined or Declined(),
        counts=counts or {},
    )


def _bounds(stat: Stat) -> tuple[float, float] | None:
    """Return the range of a proportion or a bounded score; without a declared scale, 0 to 1 if all scores are there."""
    if stat.scale is not None:
        return stat.scale.bounds if stat.scale.kind in ("proportion", "bounded") else None
    if stat.min is not None and stat.max is not None and 0.0 <= stat.min <= stat.max <= 1.0:
        return 0.0, 1.0
    return None


def _units(stat: Stat) -> int:
    """Return the number of independent units of a stat: clusters, else instances."""
    return stat.clusters or stat.count


def _counted(stats: Sequence[Stat]) -> bool:
    """Return whether the number of instances of each stat is known."""
    return bool(stats) and all(stat.count for stat in stats)


def instance_scores(subruns: Mapping[str, RunRecord]) -> tuple[InstanceScores, ...]:
    """Return the instances' scores of each sub-run, in one order for all models; none if any are unknown."""
    found = [subruns[key].instance_scores for key in sorted(subruns)]
    known = [scores for scores in found if scores is not None]
    return tuple(known) if len(known) == len(found) else ()


def has_number(run: RunRecord) -> bool:
    """Return whether a run succeeded and has a value of its main metric."""
    return run.status == "ok" and main_stat(run) is not None


def _error(run: RunRecord) -> str:
    if run.status == "ok":
        return run.no_value or f"no value of {run.spec.main_metric} on split {run.spec.eval_split}"
    return run.error or f"{run.status}, without an error message"


def _macro_stderr(stats: Sequence[Stat]) -> float | None:
    errors = [stat.stderr for stat in stats if stat.stderr is not None and math.isfinite(stat.stderr)]
    if not errors or len(errors) < len(stats):
        return None
    return math.hypot(*errors) / len(stats)


def _interval(stats: Sequence[Stat]) -> tuple[float | None, float | None]:
    if len(stats) == 1:
        return stats[0].ci95 or (None, None)
    intervals = [stat.ci95 for stat in stats if stat.ci95 is not None]
    if not intervals or len(intervals) < len(stats):
        return None, None
    mean = math.fsum(stat.mean for stat in stats) / len(stats)
    found = _bounded_interval(stats, mean)
    if found is not None:
        return found
    below = math.hypot(*(stat.mean - low for stat, (low, _) in zip(stats, intervals, strict=True)))
    above = math.hypot(*(high - stat.mean for stat, (_, high) in zip(stats, intervals, strict=True)))
    return mean - below / len(stats), mean + above / len(stats)


def _bounded_interval(stats: Sequence[Stat], mean: float) -> tuple[float, float] | None:
    """Return the interval of the mean of sub-runs' means of bounded scores; None if they are not known to be bounded.

    It is Jeffreys's for a proportion of as many trials as have the mean's variance. Joining the sub-runs' own intervals
    covers less near the bounds (.90 for twenty sub-runs at .97 with 20 instances each, where this covers .96).
    """
    error, scale = _macro_stderr(stats), stats[0].scale
    if error is None or scale is None or scale.kind not in ("proportion", "bounded") or not _counted(stats):
        return None
    low, high = scale.bounds
    if any(stat.scale is None or stat.scale.bounds != scale.bounds for stat in stats) or not low <= mean <= high:
        return None
    share, spread = (mean - low) / (high - low), error / (high - low)
    size = round(len(stats) ** 2 / math.fsum(1.0 / _units(stat) for stat in stats))
    ends = effective_size_interval(min(max(share, 0.0), 1.0), spread * spread, size)
    return min(low + (high - low) * ends[0], mean), max(high - (high - low) * (1.0 - ends[1]), mean)
