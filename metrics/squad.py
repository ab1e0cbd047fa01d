"""Exact match and F1 of answers to questions about a passage, some of which the passage does not answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from harness import Example, metric
from metrics._text.normalisation import normalise
from metrics._text.word_tokens import bare_words

_SOURCE = "Rajpurkar et al. 2018, section 4 (SQuAD 2.0, evaluate-v2.0.py)"
_PARTS = ("", "_has_answer", "_no_answer")
_NO_ANSWER = "unanswerable"


@metric(
    "squad_exact",
    title={
        "squad_exact": "Exact match (SQuAD)",
        "squad_exact_has_answer": "Exact match (has an answer)",
        "squad_exact_no_answer": "Exact match (no answer)",
    },
    short={"squad_exact": "EM", "squad_exact_has_answer": "EM (answer)", "squad_exact_no_answer": "EM (no answer)"},
    category="accuracy",
    scale="proportion",
    gives=tuple(f"squad_exact{part}" for part in _PARTS),
    source=_SOURCE,
    votes=lambda example: _vote(example),
)
def squad_exact(example: Example, *, no_answer: str = _NO_ANSWER) -> dict[str, float]:
    """1 if the prediction has a correct answer's words, in order; for a question without an answer, if it gives none.

    Words, and questions and predictions without an answer, are defined in ``squad_f1``. The stat ``squad_exact`` is
    about all questions, ``squad_exact_has_answer`` about those with an answer (HasAns), and ``squad_exact_no_answer``
    about those without (NoAns). The means lie between 0 and 1, and higher is better.

    Args:
        example: It has the references.
        no_answer: What a prediction says that gives no answer.
    """
    return _score("squad_exact", example, no_answer, lambda gold, given: float(gold == given))


@metric(
    "squad_f1",
    title={
        "squad_f1": "F1 of words (SQuAD)",
        "squad_f1_has_answer": "F1 of words (has an answer)",
        "squad_f1_no_answer": "F1 of words (no answer)",
    },
    short={"squad_f1": "F1", "squad_f1_has_answer": "F1 (answer)", "squad_f1_no_answer": "F1 (no answer)"},
    category="accuracy",
    scale="bounded",
    gives=tuple(f"squad_f1{part}" for part in _PARTS),
    source=_SOURCE,
    votes=lambda example: _vote(example),
)
def squad_f1(example: Example, *, no_answer: str = _NO_ANSWER) -> dict[str, float]:
    """F1 of the words of the prediction and of the correct answer that it matches best, as in SQuAD 2.0's script.

    Words are separated by whitespace, in lower case, without punctuation and articles, and count as often as they
    occur; in scripts without spaces, such as Chinese and Thai, each letter is a word. On ASCII texts the values are
    those of the script.

    A question has no answer if it has no correct reference, or none with a word other than ``no_answer``. A prediction
    gives no answer if it is empty, has no words (it is "the" or "?"), or is ``no_answer``. It scores 1 for a question
    without an answer and 0 for any other; a prediction that is an answer scores 0 for a question without one. A text
    from which the run's setting ``answer`` reads nothing scores 0 for every question.

    The stat ``squad_f1`` is about all questions, ``squad_f1_has_answer`` about those with an answer (HasAns), and
    ``squad_f1_no_answer`` about those without (NoAns). The means lie between 0 and 1, and higher is better.

    Args:
        example: It has the references.
        no_answer: What a prediction says that gives no answer.
    """
    return _score("squad_f1", example, no_answer, _f1)


Words = tuple[str, ...]


def _vote(example: Example) -> Words | None:
    """Return the words of an answer; that there is no answer is one, too."""
    return None if example.unread or example.declined is not None else _words(example.prediction, _NO_ANSWER)


def _score(name: str, example: Example, no_answer: str, compare: Callable[[Words, Words], float]) -> dict[str, float]:
    golds = [words for reference in example.correct if (words := _words(reference.text, no_answer))]
    given = _words(example.prediction, no_answer)
    value = max(compare(gold, given) for gold in golds) if golds else float(not given and not example.unread)
    return {name: value, f"{name}_{'has' if golds else 'no'}_answer": value}


def _f1(gold: Words, given: Words) -> float:
    common = (Counter(gold) & Counter(given)).total()
    return 2.0 * common / (len(gold) + len(given)) if common else 0.0


@lru_cache(maxsize=1024)
def _words(text: str, no_answer: str) -> Words:
    """Return the words of an answer; none if it says that there is no answer."""
    words = tuple(bare_words(normalise(text)))
    return () if words == tuple(bare_words(normalise(no_answer))) else words
