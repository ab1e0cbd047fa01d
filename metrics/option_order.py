"""Does a model prefer multiple-choice options in their published order?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness import NO_VALUE, Estimate, Example, MetricError, RunMetric, metric
from harness.contamination import Verdict, diagnose_options, option_digests, option_order_test, why_options_not_testable
from harness.statistics import effective_size_interval


@metric(
    "option_order",
    title={"option_order": "Option order, −log10 p", "option_order_first": "Published order likeliest"},
    category="contamination",
    scale={"option_order_first": "bounded", "*": "count"},
    higher_is_better=None,
    gives=("option_order", "option_order_first"),
    source="Ni et al. 2024 (arXiv:2409.01790)",
)
class OptionOrder(RunMetric):
    """−log10 p of the option-order test: the evidence that a model depends on the published order of options.

    For each question the published order is ranked among others by log-likelihood; under the null hypothesis, that the
    model does not depend on it, every rank is equally likely. The ranks' normal scores are added up, and p is the exact
    tail. Values start at 0; higher is stronger evidence, and neither is better for the model. ``option_order_first`` is
    the share of questions whose published order is the likeliest, ties shared. The test needs options that the authors
    put in random order, and only reads the adapter ``option_order``. If the text shows that they have an order of their
    own, or there are too few questions for a p-value at the level, there is no value, and the details say why.

    Args:
        alpha: The level.
    """

    def __init__(self, *, alpha: float = 0.01) -> None:
        if not 0 < alpha < 1:
            raise MetricError(f"option_order: alpha is {alpha}, but must be between 0 and 1.")
        self._alpha = alpha
        self._answers: list[int | None] = []
        self._items: list[Sequence[float]] = []
        self._options: list[Sequence[str]] = []

    def add(self, example: Example) -> None:
        """Take one question's log-likelihoods, the published order's first.

        Raises:
            MetricError: They come from another adapter, or a log-probability is missing.
        """
        scores = [math.fsum(response.logprobs or (math.nan,)) for response in example.responses]
        if len(scores) < 2 or not example.labels or example.choice is not None:
            raise MetricError("option_order only reads the answers of the adapter option_order.")
        if not all(map(math.isfinite, scores)):
            raise MetricError("the model gave no finite log-probabilities.")
        self._items.append(scores)
        references = example.instance.references
        self._options.append([reference.text for reference in references])
        correct = [place for place, one in enumerate(references) if one.correct]
        # Of several correct options, the first one's place is not uniform even if the options are in random order.
        self._answers.append(correct[0] if len(correct) == 1 else None)

    def estimates(self) -> Mapping[str, Estimate]:
        if not self._items or NO_VALUE in self.details():
            return {}
        found = option_order_test(self._items)
        low, high = effective_size_interval(
            found.top1_rate, found.top1_rate * (1.0 - found.top1_rate) / found.items, found.items
        )
        return {
            "option_order": Estimate(max(0.0, -found.log10_p), found.items),
            "option_order_first": Estimate(found.top1_rate, found.items, low=low, high=high),
        }

    def details(self) -> Mapping[str, Any]:
        if not self._items:
            return {}
        found = option_order_test(self._items)
        orders = sorted({len(item) for item in self._items})
        text = diagnose_options(self._options, self._answers)
        details = {
            "n_questions": found.items,
            "orders": orders,
            "first_rate": found.top1_rate,
            "first_rate_by_chance": sum(1 / len(item) for item in self._items) / len(self._items),
            "mean_percentile": found.mean_percentile,
            "log10_p": found.log10_p,
            "log10_p_certified": found.log10_certified,
            "log10_p_floor": -sum(math.log10(len(item)) for item in self._items),
            "alpha": self._alpha,
            "option_digests": option_digests(self._options),
            "exchangeable": text.exchangeable,
            "diagnostics": {test.name: {"z": test.z, "p": test.p, "p_holm": test.p_holm} for test in text.tests},
        }
        if not (reason := why_options_not_testable(details, self._alpha)):
            return details
        unknown = {"log10_p": None, "log10_p_certified": None}
        return {**details, **unknown, "not_testable": reason, NO_VALUE: f"{Verdict.NOT_TESTABLE}: {reason}"}
