"""Tests of sealed data sets: does a model depend on what was drawn when the data set was sealed?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from harness import Estimate, Example, GenerateRequest, MetricError, RunMetric, metric
from harness.contamination import Choice, dye_test, published_choice_test
from harness.statistics import effective_size_interval


@metric(
    "sealed_choice",
    title={"sealed_choice": "Published texts, −log10 p", "sealed_choice_preferred": "Published text likeliest"},
    category="contamination",
    scale={"sealed_choice_preferred": "bounded", "*": "count"},
    higher_is_better=None,
    gives=("sealed_choice", "sealed_choice_preferred"),
    source="`harness seal`; compare STAMP (arXiv:2504.13416)",
)
class SealedChoice(RunMetric):
    """−log10 p of the published-choice test: the evidence that a model prefers published texts to private ones.

    A coin decided which of an item's texts was published. The texts' mean log-probabilities of a token are compared
    with what other items have there, and p is the exact probability over the coins. Values start at 0; higher is
    stronger evidence, and neither is better for the model. ``sealed_choice_preferred`` is the share of items whose
    published text is the likeliest. Only reads the adapter ``sealed_choice``.
    """

    def __init__(self) -> None:
        self._choices: list[Choice] = []

    def add(self, example: Example) -> None:
        """Take the log-probabilities of one item's texts.

        Raises:
            MetricError: They come from another adapter, or a log-probability is missing.
        """
        texts = example.instance.references
        scores = tuple(_mean(response.logprobs or ()) for response in example.responses)
        if len(scores) != len(texts) or len(scores) < 2:
            raise MetricError("sealed_choice only reads the answers of the adapter sealed_choice.")
        if not all(map(math.isfinite, scores)):
            raise MetricError("the model gave no finite log-probabilities.")
        published = next(place for place, text in enumerate(texts) if text.correct)
        self._choices.append(Choice(scores, published))

    def estimates(self) -> Mapping[str, Estimate]:
        if not self._choices:
            return {}
        found = published_choice_test(self._choices)
        share, n = found.preferred, found.items
        low, high = effective_size_interval(share, share * (1.0 - share) / n, n)
        return {
            "sealed_choice": Estimate(max(0.0, -found.log10_p), n),
            "sealed_choice_preferred": Estimate(share, n, low=low, high=high),
        }

    def details(self) -> Mapping[str, Any]:
        if not self._choices:
            return {}
        found = published_choice_test(self._choices)
        return {
            "sealed_log10_p": found.log10_p,
            "n_items": found.items,
            "texts": sorted({len(choice.scores) for choice in self._choices}),
            "preferred": found.preferred,
            "preferred_by_chance": found.preferred_by_chance,
            "log10_p_certified": found.log10_certified,
            "log10_p_floor": found.log10_floor,
        }


@metric(
    "sealed_dye",
    title={"sealed_dye": "Dye, −log10 p", "sealed_dye_hits": "Dye answers given"},
    category="contamination",
    scale={"sealed_dye_hits": "bounded", "*": "count"},
    higher_is_better=None,
    gives=("sealed_dye", "sealed_dye_hits"),
    source="`harness seal`; compare DyePack (arXiv:2505.23001)",
)
class SealedDye(RunMetric):
    """−log10 p of the dye test: the evidence that a model knows random answers that can only be learnt from the file.

    Dye questions have no answer; their published one was drawn from the options by chance, so that a model that does
    not depend on the file hits each with probability 1/options. Values start at 0; higher is stronger evidence, and
    neither is better for the model. ``sealed_dye_hits`` is the share of questions with the published answer. An answer
    in which no option can be read is not a hit. In the details, ``cut`` is the number of such answers that ended at
    ``max_tokens``, and ``unfinished_reasoning`` the number that ended while the model was still reasoning.
    """

    def __init__(self) -> None:
        self._answers: list[tuple[bool, int]] = []
        self._unread: Counter[str] = Counter()
        self._max_tokens: int | None = None

    def add(self, example: Example) -> None:
        """Take one question's answer.

        Raises:
            MetricError: The question has no options, or not one target.
        """
        references = example.instance.references
        if len(references) < 2 or len(example.correct) != 1:
            raise MetricError("sealed_dye needs questions with several options, one of them the target.")
        chosen = example.choice
        self._answers.append((chosen is not None and references[chosen].correct, len(references)))
        for request, response in zip(example.requests, example.responses, strict=False):
            if isinstance(request, GenerateRequest) and response.completions:
                self._max_tokens = request.max_tokens
                if chosen is None:
                    self._unread[response.completions[0].finish_reason] += 1

    def estimates(self) -> Mapping[str, Estimate]:
        if not self._answers:
            return {}
        found = dye_test(self._answers)
        share, n = found.hits / found.questions, found.questions
        low, high = effective_size_interval(share, share * (1.0 - share) / n, n)
        return {
            "sealed_dye": Estimate(max(0.0, -found.log10_p), n),
            "sealed_dye_hits": Estimate(share, n, low=low, high=high),
        }

    def details(self) -> Mapping[str, Any]:
        if not self._answers:
            return {}
        found = dye_test(self._answers)
        return {
            "sealed_log10_p": found.log10_p,
            "n_items": found.questions,
            "hits": found.hits,
            "hits_by_chance": found.expected,
            "cut": self._unread["length"],
            "unfinished_reasoning": self._unread["unfinished_reasoning"],
            "max_tokens": self._max_tokens,
        }


def _mean(logprobs: Sequence[float]) -> float:
    """Return the mean log-probability of a token, nats: sums would mostly tell how long the texts are."""
    return math.fsum(logprobs) / len(logprobs) if logprobs else math.nan
