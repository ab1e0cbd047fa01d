"""Exact match and F1 of answers to questions about a passage, some of which the passage does not answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from harness import Estimate, Example, MetricError, RunMetric, metric
from harness.statistics import BOUNDED, PROPORTION, InstanceTable, mean_estimate
from metrics._option_likelihoods import log_likelihood
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
        no_answer: The prediction that means "no answer".
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
        no_answer: The prediction that means "no answer".
    """
    return _score("squad_f1", example, no_answer, _f1)


class _Question(NamedTuple):
    """An example with what decides its score at a threshold."""

    instance: str
    abstention: float
    """Log-likelihood of the text that says that there is no answer."""
    score: float
    """Score of the answer, if it is given."""
    has_answer: bool

    def at(self, threshold: float | None) -> float:
        """Return the score if the model abstains above a threshold, or always (None)."""
        answers = threshold is not None and self.abstention <= threshold
        return self.score if answers else float(not self.has_answer)


@metric(
    "squad_best",
    title={
        "squad_best_exact": "Exact match at the best threshold (SQuAD)",
        "squad_best_f1": "F1 of words at the best threshold (SQuAD)",
    },
    short={"squad_best_exact": "Best EM", "squad_best_f1": "Best F1"},
    category="accuracy",
    scale={"squad_best_exact": PROPORTION, "squad_best_f1": BOUNDED},
    gives=("squad_best_exact", "squad_best_f1"),
    source=_SOURCE,
)
class SquadBest(RunMetric):
    """Exact match and F1 of SQuAD 2.0 if the model abstains above the threshold that is best for each of them.

    The method ``generation_or_abstention`` also scores a text which says that there is no answer. If its
    log-likelihood is above the threshold, the model abstains, whatever it answered. Answers are scored as by
    ``squad_exact`` and ``squad_f1``. run.json has the thresholds as probabilities; null means always to abstain, 0 to
    abstain unless the text is impossible. Questions with equal log-likelihoods are on the same side of the threshold;
    otherwise, the values are those of the authors' script. The means lie between 0 and 1, and higher is better. Since
    the threshold is chosen on the same questions, the scores are slightly too high. Their intervals are for that
    threshold.

    Args:
        no_answer: The prediction that means "no answer".

    Raises:
        MetricError: The text was not scored.
    """

    def __init__(self, *, no_answer: str = _NO_ANSWER) -> None:
        self._no_answer = no_answer
        self._questions: dict[str, list[_Question]] = {"squad_best_exact": [], "squad_best_f1": []}

    def add(self, example: Example) -> None:
        """Note the scores of an example with and without an answer."""
        scored = [
            response
            for request, response in zip(example.requests, example.responses, strict=True)
            if request.origin is not None and request.origin.role == "abstention"
        ]
        if not scored:
            raise MetricError(
                "the likelihood of 'no answer' was not measured; use the method generation_or_abstention."
            )
        abstention = log_likelihood(scored[0])
        for name, score in (("exact", squad_exact), ("f1", squad_f1)):
            found = score(example, no_answer=self._no_answer)
            has_answer = f"squad_{name}_has_answer" in found
            question = _Question(example.instance.id, abstention, found[f"squad_{name}"], has_answer)
            self._questions[f"squad_best_{name}"].append(question)

    def estimates(self) -> Mapping[str, Estimate]:
        found = {}
        for name, questions in self._questions.items():
            threshold = _best_threshold(questions)
            table = InstanceTable()
            for question in questions:
                table.add(table.row(question.instance), "score", question.at(threshold))
            if scores := table.means("score"):
                found[name] = mean_estimate(scores, PROPORTION if name == "squad_best_exact" else BOUNDED)
        return found

    def details(self) -> Mapping[str, Any]:
        best = {name: _best_threshold(rows) for name, rows in self._questions.items() if rows}
        return {f"{name}_threshold": None if found is None else math.exp(found) for name, found in best.items()}


def _best_threshold(questions: Sequence[_Question]) -> float | None:
    """Return the largest log-likelihood at which answering is best; the first of several, None for never."""
    total = best = math.fsum(not question.has_answer for question in questions)
    threshold = None
    ordered = sorted(questions, key=lambda question: question.abstention)
    for number, question in enumerate(ordered, start=1):
        total += question.score - (not question.has_answer)
        last = number == len(ordered) or ordered[number].abstention > question.abstention
        if last and total > best:
            best, threshold = total, question.abstention
    return threshold


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
