"""Scores of the next-example test without log-probabilities: how much of a candidate a model predicts greedily.

A model continues a text. It is asked after the context, and again after each token of a candidate, for one token::

    candidate            A baking pan
    asked                …       …A      …A b     …A bak   …A baking
    answers              " The"  " cat"  "ak"     "ing"    " pan"
    agree                no      no      yes      yes      yes         score 3

Where the model's tokens are unknown, it is asked after every fourth character, for a few tokens. Each answer gives the
share of the next four characters that it predicts::

    candidate            A baking pan
    asked                …           …A ba         …A baking
    answers              " The cat"  "king pan"    " powder"
    predicted            0 of 4      4 of 4        2 of 4      score 1.5

Questions inside of words matter: a model that remembers a text is seldom sure of a word before its first letters. A
score is a function of the past and of the candidate alone, as a log-likelihood is, so the ranks and the evidence are as
exact as with log-likelihoods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from harness.contamination.statistics.boundaries import Stretch

COMPARED = 40
"""Characters of the rest of a candidate that are kept; no token is longer."""

PIECE = 4
"""Characters between two questions if tokens are unknown: about the length of a token."""

PIECE_TOKENS = 3
"""Tokens to ask for then: a cut inside a token is followed by short ones."""


def token_starts(text: str, most: int, truncate: Callable[[str, int], str]) -> list[int]:
    """Return where the first tokens of a text begin, in characters.

    Args:
        text: The text.
        most: Number of tokens.
        truncate: Returns the beginning of a text that has a given number of tokens. Places where it does not return a
            beginning, because a token ends inside of a character, are left out.
    """
    starts = [0] if text else []
    for tokens in range(1, most):
        cut = truncate(text, tokens)
        if len(cut) >= len(text):
            break
        if len(cut) > starts[-1] and text.startswith(cut):
            starts.append(len(cut))
    return starts


def piece_starts(text: str, most: int) -> list[int]:
    """Return where the first pieces of :data:`PIECE` characters of a text begin."""
    return list(range(0, min(len(text), most * PIECE), PIECE))


def agreement(answer: str, rest: str, piece: int | None = None) -> float:
    """Return how far an answer agrees with the rest of a candidate, from 0 to 1.

    Servers may drop the whitespace at the beginning of an answer, so words are compared without it.

    Args:
        answer: A model's continuation.
        rest: What follows in the candidate.
        piece: Number of characters to predict; None if the answer is one token, which agrees if it begins the rest.
    """
    stripped = answer.lstrip()
    pairs = [(answer, rest), (stripped, rest.lstrip())] if stripped else [(answer, rest)]
    if piece is None:
        return float(bool(answer) and any(whole.startswith(begun) for begun, whole in pairs))
    piece = min(piece, len(rest))
    return min(piece, max(_common(begun, whole) for begun, whole in pairs)) / piece if piece else 0.0


def agreement_scores(
    stretch: Stretch, rests: Sequence[Sequence[str]], answers: Sequence[str], piece: int | None = None
) -> list[float]:
    """Return the scores of a stretch's candidates, in the order of :attr:`Stretch.scores`.

    Args:
        stretch: The stretch, whose candidates are scored after one context.
        rests: For each example, what follows each point at which the model was asked.
        answers: The answers to all questions, in their order.
        piece: As in :func:`agreement`.

    Raises:
        ValueError: There are more or fewer answers.
    """
    scored = [*stretch.neutral, *chain.from_iterable(boundary.candidates for boundary in stretch.boundaries)]
    expected = sum(len(rests[example]) for example in scored)
    if len(answers) != expected:
        raise ValueError(f"{len(answers)} answers where {expected} are expected")
    left = iter(answers)
    return [sum((agreement(next(left), rest, piece) for rest in rests[example]), 0.0) for example in scored]


def _common(one: str, other: str) -> int:
    """Return the number of characters that both texts begin with."""
    for place, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return place
    return min(len(one), len(other))
