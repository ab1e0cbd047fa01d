"""How much the completions of a prompt differ."""

from __future__ import annotations

import math

from harness import Example, MetricError, metric
from metrics._text.generations import own_completions
from metrics._text.languages import BleuTokenizer
from metrics.bleu import scorer, tokenizer_for

_SOURCE = "Liang et al. 2022 (disinformation); HELM, disinformation_metrics.py"


@metric(
    "self_bleu",
    title="Self-BLEU",
    category="accuracy",
    scale="bounded",
    higher_is_better=None,
    source=f"Zhu et al. 2018 (Texygen); {_SOURCE}",
)
def self_bleu(example: Example, *, tokenizer: BleuTokenizer | None = None, language: str | None = None) -> float | None:
    """Mean over completions of the sentence BLEU of each, with all other completions as its references.

    Between 0 and 1: 0 if no two completions share a word, 1 if all are equal. Neither direction is better; a large
    value means that the completions vary little. BLEU is computed as for bleu_4; ``tokenizer`` and ``language`` are
    those of bleu_1. Undefined for fewer than two completions that are not empty; HELM gives 0, as if a single text were
    as varied as possible. HELM's scale is 0 to 100.
    """
    texts = [stripped for text in example.predictions if (stripped := text.strip())]
    if len(texts) < 2:
        return None
    bleu = scorer(tokenizer or tokenizer_for(language, " ".join(texts)))
    scores = [
        bleu.sentence_score(text, texts[:index] + texts[index + 1 :]).score / 100.0 for index, text in enumerate(texts)
    ]
    return min(math.fsum(scores) / len(scores), 1.0)


@metric(
    "monte_carlo_entropy",
    title="Monte Carlo entropy",
    short="Entropy",
    category="accuracy",
    scale="count",
    higher_is_better=None,
    source=_SOURCE,
)
def monte_carlo_entropy(example: Example) -> float | None:
    """Mean over completions of the negative log-probability of the whole completion, in nats.

    It estimates the entropy of the model's distribution over completions: without bias if they were sampled at
    temperature 1; at another temperature it is a cross-entropy. At least 0, and neither direction is better. Undefined
    if a completion is empty, since it has no token with a probability; HELM counts it as certain.

    Raises:
        MetricError: A completion that is not empty has no log-probability.
    """
    completions = own_completions(example)
    if any(not completion.text and completion.logprob is None for completion in completions):
        return None
    logprobs = [completion.logprob for completion in completions]
    known = [logprob for logprob in logprobs if logprob is not None and math.isfinite(logprob)]
    if len(known) < len(logprobs):
        raise MetricError("the model gave no log-probability for a completion.")
    return abs(math.fsum(min(logprob, 0.0) for logprob in known)) / len(known) if known else None
