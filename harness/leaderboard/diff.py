"""Compares two suites: the change of each model's main metric on each scenario, with a test of significance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.answers.reasoning_count import unfinished_note
from harness.contracts import Stat
from harness.errors import DataError, HarnessError
from harness.leaderboard.cells import declined_by, main_stat, newest
from harness.leaderboard.columns import canonical, grouped, run_settings
from harness.leaderboard.comparison import Comparison, compare_runs, question_title
from harness.leaderboard.model_names import model_names, model_of
from harness.leaderboard.repeats import seeds
from harness.leaderboard.run_titles import run_titles
from harness.plugins.registry import Registry
from harness.statistics import holm
from harness.statistics.quantiles import Z
from harness.storage.example_files import has_examples
from harness.storage.results import RunRecord
from harness.storage.run_labels import distinctions

MOST_ALONE = 6
"""Number of runs without a counterpart that are named in a note."""


@dataclass(frozen=True, slots=True)
class Change:
    """One model on one scenario in both suites."""

    model: str
    """The model."""
    scenario: str
    """The scenario's label."""
    method: str
    """The adaptation method."""
    metric: str
    """The main metric."""
    higher_is_better: bool | None
    """True if higher is better, False if lower is; None for neither."""
    before: float
    """The first suite's mean."""
    after: float
    """The second's."""
    difference: float
    """After − before."""
    low: float | None
    """Lower end of its 95 % interval; None if it is unknown."""
    high: float | None
    """Upper end."""
    count: int
    """Number of instances: of both runs if they are paired, else of the smaller run; 0 if unknown."""
    test: str | None
    """``mcnemar`` or ``permutation`` on the same instances; ``normal`` from the means' intervals if the instances are
    unknown; None without a test.
    """
    p: float | None
    """The two-sided p-value; None without a test."""
    p_holm: float | None
    """Adjusted over all changes that have one (Holm 1979)."""
    notes: tuple[str, ...] = ()
    """Notes for the reader."""
    title: str = ""
    """The scenario's name for people, with its parameters."""
    settings: str = ""
    """The settings that distinguish it from other changes of the model and scenario, such as a seed, in brackets."""

    @property
    def paired(self) -> bool:
        """True if it is over the same instances."""
        return self.test in {"mcnemar", "permutation"}

    @property
    def better(self) -> bool | None:
        """True for a significant improvement (5 %, corrected), False for a significant decline, else None."""
        if self.p_holm is None or self.p_holm >= 0.05 or self.higher_is_better is None or self.difference == 0:
            return None
        return (self.difference > 0) == self.higher_is_better


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes between two suites."""

    first: str
    """The suite before."""
    second: str
    """The suite after."""
    changes: tuple[Change, ...]
    """Significant ones first, and of these the largest."""
    problems: tuple[str, ...]
    """The runs that could not be compared, and why."""


def diff_suites(runs: Iterable[RunRecord], first: str, second: str, registry: Registry | None = None) -> Diff:
    """Compare two suites, model by model and scenario by scenario.

    Two runs are paired if their specs are equal except for the suite, or if they are the only ones of the model
    with the scenario, method, main metric and split; a note then says what differs. If both have examples, the
    change is over the instances of both (:func:`.comparison.compare_runs`); else its interval comes from those of the
    two means (MOVER, Zou and Donner 2008), as if the instances were different.

    Args:
        runs: Runs of both suites.
        first: The suite before.
        second: The suite after.
        registry: The metrics; needed for scores that are not stored with the examples.

    Raises:
        DataError: They have nothing in common.
    """
    known = list(runs)
    names = model_names(known)
    titles = run_titles(known, registry)
    problems: list[str] = []
    changes: list[Change] = []
    left, right = ([run for run in known if run.suite == suite] for suite in (first, second))

    def label(run: RunRecord) -> str:
        return f"{model_of(run, names)} on {question_title(run.spec, titles)}"

    pairs = list(_pairs(left, right, first, second, problems, label))
    labels = {run.spec.name: label(run) for _, run in pairs}
    told_apart = distinctions([after.spec for _, after in pairs], lambda spec: labels[spec.name])
    for (before, after), distinction in zip(pairs, told_apart, strict=True):
        failed = [run for run in (before, after) if run.status != "ok" or main_stat(run) is None]
        for run in failed:
            reason = run.error or run.no_value or "it has no main metric"
            problems.append(f"{label(after)}{distinction}: in {run.suite}, {reason}")
        if not failed:
            change = _change(model_of(after, names), before, after, registry)
            changes.append(replace(change, title=titles.run(after.spec.scenario), settings=distinction.strip()))
    if not changes:
        raise DataError("\n".join([f"{first} and {second} have nothing in common to compare.", *problems]))
    order = sorted(changes, key=lambda change: (change.model, change.scenario, change.method, change.settings))
    return Diff(first, second, tuple(sorted(_adjusted(order), key=_importance)), tuple(problems))


def _importance(change: Change) -> tuple[bool, float]:
    return change.better is None, -abs(change.difference)


def _pairs(
    left: Sequence[RunRecord],
    right: Sequence[RunRecord],
    first: str,
    second: str,
    problems: list[str],
    label: Callable[[RunRecord], str],
) -> Iterator[tuple[RunRecord, RunRecord]]:
    """Yield the pairs of runs, and note those without a counterpart: equal ones, then repeats with equal seeds."""
    ours, theirs = grouped(left, _exact), grouped(right, _exact)
    for key in sorted(ours.keys() & theirs.keys()):
        yield newest(ours[key]), newest(theirs[key])
    rest = [newest(ours[key]) for key in sorted(ours.keys() - theirs.keys())]
    others = [newest(theirs[key]) for key in sorted(theirs.keys() - ours.keys())]
    for alike in (_repeat, _loose):
        here, there = grouped(rest, alike), grouped(others, alike)
        found = [key for key in sorted(here.keys() & there.keys()) if len(here[key]) == len(there[key]) == 1]
        for key in found:
            yield here[key][0], there[key][0]
        rest, others = ([run for run in runs if alike(run) not in found] for runs in (rest, others))
    here, there = grouped(rest, _loose), grouped(others, _loose)
    alone: dict[str, list[str]] = {first: [], second: []}
    for key in sorted(here.keys() | there.keys()):
        ours_left, theirs_left = here.get(key, []), there.get(key, [])
        name = label((ours_left or theirs_left)[0])
        if ours_left and theirs_left:
            counts = f"{len(ours_left)} runs in {first} and {len(theirs_left)} in {second}"
            problems.append(f"{name}: {counts} with different settings.")
        else:
            alone[first if ours_left else second].append(name)
    for suite, names in alone.items():
        if names:
            more = f"; and {len(names) - MOST_ALONE} more" if len(names) > MOST_ALONE else ""
            problems.append(f"only in {suite}: {'; '.join(names[:MOST_ALONE])}{more}.")


def _repeat(run: RunRecord) -> str:
    return canonical([_loose(run), *seeds(run)])


def _exact(run: RunRecord) -> str:
    return canonical(run.spec.identity)


def _loose(run: RunRecord) -> str:
    spec = run.spec
    parts = [spec.model.model_dump(mode="json"), spec.scenario.model_dump(mode="json"), spec.adapter.name]
    return canonical([*parts, spec.main_metric, spec.eval_split])


def _change(model: str, before: RunRecord, after: RunRecord, registry: Registry | None) -> Change:
    one, other = main_stat(before), main_stat(after)
    if one is None or other is None:  # pragma: no cover - checked before
        raise DataError("a run has no main metric.")
    low, high, p = _unpaired(one, other)
    change = Change(
        model=model,
        scenario=after.spec.scenario.label,
        method=after.spec.adapter.name,
        metric=other.metric,
        higher_is_better=other.higher_is_better,
        before=one.mean,
        after=other.mean,
        difference=other.mean - one.mean,
        low=low,
        high=high,
        count=min(one.count, other.count),
        test=None if p is None else "normal",
        p=p,
        p_holm=None,
        notes=(*_settings(before, after), *_declined(before, after)),
    )
    problem: tuple[str, ...] = ()
    if has_examples(before) and has_examples(after):
        try:
            return _paired(change, compare_runs(after, before, registry=registry))
        except HarnessError as error:
            problem = (f"not on the same instances: {error}",)
    return replace(change, notes=(*change.notes, *problem, *_no_interval(one, other)))


def _paired(change: Change, comparison: Comparison) -> Change:
    """Return a change with the numbers of the instances that both runs have."""
    return replace(
        change,
        before=comparison.second,
        after=comparison.first,
        difference=comparison.difference,
        low=comparison.low,
        high=comparison.high,
        count=comparison.count,
        test=comparison.test,
        p=comparison.p,
        notes=(
            *change.notes,
            *(f"instances not compared: {reason}" for reason in comparison.left_out("after", "before")),
            *(comparison.notes[-1:] if comparison.low is None else ()),  # why there is no interval comes last
        ),
    )


def _settings(before: RunRecord, after: RunRecord) -> Iterator[str]:
    """Yield the settings that change what a number means and that differ."""
    one, other = (
        {**run_settings(run.spec), "seed": run.spec.seed, "sampling_seed": run.spec.sampling_seed}
        for run in (before, after)
    )
    for name in sorted(one.keys() | other.keys()):
        was, became = (canonical(settings.get(name)) for settings in (one, other))
        if was != became:
            yield f"{name}: {was} before, {became} after"


def _declined(before: RunRecord, after: RunRecord) -> Iterator[str]:
    """Yield how many answers were declined or unfinished before and after."""
    for run, when in ((before, "before"), (after, "after")):
        declined = declined_by([run])
        if declined.examples:
            yield f"{when}, {declined}"
        if unfinished := unfinished_note(run.efficiency):
            yield f"{when}, {unfinished}"


def _no_interval(before: Stat, after: Stat) -> Iterator[str]:
    """Yield why the means have no interval."""
    for stat, when in ((before, "before"), (after, "after")):
        if stat.ci95 is None and stat.note:
            yield f"{when}, {stat.note}"


def _unpaired(before: Stat, after: Stat) -> tuple[float | None, float | None, float | None]:
    """Return the interval of a difference of means and its p-value, from their own intervals."""
    if before.ci95 is None or after.ci95 is None:
        return None, None, None
    difference = after.mean - before.mean
    below = math.hypot(after.mean - after.ci95[0], before.ci95[1] - before.mean)
    above = math.hypot(after.ci95[1] - after.mean, before.mean - before.ci95[0])
    # The half of the interval on the side of 0 is the scale of the distance from 0.
    reach = below if difference > 0 else above
    if reach == 0:
        return difference - below, difference + above, None
    z = abs(difference) / (reach / Z)
    return difference - below, difference + above, math.erfc(z / math.sqrt(2))


def _adjusted(changes: Sequence[Change]) -> tuple[Change, ...]:
    tested = [change.p for change in changes if change.p is not None]
    adjusted = iter(holm(tested))
    return tuple(change if change.p is None else replace(change, p_holm=next(adjusted)) for change in changes)
