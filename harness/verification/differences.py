"""How answers that were asked for again differ from those that were recorded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from harness.contracts import Completion, Determinism, Example, Response
from harness.verification.recorded import Key

TOLERANCES = {
    Determinism.EXACT: 0.0,
    Determinism.FLOAT32: 1e-3,
    Determinism.BATCHED: 0.25,
    Determinism.PROVIDER: 0.25,
    Determinism.UNKNOWN: 1e-3,
}
"""By determinism grade, the largest difference of a token's natural log-probability that counts as rounding."""

SAME_SCORE = 1e-9
"""Largest relative difference of two scores that are computed in another order."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed about one question; the texts are of its first answer that changed."""

    instance: str
    """The instance's id."""
    perturbation: str | None
    """The instance's perturbation."""
    trial: int
    """The train trial."""
    changed: tuple[str, ...]
    """What changed: ``prompt``, ``instance``, ``answer``, ``log-probability``, ``score``, ``error``, ``missing``."""
    before: str = ""
    """The recorded answer."""
    after: str = ""
    """The answer now; why there is none."""
    logprob: float | None = None
    """Largest absolute difference of a token's log-probability; None if there is nothing to compare."""


@dataclass(slots=True)
class ScoreChange:
    """The scores of one metric on the sample, before and now."""

    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    changed: int = 0
    """Number of scores that changed, or are defined only before or only now."""

    def to_json(self) -> dict[str, float | int | None]:
        """Return means, and the number of scores that were compared and that changed."""
        count = len(self.before)
        means = (fmean(self.before), fmean(self.after)) if count else (None, None)
        return {"compared": count, "changed": self.changed, "before": means[0], "after": means[1]}


class LogprobDifferences:
    """Absolute differences of log-probabilities, a token at a time where they are known, else a token's mean."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def to_json(self) -> dict[str, float | int | None]:
        """Return how many there are, how many are 0, their maximum and median."""
        found = self.values
        ends = (max(found), median(found)) if found else (None, None)
        return {"compared": len(found), "equal": found.count(0.0), "max": ends[0], "median": ends[1]}


def compare_examples(
    key: Key,
    before: Sequence[tuple[Example, Mapping[str, float]]],
    after: Sequence[tuple[Example, Mapping[str, float]]],
    already: Sequence[str],
    tolerance: float,
    logprobs: LogprobDifferences,
    scores: dict[str, ScoreChange],
) -> Difference | None:
    """Compare the examples of one question, one for each sample; return what changed, None if nothing did.

    Args:
        key: The question.
        before: The recorded examples with their scores.
        after: The examples now.
        already: What is known to have changed about the prompt or the instance.
        tolerance: The largest difference of a token's log-probability that counts as rounding.
        logprobs: Receives the differences of log-probabilities.
        scores: Receives the scores, by stat name.
    """
    changed, texts, own = list(already), ("", ""), list[float]()
    if len(before) != len(after):
        changed.append("answer")
    for (old, old_scores), (new, new_scores) in zip(before, after, strict=False):
        if differs := _answers_differ(old, new):
            texts = differs if texts == ("", "") else texts
            changed.append("answer")
        rounding = list(_logprob_differences(old.responses, new.responses))
        own += rounding
        # Equal answers can have other scores because log-probabilities are rounded. Some scores use a text's
        # log-probability, whose tokens' differences add up, and some its exponential, such as perplexity.
        limit = 0.0 if differs else min(tolerance, math.expm1(min(math.fsum(rounding), 1.0)))
        if _compare_scores(old_scores, new_scores, scores, limit):
            changed.append("score")
    logprobs.values += own
    if own and max(own) > tolerance:
        changed.append("log-probability")
    if not changed:
        return None
    return Difference(key[0], key[1], key[2], tuple(dict.fromkeys(changed)), *texts, logprob=max(own, default=None))


def _answers_differ(old: Example, new: Example) -> tuple[str, str] | None:
    """Return the first two texts that differ; None if all answers are the same."""
    for one, other in zip(old.responses, new.responses, strict=False):
        for before, after in zip(one.completions, other.completions, strict=False):
            if _said(before) != _said(after):
                return _shown(before), _shown(after)
        scored = [None if each.logprobs is None else len(each.logprobs) for each in (one, other)]
        if scored[0] != scored[1]:
            return f"{scored[0] or 0} scored tokens", f"{scored[1] or 0} scored tokens"
        if len(one.completions) != len(other.completions):
            return f"{len(one.completions)} completions", f"{len(other.completions)} completions"
    if len(old.responses) != len(new.responses):
        return f"{len(old.responses)} requests", f"{len(new.responses)} requests"
    if (old.prediction, old.choice, old.choices) != (new.prediction, new.choice, new.choices):
        return old.prediction, new.prediction
    return None


def _said(completion: Completion) -> tuple[object, ...]:
    calls = [(call.name, call.arguments) for call in completion.tool_calls]
    return completion.text, completion.reasoning, completion.declined, completion.unfinished_reasoning, calls


def _shown(completion: Completion) -> str:
    called = "".join(f" [calls {call.name}]" for call in completion.tool_calls)
    ended = f" [{completion.finish_reason}]" if completion.declined or completion.unfinished_reasoning else ""
    return f"{completion.text}{called}{ended}"


def _logprob_differences(before: Sequence[Response], after: Sequence[Response]) -> Iterator[float]:
    for old, new in zip(before, after, strict=False):
        if old.logprobs is not None and new.logprobs is not None:
            sizes = old.segment_tokens or [1] * len(old.logprobs)
            for one, other, size in zip(old.logprobs, new.logprobs, sizes, strict=False):
                yield abs(one - other) / max(1, size)
        for one_text, other_text in zip(old.completions, new.completions, strict=False):
            if one_text.text == other_text.text and one_text.logprob is not None and other_text.logprob is not None:
                yield abs(one_text.logprob - other_text.logprob) / max(1, one_text.tokens or 1)


def _compare_scores(
    before: Mapping[str, float], after: Mapping[str, float], scores: dict[str, ScoreChange], tolerance: float
) -> bool:
    """Note the scores of an example; return True if one changed."""
    any_changed = False
    for name in sorted(after):
        change = scores.setdefault(name, ScoreChange())
        old, new = before.get(name), after[name]
        if old is None:
            change.changed += 1
            any_changed = True
            continue
        change.before.append(old)
        change.after.append(new)
        if abs(old - new) > (SAME_SCORE + tolerance) * max(1.0, abs(old)):
            change.changed += 1
            any_changed = True
    for name in scores.keys() & before.keys() - after.keys():
        scores[name].changed += 1
        any_changed = True
    return any_changed
