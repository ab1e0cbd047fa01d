"""Scores of whole corpora of translations, as sacreBLEU computes them: BLEU, chrF and TER."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from harness import Estimate, Example, MetricError, RunMetric, Scale, metric
from harness.statistics import influence_estimate, ratio_estimate, transformed
from metrics._text.languages import bleu_tokenizer, needs_segmentation, one_language

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Tokenizer = Literal["13a", "intl", "zh", "char", "ja-mecab", "ko-mecab", "flores101", "flores200"]
"""A tokenizer of sacreBLEU; the last four need libraries or a download of their own."""

PERCENT = Scale("bounded", 0.0, 100.0)

MOST_SHIFTED = 10_000
"""Largest product of the words of answer and reference for which TER looks for shifts, which takes seconds at worst."""


class _Corpus(RunMetric):
    """Sums sacreBLEU's statistics of sentences, of which a corpus score is a function."""

    name: ClassVar[str]

    def __init__(self, scorer: Any) -> None:
        self._scorer = scorer
        self._sums: dict[str, Sequence[float]] = {}
        self._references: set[int] = set()
        self._missing = 0

    def add(self, example: Example) -> None:
        """Add the sentence's statistics to those of its instance; without a reference, it is only counted."""
        references = [text for reference in example.correct if (text := reference.text.strip())]
        if not references:
            self._missing += 1
            return
        self._references.add(len(references))
        found = self._statistics(example.prediction.strip(), references)
        before = self._sums.get(example.instance.id)
        self._sums[example.instance.id] = (
            found if before is None else [one + other for one, other in zip(before, found, strict=True)]
        )

    def _statistics(self, prediction: str, references: Sequence[str]) -> Sequence[float]:
        """Return the statistics of a sentence; they are not public, but a corpus score is made of them alone."""
        [found] = self._scorer._extract_corpus_statistics([prediction], [[reference] for reference in references])
        return list(found)

    def estimates(self) -> Mapping[str, Estimate]:
        import numpy as np

        if not self._sums:
            return {}
        return {
            self.name: replace(self._estimate(np.array(list(self._sums.values()), dtype=float)), missing=self._missing)
        }

    def details(self) -> Mapping[str, Any]:
        if not self._sums:
            return {}
        self._scorer.num_refs = max(self._references) if len(self._references) == 1 else -1
        return {"signature": self._scorer.get_signature().format()}

    @abstractmethod
    def _estimate(self, rows: Floats) -> Estimate:
        """Return the score of a corpus from the statistics of its instances, in rows."""


class _Jackknifed(_Corpus):
    """A score between 0 and 100 that is neither a mean nor a ratio."""

    def _estimate(self, rows: Floats) -> Estimate:
        whole = rows.sum(axis=0)
        value = float(self._scores(whole[None, :])[0])
        influences = (len(rows) - 1) * (value - self._scores(whole - rows))
        return influence_estimate(value, influences.tolist(), bounds=(0.0, 100.0))

    @abstractmethod
    def _scores(self, sums: Floats) -> Floats:
        """Return the scores of corpora, shape (corpora,), from their summed statistics in rows."""


@metric(
    "corpus_bleu",
    title="Corpus BLEU",
    short="BLEU",
    category="accuracy",
    scale=PERCENT,
    gives=("corpus_bleu",),
    source="Papineni et al. 2002, section 2.3; Post 2018 (sacreBLEU)",
)
class CorpusBleu(_Jackknifed):
    """BLEU of all translations together, from 0 to 100, as sacreBLEU prints it.

    The geometric mean of the clipped 1- to 4-gram precisions of the whole corpus times its brevity penalty; precisions
    of zero are smoothed exponentially. All correct references of an instance count together. Higher is better. The
    standard error is the jackknife's over instances, and the interval Jeffreys's for a proportion with this standard
    error, from 50 instances on (simulated with 50 to 300 sentences, it covers .94 to .96). Several trials of an
    instance count together. The details in run.json give sacreBLEU's signature, which names the tokenizer. An instance
    without a correct reference is counted as missing.

    Args:
        tokenizer: A tokenizer of sacreBLEU (default: ``zh`` for Chinese, ``char`` for Japanese, Thai, Lao, Khmer,
            Burmese and Tibetan, ``13a`` for other languages). ``ja-mecab`` and ``ko-mecab`` need libraries;
            ``flores101`` and ``flores200`` (spBLEU) download a model.
        language: The language of the translations (default: the scenario's).

    Raises:
        MetricError: The tokenizer cannot be used, or there is neither one language nor a tokenizer.
    """

    name = "corpus_bleu"

    def __init__(self, *, tokenizer: Tokenizer | None = None, language: str | None = None) -> None:
        chosen = tokenizer
        if chosen is None:
            if not one_language(language):
                raise MetricError(_unknown_language(self.name, language, "tokenizer (13a where words are spaced)"))
            chosen = bleu_tokenizer(language)
        super().__init__(_bleu(chosen))

    def _scores(self, sums: Floats) -> Floats:
        import numpy as np

        given, expected, matches, totals = sums[:, 0], sums[:, 1], sums[:, 2:6], sums[:, 6:10]
        zeros = np.cumsum(matches == 0.0, axis=1)
        safe = np.maximum(totals, 1.0)
        precisions = np.where(matches > 0.0, matches / safe, 1.0 / (2.0**zeros * safe))
        brevity = np.exp(np.minimum(0.0, 1.0 - expected / np.maximum(given, 1.0)))
        scores: Floats = 100.0 * brevity * np.exp(np.log(precisions).mean(axis=1))
        scored = (matches.sum(axis=1) > 0.0) & (totals.min(axis=1) > 0.0) & (given > 0.0)
        return np.where(scored, np.minimum(scores, 100.0), 0.0)


