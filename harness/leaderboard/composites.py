"""Composite scores on a leaderboard: for each score that a sweep declares, every model's number and its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.contracts import Stat
from harness.contracts.scores import CompositeScore
from harness.leaderboard.cells import (
    Cell,
    Failure,
    counts_of,
    declined_by,
    examples_problem,
    has_number,
    imported_from,
    main_stat,
)
from harness.leaderboard.columns import agreed
from harness.leaderboard.pairwise import ContestResult, covariances_of_means, dependent_runs
from harness.leaderboard.prompt_spread import parts
from harness.statistics import effective_size_interval
from harness.storage.instance_scores import InstanceScores
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True)
class Part:
    """One run of a model as a part of a score."""

    stat: Stat
    """The main metric of the run."""
    weight: float
    """The share of the run in the mean; the weights of all parts sum to 1."""
    chance: float = 0.0
    """The score that guessing gets, which is rescaled to 0."""
    family: str = ""
    """The scenario; parts of the same one may share clusters."""
    scores: InstanceScores | None = None
    """The instances' scores; None if unknown."""

    @property
    def slope(self) -> float:
        """How fast the composite score grows with the run's score."""
        return self.weight / (1.0 - self.chance)


@dataclass(frozen=True, slots=True)
class CompositeEstimate:
    """A composite score of one model."""

    value: float
    """The score."""
    stderr: float | None
    """Its standard error; None if that of a part is unknown."""
    low: float | None
    """Lower end of the 95 % interval; None if a part has no interval."""
    high: float | None
    """Upper end."""
    effective: float
    """Number of equally weighted instances that would give the same precision; 0 if unknown."""
    bounds: tuple[float, float] | None
    """The range of the score before it is cut off at chance; None if unbounded."""


def scores_of(runs: Sequence[RunRecord]) -> list[CompositeScore]:
    """Return the scores that runs contribute to, by title and name; the same score of several suites once."""
    by_identity: dict[str, CompositeScore] = {}
    for run in sorted(runs, key=lambda run: run.finished):
        by_identity.update({score.identity: score for score in run.spec.scores})
    return sorted(by_identity.values(), key=lambda score: (score.title or score.name, score.identity))


def composite_cell(
    score: CompositeScore,
    found: Mapping[str, RunRecord],
    check: Callable[[RunRecord], str] = examples_problem,
) -> tuple[Cell, ContestResult | None]:
    """Return a model's cell of a score, and its result to compare with other models'; None without a number.

    Args:
        score: The score.
        found: The model's runs that count, by the digest of their questions.
        check: Returns what is wrong with a run's examples.
    """
    missing = tuple(
        Failure(run.label, _absence(found.get(run.question)))
        for run in score.runs
        if run.question not in found or not has_number(found[run.question])
    )
    there = [found[run.question] for run in score.runs if run.question in found and has_number(found[run.question])]
    complete = [
        all(run.question in found and has_number(found[run.question]) for run in member.runs)
        for member in score.members
    ]
    have, of = (sum(complete), len(complete)) if len(complete) > 1 else (len(there), len(score.runs))
    estimate = None if missing else composite_estimate(chosen := _parts(score, found))
    cell = Cell(
        mean=estimate.value if estimate else None,
        stderr=estimate.stderr if estimate else None,
        low=estimate.low if estimate else None,
        high=estimate.high if estimate else None,
        count=sum(stat.count for run in there if (stat := main_stat(run)) is not None),
        missing=sum(stat.missing for run in there if (stat := main_stat(run)) is not None),
        have=have,
        of=of,
        failures=missing,
        runs=tuple(f"{part.suite}/{part.name}" for run in there for part in parts(run)),
        imported=any(map(imported_from, there)),
        effective=estimate.effective if estimate else 0.0,
        bounds=estimate.bounds if estimate else None,
        declined=declined_by(there),
        counts=counts_of(there),
        damaged=tuple(problem for run in there for part in parts(run) if (problem := check(part))),
    )
    if estimate is None:
        return cell, None
    known = [part.scores for part in chosen if part.scores is not None and _is_mean(part.scores, part.stat.mean)]
    paired = len(known) == len(chosen)
    return cell, ContestResult(
        estimate.value,
        estimate.stderr if estimate.stderr is not None else cell.spread,
        estimate.effective,
        tuple(known) if paired else (),
        tuple(part.slope for part in chosen) if paired else (),
        tuple(part.family for part in chosen) if paired else (),
    )


