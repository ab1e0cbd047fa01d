"""BLEU of single sentences, in any script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, ClassVar

from harness import Example, ExampleMetric, metric
from metrics._text.languages import BleuTokenizer, bleu_tokenizer, one_language
from metrics._text.references import Score, best_over_references
from metrics._text.word_tokens import script_without_spaces


class _SentenceBleu(ExampleMetric):
    """BLEU of n-grams of up to ``order`` words; notes which tokenizers it used."""

    order: ClassVar[int]

    def __init__(self, *, tokenizer: BleuTokenizer | None = None, language: str | None = None) -> None:
        self._tokenizer, self._language = tokenizer, language
        self._used: Counter[str] = Counter()

    def __call__(self, example: Example) -> Score:
        return best_over_references(example, self._bleu)

    def details(self) -> Mapping[str, Any]:
        """Return sacreBLEU's signature, and how many comparisons each tokenizer was used for."""
        if not self._used:
            return {}
        scored = scorer("13a")
        scored.num_refs = 1
        signature = scored.get_signature()
        signature.update("tok", next(iter(self._used)) if len(self._used) == 1 else "by script")
        return {"signature": signature.format(), "tokenizers": dict(sorted(self._used.items()))}

    def _bleu(self, gold: str, prediction: str) -> float | None:
        if not gold.strip():
            return None
        chosen = self._tokenizer or tokenizer_for(self._language, gold)
        self._used[chosen] += 1
        found = _sentence_score(gold, prediction, chosen)
        if self.order == 1:
            counts, totals = found.counts[:1], found.totals[:1]
            found = scorer(chosen).compute_bleu(
                counts, totals, found.sys_len, found.ref_len, "exp", effective_order=True, max_ngram_order=1
            )
        return min(float(found.score) / 100.0, 1.0)


@metric(
    "bleu_1",
    title="BLEU-1",
    category="accuracy",
    scale="bounded",
    gives=("bleu_1", "bleu_1@*"),
    source="Papineni et al. 2002, section 2.3",
)
class Bleu1(_SentenceBleu):
    """Sentence BLEU of single words: clipped unigram precision times the brevity penalty.

    Between 0 and 1, and higher is better; the largest over correct references, each compared separately, as in HELM.
    Words are those of a sacreBLEU tokenizer, with case and punctuation (HELM uses nltk's ``word_tokenize``): the given
    ``tokenizer``, else ``zh`` for Chinese, ``char`` for Japanese, Thai, Lao, Khmer, Burmese and Tibetan, and ``13a``
    for other languages. ``language`` defaults to the scenario's; if the scenario has several or does not name one, the
    script of each reference decides. The details in run.json give sacreBLEU's signature, which names the tokenizer.
    Undefined if every correct reference is empty.
    """

    order = 1


@metric(
    "bleu_4",
    title="BLEU-4",
    category="accuracy",
    scale="bounded",
    gives=("bleu_4", "bleu_4@*"),
    source="Papineni et al. 2002, section 2.3; Chen and Cherry 2014, method 3",
)
class Bleu4(_SentenceBleu):
    """Sentence BLEU: the geometric mean of the clipped 1- to 4-gram precisions times the brevity penalty.

    Computed as by sacreBLEU (Post 2018) for a sentence: precisions of zero are smoothed exponentially, and n-grams
    longer than the prediction are left out. Between 0 and 1, and higher is better; the largest over correct references,
    each compared separately. A prediction without a word in common scores 0. Words are those of ``bleu_1``,
    which explains ``tokenizer`` and ``language``. Undefined if every correct reference is empty.

    HELM's ``bleu_4`` has the weights (0, 0, 0, 1): it is the unsmoothed 4-gram precision, which is near 0 for every
    prediction of fewer than four words, even a perfect one.
    """

    order = 4


def tokenizer_for(language: str | None, text: str) -> BleuTokenizer:
    """Return sacreBLEU's tokenizer for a language or, if none is named, for the script of a text."""
    if one_language(language):
        return bleu_tokenizer(language)
    script = script_without_spaces(text)
    return "13a" if script is None else "zh" if script == "han" else "char"


@cache
def scorer(tokenizer: BleuTokenizer) -> Any:
    """Return sacreBLEU's scorer of sentences, for n-grams of up to four words."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True, tokenize=tokenizer)


@lru_cache(maxsize=256)  # bleu_1 and bleu_4 of one example need the same counts
def _sentence_score(gold: str, prediction: str, tokenizer: BleuTokenizer) -> Any:
    return scorer(tokenizer).sentence_score(prediction, [gold])