class _Chrf(_Jackknifed):
    word_order: ClassVar[int] = 0

    def __init__(self) -> None:
        from sacrebleu.metrics.chrf import CHRF

        super().__init__(CHRF(word_order=self.word_order))

    def _scores(self, sums: Floats) -> Floats:
        import numpy as np

        given, expected, matches = sums[:, 0::3], sums[:, 1::3], sums[:, 2::3]
        known = (given > 0.0) & (expected > 0.0)
        orders = np.maximum(known.sum(axis=1), 1)
        precision = np.where(known, matches / np.maximum(given, 1.0), 0.0).sum(axis=1) / orders
        recall = np.where(known, matches / np.maximum(expected, 1.0), 0.0).sum(axis=1) / orders
        weight = self._scorer.beta**2
        divisor = weight * precision + recall
        scores: Floats = 100.0 * (1.0 + weight) * precision * recall / np.where(divisor > 0.0, divisor, 1.0)
        return np.minimum(scores, 100.0)


@metric(
    "chrf",
    title="chrF",
    category="accuracy",
    scale=PERCENT,
    gives=("chrf",),
    source="Popović 2015 (WMT, chrF2); Post 2018 (sacreBLEU)",
)
class Chrf(_Chrf):
    """chrF2 of all translations together, from 0 to 100: the F-score of their character 1- to 6-grams.

    Precision and recall are means over the six orders, and recall counts twice as much (β = 2). Whitespace is ignored,
    so that it needs no tokenizer and works in every script. Of several correct references the best one counts. Higher
    is better. The values are sacreBLEU's, and the details in run.json give its signature. The interval is that of
    ``corpus_bleu``. An instance without a correct reference is counted as missing.
    """

    name = "chrf"


@metric(
    "chrf_plus_plus",
    title="chrF++",
    category="accuracy",
    scale=PERCENT,
    gives=("chrf_plus_plus",),
    source="Popović 2017 (WMT, chrF++); Post 2018 (sacreBLEU)",
)
class ChrfPlusPlus(_Chrf):
    """chrF2++ of all translations together, from 0 to 100: as ``chrf``, with single words and pairs of words as well.

    Words are separated by spaces and by punctuation at their ends; in scripts without spaces, such as Chinese and Thai,
    prefer ``chrf``. Higher is better.
    """

    name, word_order = "chrf_plus_plus", 2


@metric(
    "ter",
    title="TER",
    category="accuracy",
    scale=Scale("unbounded", 0.0),
    higher_is_better=False,
    gives=("ter",),
    source="Snover et al. 2006 (TER); Post 2018 (sacreBLEU)",
)
class Ter(_Corpus):
    """Translation edit rate of all translations together: edits for each 100 words of the references.

    An edit inserts, deletes or replaces a word, or shifts a sequence of words. Of several correct references the
    nearest counts, divided by their mean length. At least 0, and lower is better; above 100 for translations much
    longer than the references. The values are sacreBLEU's, and the details in run.json give its signature. Case is
    ignored. In Chinese and Japanese each character is a word (sacreBLEU's ``asian_support``). The interval is that of a
    ratio of sums. An instance without a correct reference is counted as missing.

    Looking for shifts takes minutes where answer and reference are pages long. If the product of their numbers of words
    is above 10,000, only single words are edited, and the details give the number of such answers.

    Args:
        language: The language of the translations (default: the scenario's).

    Raises:
        MetricError: There is not one language, or its words are not separated by spaces.
    """

    name = "ter"

    def __init__(self, *, language: str | None = None) -> None:
        from sacrebleu.metrics.ter import TER

        if not one_language(language):
            raise MetricError(_unknown_language(self.name, language, ""))
        asian = needs_segmentation(language)
        if asian and bleu_tokenizer(language) != "zh" and not (language or "").lower().startswith("japanese"):
            raise MetricError(f"ter needs words, and {language} does not separate them by spaces; use chrf instead.")
        super().__init__(TER(normalized=asian, asian_support=asian))
        self._without_shifts = 0

    def _statistics(self, prediction: str, references: Sequence[str]) -> Sequence[float]:
        given, *golds = (self._scorer._preprocess_segment(text).split() for text in (prediction, *references))
        if len(given) * max(map(len, golds)) <= MOST_SHIFTED:
            return super()._statistics(prediction, references)
        from rapidfuzz.distance import Levenshtein

        self._without_shifts += 1
        edits = min(Levenshtein.distance(given, gold) for gold in golds)
        return [edits, sum(map(len, golds)) / len(golds)]

    def details(self) -> Mapping[str, Any]:
        found = super().details()
        return {**found, "without shifts": self._without_shifts} if self._without_shifts else found

    def _estimate(self, rows: Floats) -> Estimate:
        ratio = ratio_estimate(rows[:, 0].tolist(), rows[:, 1].tolist(), low=0.0)
        return transformed(ratio, lambda share: 100.0 * share, lambda _: 100.0)


def _bleu(tokenizer: Tokenizer) -> Any:
    """Return sacreBLEU's scorer of corpora.

    Raises:
        MetricError: The tokenizer cannot be used here.
    """
    from sacrebleu.metrics.bleu import BLEU

    try:
        return BLEU(tokenize=tokenizer, force=True)
    except (ImportError, RuntimeError, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise MetricError(
            f"the tokenizer {tokenizer} cannot be used here: {reason} Set `tokenizer` to char to compare characters."
        ) from error


def _unknown_language(name: str, language: str | None, other: str) -> str:
    what = f"{language!r} is not one language" if language else "the language is not known"
    also = f" or its {other}" if other else ""
    return f"{name} needs to know how words are separated, and {what}. Set its language, such as German{also}."