def composite_estimate(chosen: Sequence[Part]) -> CompositeEstimate:
    """Return a score with its standard error and 95 % interval.

    Without rescaling it is the weighted mean Σ wᵢ·xᵢ. Rescaled from chance it is Σ wᵢ·max(0, tᵢ) with
    tᵢ = (xᵢ − cᵢ) / (1 − cᵢ). Its variance is that of Σ wᵢ·tᵢ, from the runs' variances and, where runs share
    instances, or clusters within a scenario, from their covariances.

    Where all scores are bounded, the interval of Σ wᵢ·tᵢ is Jeffreys's for a proportion of as many trials as have this
    variance; else it joins the distances of the runs' own ends (MOVER, Zou and Donner 2008), with the runs'
    correlations. Runs below chance count as 0, which can only raise the score: the lower end is that of Σ wᵢ·tᵢ, or 0,
    and the upper end lies as far from the score as that of Σ wᵢ·tᵢ from that sum. So the interval covers at least as
    often; it is wider than needed where many runs are near chance.
    """
    linear = math.fsum(part.weight * _rescaled(part.stat.mean, part.chance) for part in chosen)
    rescaled = any(part.chance for part in chosen)
    value = (
        math.fsum(part.weight * max(0.0, _rescaled(part.stat.mean, part.chance)) for part in chosen)
        if rescaled
        else linear
    )
    errors = [part.stat.stderr for part in chosen if part.stat.stderr is not None and math.isfinite(part.stat.stderr)]
    variance = None
    correlated = _covariances(chosen)
    if len(errors) == len(chosen):
        variance = math.fsum((part.slope * error) ** 2 for part, error in zip(chosen, errors, strict=True))
        variance = max(variance + 2.0 * math.fsum(correlated.values()), 0.0)
    sizes = [part.stat.clusters or part.stat.count for part in chosen]
    total = math.fsum(part.slope for part in chosen)
    effective = 0.0
    if all(sizes):
        effective = 1.0 / math.fsum((part.slope / total) ** 2 / size for part, size in zip(chosen, sizes, strict=True))
    bounds = _bounds(chosen)
    ends = _ends(chosen, linear, variance, effective, bounds, correlated, errors)
    low, high = ends if ends is not None else (None, None)
    if low is not None and high is not None and rescaled:
        low, high = max(0.0, low), value + (high - linear)
    return CompositeEstimate(value, None if variance is None else math.sqrt(variance), low, high, effective, bounds)


