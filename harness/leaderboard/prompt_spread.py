"""How much a score depends on the prompt, and runs with variants of one prompt as one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.contracts import Estimate, Scale
from harness.contracts.specs import UNCHANGED
from harness.leaderboard.columns import agreed
from harness.leaderboard.repeats import RepeatedRun
from harness.statistics import ConditionEffects, combined
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True)
class PromptSpread:
    """How much a score depends on the prompt."""

    effects: ConditionEffects
    """The mean over instances and prompts, with its errors."""
    descriptions: tuple[str, ...]
    """The prompts in words, in the order of the effects' means."""
    higher_is_better: bool | None
    """True if higher is better, False if lower is; None for neither."""
    paired: bool = True
    """False if the instances' scores are unknown: the deviation then includes the noise of few instances."""

    @property
    def best(self) -> int | None:
        """The place of the prompt with the best mean; None if neither direction is better."""
        return self._extreme(best=True)

    @property
    def worst(self) -> int | None:
        """The place of the prompt with the worst mean."""
        return self._extreme(best=False)

    @property
    def unchanged(self) -> float | None:
        """The mean of the unchanged prompt; None if it has none."""
        found = dict(zip(self.descriptions, self.effects.means, strict=True))
        return found.get(UNCHANGED)

    def _extreme(self, *, best: bool) -> int | None:
        if self.higher_is_better is None:
            return None
        means = self.effects.means
        return means.index(max(means) if best == self.higher_is_better else min(means))


@dataclass(frozen=True, slots=True, kw_only=True)
class VariedRun(RunRecord):
    """Runs with variants of one prompt as one run, with the settings of the unchanged one."""

    variants: tuple[RunRecord, ...]
    """The runs, the unchanged prompt first, then by description; each may be several repeats."""
    prompts: PromptSpread
    """The main metric over instances and prompts."""


def variants(run: RunRecord) -> tuple[RunRecord, ...]:
    """Return the variants of a run's prompt, each of which may be several repeats, or the run itself."""
    return run.variants if isinstance(run, VariedRun) else (run,)


def parts(run: RunRecord) -> tuple[RunRecord, ...]:
    """Return the runs that were put together to one, or the run itself."""
    return tuple(part for one in variants(run) for part in (one.repeats if isinstance(one, RepeatedRun) else (one,)))


def joined_spread(
    spreads: Sequence[PromptSpread], instances: Estimate, bounds: tuple[float, float] | None
) -> PromptSpread | None:
    """Return the spread of the mean of several sub-runs' means; None unless all have the same prompts.

    A prompt changes all sub-runs at once, so that its effects on them do not average out.

    Args:
        spreads: That of each sub-run.
        instances: The mean of the means, with its error and interval over instances.
        bounds: The smallest and the largest score of an instance; None if unknown.
    """
    if not spreads or agreed(spread.descriptions for spread in spreads) is None:
        return None
    count = len(spreads)
    means = [sum(each) / count for each in zip(*(spread.effects.means for spread in spreads), strict=True)]
    noise = sum(spread.effects.noise for spread in spreads) / count**2
    return replace(
        spreads[0],
        effects=combined(instances, means, noise, Scale("bounded", *bounds) if bounds else None),
        higher_is_better=agreed(spread.higher_is_better for spread in spreads),
        paired=all(spread.paired for spread in spreads),
    )
