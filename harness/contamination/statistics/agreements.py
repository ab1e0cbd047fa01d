"""Scores of the next-example test without log-probabilities: how often a model's next word is the candidate's own.

A model continues a text by one token. It is asked after the context, and again after each word of a candidate::

    candidate            A cat sat.
    asked                …        …A        …A cat
    answers              " The"   " cat"    " on"
    agree                no       yes       no            score 1

A score is the number of answers that begin the rest of the candidate. It is a function of the past and of the candidate
alone, as a log-likelihood is, so the ranks and the evidence are as exact as with log-likelihoods.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, islice

from harness.contamination.statistics.boundaries import Stretch

_WORD = re.compile(r"\s*\S+")

COMPARED = 40
"""Characters of the rest of a candidate that are kept; no token is longer."""


def word_starts(text: str, most: int) -> list[int]:
    """Return where the first words of a text begin, with the whitespace before them."""
    return [found.start() for found in islice(_WORD.finditer(text), most)]


def agrees(answer: str, rest: str) -> bool:
    """Return True if a model's one-token answer begins the rest of a candidate.

    Servers may drop the whitespace at the beginning of an answer, so words are compared without it.
    """
    word = answer.lstrip()
    return rest.lstrip().startswith(word) if word else bool(answer) and rest.startswith(answer)


def agreement_scores(stretch: Stretch, rests: Sequence[Sequence[str]], answers: Sequence[str]) -> list[float]:
    """Return the scores of a stretch's candidates, in the order of :attr:`Stretch.scores`.

    Args:
        stretch: The stretch, whose candidates are scored after one context.
        rests: For each example, what follows each point at which the model was asked.
        answers: The answers to all questions, in their order.

    Raises:
        ValueError: There are more or fewer answers.
    """
    scored = [*stretch.neutral, *chain.from_iterable(boundary.candidates for boundary in stretch.boundaries)]
    expected = sum(len(rests[example]) for example in scored)
    if len(answers) != expected:
        raise ValueError(f"{len(answers)} answers where {expected} are expected")
    left = iter(answers)
    return [float(sum(agrees(next(left), rest) for rest in rests[example])) for example in scored]
