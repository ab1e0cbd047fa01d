"""The dye test: does a model give the random answers of questions that have none?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from harness.costs.token_estimate import estimated_tokens


@dataclass(frozen=True, slots=True)
class DyeResult:
    """The test over all dye questions."""

    questions: int
    """Number of questions."""
    hits: int
    """Number of questions that the model answers with the published target."""
    expected: float
    """Number of hits expected by chance."""
    log10_p: float
    """Log10 of the exact p-value."""


SENTENCE_TOKENS = 16
"""Tokens of a sentence around an option, such as "The correct answer is B: …, since …"."""


def sentence_tokens(options: Iterable[str], cut_at: int = 0) -> int:
    """Return a ``max_tokens`` that lets a model answer in a sentence which repeats the longest option.

    It is a power of two, and at least four times ``cut_at``. The tokens of options are estimated, because tokenizers
    differ.

    Args:
        options: The options of all questions.
        cut_at: The ``max_tokens`` at which answers were cut; 0 if none were.
    """
    wanted = max(SENTENCE_TOKENS + max(map(estimated_tokens, options), default=0), 4 * cut_at)
    return 1 << (wanted - 1).bit_length()


def dye_test(answers: Iterable[tuple[bool, int]]) -> DyeResult:
    """Test whether a model knows the targets of dye questions, each drawn uniformly from the question's options.

    For a model that does not depend on the draws, each answer hits the target with probability 1/options at most, and
    independently; p is the upper tail of that sum (compare DyePack, arXiv 2505.23001). No log-probabilities are needed.

    Args:
        answers: For each question whether the answer is the target, and the number of options.

    Raises:
        ValueError: There is no question, or one has fewer than 2 options.
    """
    from scipy.stats import binom

    given = list(answers)
    if not given or any(options < 2 for _, options in given):
        raise ValueError("a dye question needs 2 options, and there must be a question")
    hits = sum(hit for hit, _ in given)
    distribution = [1.0]  # of the number of hits
    for options, questions in sorted(Counter(options for _, options in given).items()):
        some = binom.pmf(range(questions + 1), questions, 1 / options).tolist()
        both = [0.0] * (len(distribution) + questions)
        for before, weight in enumerate(distribution):
            for more, probability in enumerate(some):
                both[before + more] += weight * probability
        distribution = both
    tail = math.fsum(distribution[hits:])
    expected = sum(1 / options for _, options in given)
    if hits == 0:
        return DyeResult(len(given), hits, expected, 0.0)
    return DyeResult(len(given), hits, expected, min(0.0, math.log10(tail)) if tail > 0 else -300.0)