def _ends(
    chosen: Sequence[Part],
    linear: float,
    variance: float | None,
    effective: float,
    bounds: tuple[float, float] | None,
    correlated: Mapping[tuple[int, int], float],
    errors: Sequence[float],
) -> tuple[float, float] | None:
    """Return the interval of the weighted sum before it is cut off at chance; None if it has none."""
    if len(chosen) == 1 and chosen[0].stat.ci95 is not None:
        low, high = (_rescaled(end, chosen[0].chance) for end in chosen[0].stat.ci95)
        return low, high
    intervals = [part.stat.ci95 for part in chosen if part.stat.ci95 is not None]
    if variance is None or len(intervals) < len(chosen):
        return None
    if bounds is not None and bounds[0] < bounds[1] and effective >= 1.0 and bounds[0] <= linear <= bounds[1]:
        width = bounds[1] - bounds[0]
        share = min(max((linear - bounds[0]) / width, 0.0), 1.0)
        below, above = effective_size_interval(share, variance / width**2, round(effective))
        return min(bounds[0] + width * below, linear), max(bounds[0] + width * above, linear)

    def reach(distances: Sequence[float]) -> float:
        square = math.fsum((part.slope * d) ** 2 for part, d in zip(chosen, distances, strict=True))
        for (first, second), covariance in correlated.items():
            scale = chosen[first].slope * errors[first] * chosen[second].slope * errors[second]
            if scale > 0.0:
                joint = chosen[first].slope * distances[first] * chosen[second].slope * distances[second]
                square += 2.0 * covariance / scale * joint
        return math.sqrt(max(square, 0.0))

    means = [part.stat.mean for part in chosen]
    below = reach([mean - low for mean, (low, _) in zip(means, intervals, strict=True)])
    above = reach([high - mean for mean, (_, high) in zip(means, intervals, strict=True)])
    return linear - below, linear + above


def _covariances(chosen: Sequence[Part]) -> dict[tuple[int, int], float]:
    """Return the covariances of the parts' contributions, by their positions, for parts that share instances."""
    found: dict[tuple[int, int], float] = {}
    known = [
        (place, scores) for place, part in enumerate(chosen) if (scores := part.scores) is not None and len(scores) > 1
    ]
    families = [chosen[place].family for place, _ in known]
    for dependent in dependent_runs([scores for _, scores in known], families):
        if len(dependent) < 2:
            continue
        places = [known[each][0] for each in dependent]
        covariances = covariances_of_means([known[each][1] for each in dependent])
        for i, first in enumerate(places):
            for j in range(i + 1, len(places)):
                value = float(covariances[i, j]) * chosen[first].slope * chosen[places[j]].slope
                if value:
                    found[first, places[j]] = value
    return found


def _bounds(chosen: Sequence[Part]) -> tuple[float, float] | None:
    """Return the range of the weighted sum; None if a part's scores are not known to be bounded."""
    low = high = 0.0
    for part in chosen:
        scale = part.stat.scale
        if scale is None or scale.kind not in ("proportion", "bounded"):
            return None
        low += part.weight * _rescaled(scale.bounds[0], part.chance)
        high += part.weight * _rescaled(scale.bounds[1], part.chance)
    return low, high


def _parts(score: CompositeScore, found: Mapping[str, RunRecord]) -> list[Part]:
    """Return the parts of a score of which a model has every run."""
    chosen = []
    stats = {run.question: stat for run in score.runs if (stat := main_stat(found[run.question])) is not None}
    instances = sum(stats[run.question].count for run in score.runs)
    for member in score.members:
        for run in member.runs:
            stat = stats[run.question]
            even = 1.0 / (len(score.members) * len(member.runs))
            weight = stat.count / instances if score.mean == "micro" and instances else even
            record = found[run.question]
            chosen.append(Part(stat, weight, run.chance, record.spec.scenario.name, record.instance_scores))
    return chosen


def _rescaled(value: float, chance: float) -> float:
    return (value - chance) / (1.0 - chance)


def _is_mean(scores: InstanceScores, mean: float) -> bool:
    """Return True if the instances' scores, of 32 bits, have the run's mean, so that models can be paired by them."""
    return len(scores) > 1 and math.isclose(float(scores.scores().mean()), mean, rel_tol=1e-5, abs_tol=1e-5)


def _absence(run: RunRecord | None) -> str:
    if run is None:
        return "not run"
    if run.status == "ok":
        return run.no_value or f"no value of {run.spec.main_metric} on split {run.spec.eval_split}"
    return run.error or f"{run.status}, without an error message"


def direction_of(runs: Sequence[RunRecord]) -> bool | None:
    """Return True if higher is better in all runs of a score, False if lower is; None if they disagree."""
    return agreed(stat.higher_is_better for run in runs if (stat := main_stat(run)) is not None)
