"""How well a model predicts text: ratios of sums over a corpus, never means of ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping

from harness import Estimate, Example, MetricError, RunMetric, Scale, ScoreRequest, metric
from harness.statistics import InstanceTable, ratio_estimate, transformed
from metrics._text.languages import needs_segmentation

_SOURCE = "Liang et al. 2022, appendix C.1; HELM, language_modeling_metrics.py"


class _LogLikelihood(RunMetric):
    """Sums log-probabilities (natural), tokens and UTF-8 bytes of the texts that each example asks a model to score.

    A log-probability that is missing, infinite or not a number is an error; HELM counts a missing one as 0, the best
    possible value.
    """

    def __init__(self) -> None:
        self._table = InstanceTable()

    def add(self, example: Example) -> None:
        """Add the example's scored texts; an empty text adds nothing.

        Raises:
            MetricError: Nothing was scored, or a log-probability is missing.
        """
        asked = [
            (request.continuation, response.logprobs)
            for request, response in zip(example.requests, example.responses, strict=True)
            if isinstance(request, ScoreRequest) and (request.origin is None or request.origin.role == "original")
        ]
        if not asked:
            raise MetricError("no text was scored; use an adapter such as language_modeling.")
        for text, logprobs in asked:
            if logprobs is None or not all(map(math.isfinite, logprobs)) or (text and not logprobs):
                raise MetricError("the model gave no log-probability for a token of the text.")
            if text:
                row = self._table.row(example.instance.id)
                # Rounding can put the log-probability of a certain token just above 0.
                self._table.add(row, "logprob", math.fsum(min(logprob, 0.0) for logprob in logprobs))
                self._table.add(row, "tokens", len(logprobs))
                self._table.add(row, "bytes", len(text.encode("utf-8", "surrogatepass")))
                self._table.add(row, "words", max(len(text.split()), 1))

    def _per(self, unit: str) -> Estimate | None:
        logprobs = self._table.sums("logprob")
        return ratio_estimate(logprobs, self._table.sums(unit), high=0.0) if logprobs else None


@metric(
    "perplexity",
    title="Perplexity per token",
    short="PPL",
    category="accuracy",
    scale=Scale("unbounded", 1.0),
    higher_is_better=False,
    gives=("perplexity",),
    source=_SOURCE,
)
class Perplexity(_LogLikelihood):
    """exp(−Σ log-probability / Σ tokens): the perplexity of the corpus, per token.

    The sums run over all texts. At least 1, and lower is better. It depends on the tokenizer: compare only models that
    share one, or use bits_per_byte. The interval is the exponential of that of a ratio of sums, corrected for skewness
    and for long texts.
    """

    def estimates(self) -> Mapping[str, Estimate]:
        per_token = self._per("tokens")
        return {} if per_token is None else {"perplexity": transformed(per_token, _perplexity, _perplexity)}


@metric(
    "word_perplexity",
    title="Perplexity per word",
    short="PPL/word",
    category="accuracy",
    scale=Scale("unbounded", 1.0),
    higher_is_better=False,
    gives=("word_perplexity",),
    source="Merity et al. 2017, section 5 (arXiv:1609.07843); lm-evaluation-harness, 2021",
)
class WordPerplexity(_LogLikelihood):
    """exp(−Σ log-probability / Σ words): the perplexity of the corpus, per word.

    Words are what whitespace separates; a text without any counts as one word. The sums run over all texts. At least 1,
    and lower is better. Comparable between tokenizers, but not between languages. The interval is the exponential of
    that of a ratio of sums, corrected for skewness and for long texts.

    Args:
        language: The language of the texts (default: the scenario's).

    Raises:
        MetricError: The language does not separate words by spaces.
    """

    def __init__(self, *, language: str | None = None) -> None:
        super().__init__()
        if needs_segmentation(language):
            raise MetricError(f"{language} does not separate words by spaces; use byte_perplexity or bits_per_byte.")

    def estimates(self) -> Mapping[str, Estimate]:
        per_word = self._per("words")
        return {} if per_word is None else {"word_perplexity": transformed(per_word, _perplexity, _perplexity)}


@metric(
    "byte_perplexity",
    title="Perplexity per byte",
    short="PPL/byte",
    category="accuracy",
    scale=Scale("unbounded", 1.0),
    higher_is_better=False,
    gives=("byte_perplexity",),
    same_as="lm-eval:byte_perplexity",
    source="Gao et al. 2020, section 3.1 (arXiv:2101.00027); lm-evaluation-harness, 2021",
)
class BytePerplexity(_LogLikelihood):
    """exp(−Σ log-probability / Σ bytes): the perplexity of the corpus, per byte of UTF-8 text.

    2 to the power of ``bits_per_byte``. The sums run over all texts. At least 1, and lower is better; comparable
    between tokenizers. The interval is the exponential of that of a ratio of sums, corrected for skewness and for long
    texts.
    """

    def estimates(self) -> Mapping[str, Estimate]:
        per_byte = self._per("bytes")
        return {} if per_byte is None else {"byte_perplexity": transformed(per_byte, _perplexity, _perplexity)}


@metric(
    "bits_per_byte",
    title="Bits per byte",
    short="Bits/byte",
    category="accuracy",
    scale="count",
    higher_is_better=False,
    gives=("bits_per_byte",),
    same_as="lm-eval:bits_per_byte",
    source=_SOURCE,
)
class BitsPerByte(_LogLikelihood):
    """−Σ log-probability / (Σ bytes · ln 2): the bits per byte of UTF-8 text of an ideal code based on the model.

    The sums run over all texts. At least 0, and lower is better; comparable between tokenizers. The interval is that of
    a ratio of sums, corrected for skewness and for long texts.
    """

    def estimates(self) -> Mapping[str, Estimate]:
        per_byte = self._per("bytes")
        if per_byte is None:
            return {}
        return {
            "bits_per_byte": transformed(per_byte, lambda value: abs(value) / math.log(2), lambda _: 1 / math.log(2))
        }


@metric(
    "logprob_per_byte",
    title="Log-probability per byte",
    short="Logprob/byte",
    category="accuracy",
    scale=Scale("unbounded", None, 0.0),
    gives=("logprob_per_byte",),
    source=_SOURCE,
)
class LogprobPerByte(_LogLikelihood):
    """Σ log-probability / Σ bytes, in nats per byte of UTF-8 text.

    The sums run over all texts. At most 0, and higher is better. The interval is that of a ratio of sums, corrected
    for skewness and for long texts.
    """

    def estimates(self) -> Mapping[str, Estimate]:
        per_byte = self._per("bytes")
        return {} if per_byte is None else {"logprob_per_byte": per_byte}


def _perplexity(logprob: float) -> float:
    return math.exp(min(-logprob, 700.0))  # larger values overflow double precision
