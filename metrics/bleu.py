"""BLEU of single sentences."""

from __future__ import annotations

from functools import cache
from typing import Any

from harness import Example, metric
from metrics.references import Score, best_over_references


@metric("bleu_1", category="accuracy", gives=("bleu_1", "bleu_1@*"), source="Papineni et al. 2002, section 2.3")
def bleu_1(example: Example) -> Score:
    """Sentence BLEU of single words: clipped unigram precision times the brevity penalty.

    Between 0 and 1, and higher is better; the largest over correct references, each compared alone, as in HELM. Words
    are those of sacreBLEU's 13a tokenizer, case and punctuation kept (HELM: nltk's ``word_tokenize``).
    """
    return best_over_references(example, "bleu_1", lambda gold, prediction: _bleu(gold, prediction, 1))


@metric(
    "bleu_4",
    category="accuracy",
    gives=("bleu_4", "bleu_4@*"),
    source="Papineni et al. 2002, section 2.3; Chen and Cherry 2014, method 3",
)
def bleu_4(example: Example) -> Score:
    """Sentence BLEU: the geometric mean of the clipped 1- to 4-gram precisions times the brevity penalty.

    As sacreBLEU (Post 2018) computes it for a sentence: 13a tokenizer, exponential smoothing of precisions that are
    zero, and only the orders that the prediction is long enough to have. Between 0 and 1, and higher is better; the
    largest over correct references, each compared alone. A prediction without a word in common scores 0.

    Other than in HELM, whose ``bleu_4`` has the weights (0, 0, 0, 1) and so is the 4-gram precision alone, without
    smoothing: near 0 for every prediction of fewer than four words, a perfect one included.
    """
    return best_over_references(example, "bleu_4", lambda gold, prediction: _bleu(gold, prediction, 4))


def _bleu(gold: str, prediction: str, order: int) -> float:
    score = _scorer(order).sentence_score(prediction, [gold]).score / 100.0
    return min(float(score), 1.0)


@cache
def _scorer(order: int) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(max_ngram_order=order, effective_order=True)
