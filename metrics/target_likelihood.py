"""How well a model predicts the one right continuation of a text, such as the last word of a passage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from harness import Estimate, Example, MetricError, Response, RunMetric, Scale, metric
from harness.statistics import COUNT, InstanceTable, mean_estimate, transformed
from metrics._option_likelihoods import log_likelihood, scored_references

_SOURCE = "Paperno et al. 2016, section 4 (LAMBADA, arXiv:1606.06031)"


@metric(
    "target_greedy",
    title="Target chosen greedily",
    short="Greedy",
    category="accuracy",
    scale="proportion",
    source=_SOURCE,
)
def target_greedy(example: Example) -> float | None:
    """1 if every token of the correct reference was the model's first choice, given those before it; else 0.

    The model would have written the reference, decoding greedily. A scenario lists the reference under ``references``
    and asks by ``multiple_choice_separate_original``, which scores it. If several references are correct, any of them
    counts. The mean lies between 0 and 1, and higher is better. Undefined without a correct reference.

    Raises:
        MetricError: No correct reference was scored, or the model does not say what its first choice was.
    """
    targets = _targets(example)
    if any(target.greedy is None for target in targets):
        raise MetricError("the model does not say whether the tokens of a text were its first choice.")
    return float(any(target.greedy for target in targets)) if targets else None


@metric(
    "target_perplexity",
    title="Perplexity of the target",
    short="PPL (target)",
    category="accuracy",
    scale=Scale("unbounded", 1.0),
    higher_is_better=False,
    gives=("target_perplexity",),
    source=_SOURCE,
)
class TargetPerplexity(RunMetric):
    """exp(−mean log-probability of the correct reference): its perplexity as a whole, not per token.

    At least 1, and lower is better. It does not depend on how a tokenizer divides the reference. If several references
    are correct, the likeliest counts. The interval is the exponential of that of the mean, corrected for skewness.
    Instances without a correct reference are counted as missing.
    """

    def __init__(self) -> None:
        self._table = InstanceTable()
        self._missing = 0

    def add(self, example: Example) -> None:
        """Note the log-probability of an instance's correct reference.

        Raises:
            MetricError: No correct reference was scored, or the model gave no log-probability.
        """
        targets = _targets(example)
        if not targets:
            self._missing += 1
            return
        best = max(map(log_likelihood, targets))
        if math.isinf(best):
            raise MetricError("the model gives a correct reference the probability 0.")
        self._table.add(self._table.row(example.instance.id), "loss", -best)

    def estimates(self) -> Mapping[str, Estimate]:
        losses = self._table.means("loss")
        if not losses:
            return {}
        found = transformed(mean_estimate(losses, COUNT), _perplexity, _perplexity)
        return {"target_perplexity": replace(found, missing=self._missing)}


def _perplexity(loss: float) -> float:
    return math.exp(min(loss, 700.0))  # larger values overflow double precision


def _targets(example: Example) -> list[Response]:
    """Return the answers about the correct references; none if no reference is correct.

    Raises:
        MetricError: There is a correct reference, but none was scored.
    """
    scored = scored_references(example)
    targets = [scored[n] for n, reference in enumerate(example.references) if reference.correct and n in scored]
    if example.correct and not targets:
        raise MetricError(
            "no correct reference was scored; use a method that scores references, such as "
            "multiple_choice_separate_original."
        )
    return targets
