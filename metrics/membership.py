"""Heuristic scores of whether a model was trained on a text: loss, Min-K%, Min-K%++, and loss per compressed byte."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness import Estimate, Example, MetricError, RunMetric, Scale, metric
from harness.contamination import mean_logprob, min_k, min_k_plus_plus, zlib_ratio
from harness.statistics import SIGNED, mean_estimate

_SCALES = {"membership_min_k_plus_plus": SIGNED, "*": Scale("unbounded", None, 0.0)}


@metric(
    "membership",
    category="contamination",
    scale=_SCALES,
    higher_is_better=None,
    gives=("membership", "membership_*"),
    source="Yeom et al. 2018; Carlini et al. 2021; Shi et al. 2023 (arXiv:2310.16789); Zhang et al. 2024 (2404.02936)",
)
class Membership(RunMetric):
    """Mean over examples of their mean log-probability per token, in nats, and other scores. A heuristic.

    ``membership_min_k`` is Min-20% Prob, the mean over the least likely fifth of the tokens;
    ``membership_min_k_plus_plus`` Min-20%++, the same of log-probabilities standardized by their mean and deviation
    over the vocabulary; ``membership_zlib`` the log-likelihood per byte of the compressed text. Higher scores are more
    likely for texts of the training; neither is better, and no threshold is valid without texts of the same kind that
    were not in it: none of these has a guarantee. Loss and Min-K% are at most 0; the standardized score has no limits.
    """

    def __init__(self) -> None:
        self._scores: dict[str, dict[str, list[float]]] = {}
        self._role = ""

    def add(self, example: Example) -> None:
        """Take one example's log-probabilities.

        Raises:
            MetricError: They come from another adapter.
        """
        role = example.instance.meta.get("role")
        if role not in ("target", "control") or len(example.responses) != 1:
            raise MetricError("membership only reads the answers of the adapter membership.")
        self._role = role
        [response] = example.responses
        # Rounding can put the log-probability of a certain token just above 0.
        logprobs = tuple(min(logprob, 0.0) for logprob in response.logprobs or ())
        if not logprobs:
            raise MetricError(f"the model gave no log-probabilities of example {example.instance.id!r}.")
        scores = {
            "membership": mean_logprob(logprobs),
            "membership_min_k": min_k(logprobs),
            "membership_zlib": zlib_ratio(logprobs, example.instance.input),
        }
        if response.vocabulary_moments:
            scores["membership_min_k_plus_plus"] = min_k_plus_plus(logprobs, response.vocabulary_moments)
        for name, score in scores.items():
            self._scores.setdefault(name, {}).setdefault(example.instance.id, []).append(score)

    def estimates(self) -> Mapping[str, Estimate]:
        return {
            name: mean_estimate(list(self._means(name).values()), _SCALES.get(name, _SCALES["*"]))
            for name in self._scores
        }

    def instance_scores(self) -> Mapping[str, Mapping[str, float]]:
        return {name: self._means(name) for name in self._scores}

    def details(self) -> Mapping[str, Any]:
        return {"role": self._role, "heuristic": True, "scores": {name: self._means(name) for name in self._scores}}

    def _means(self, name: str) -> dict[str, float]:
        return {key: sum(scores) / len(scores) for key, scores in self._scores[name].items()}
