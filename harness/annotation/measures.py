"""What ratings say: the mean or win rate of each question, how far raters agree, and who fails gold items."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.annotation.questionnaire import FIRST, MUCH_FIRST, MUCH_SECOND, SECOND, TIE, Question, Value
from harness.annotation.ratings import Rating, Values, latest, read_ratings
from harness.annotation.study import RATINGS_FILE, Item, Study, clean, is_complete, read_study
from harness.contracts import Estimate, Scale
from harness.statistics import BOUNDED, PROPORTION, THESE_RATERS, crossed_mean, krippendorff_alpha


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of each model: the mean of a question, its win rate, or the share of one of its choices."""

    question: Question
    """The question."""
    choice: Value | None = None
    """The choice whose share it is; None for a mean or a win rate."""

    @property
    def name(self) -> str:
        """Its name in files: the question's id, and for a share its choice, as in ``tone=kind``."""
        return self.question.id if self.choice is None else f"{self.question.id}={self.choice}"

    @property
    def heading(self) -> str:
        """Its heading in tables."""
        if self.choice is None:
            return self.question.heading
        return f"{self.question.heading}: {self.question.options[self.choice]}"

    @property
    def statistic(self) -> str:
        """``mean``, ``share`` or ``win rate``."""
        return "win rate" if self.question.prefer else "mean" if self.choice is None else "share"

    @property
    def scale(self) -> Scale:
        """The range of one rating."""
        if self.question.prefer:
            return BOUNDED
        return self.question.range if self.choice is None else PROPORTION

    @property
    def better(self) -> str:
        """The end that is better: ``high``, ``low`` or ``neither``."""
        return "neither" if self.choice is not None else self.question.better_end

    def value(self, rating: Value, place: int) -> float:
        """Return what a rating counts for the answer at a place of its item."""
        if self.question.prefer:
            slight = 0.25 if self.question.strengths else 0.5
            wins = {MUCH_FIRST: 1.0, FIRST: 0.5 + slight, TIE: 0.5, SECOND: 0.5 - slight, MUCH_SECOND: 0.0}
            return wins[str(rating)] if place == 0 else 1.0 - wins[str(rating)]
        return float(rating) if self.choice is None else float(rating == self.choice)


@dataclass(frozen=True, slots=True)
class Measured:
    """A number and what it is made of."""

    estimate: Estimate
    """The number with its interval."""
    sd: float | None
    """Standard deviation of the ratings; None for fewer than two, and for agreement."""
    ratings: int
    """Number of ratings."""
    items: int
    """Number of items that were rated."""
    instances: int
    """Number of instances that they are about."""
    raters: int
    """Number of raters."""

    @property
    def for_these_raters(self) -> bool:
        """True if the interval is over instances alone, because too few people rated."""
        return THESE_RATERS in self.estimate.note

    def described(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "value": self.estimate.value,
            "sd": self.sd,
            "ci95": None if self.estimate.low is None else [self.estimate.low, self.estimate.high],
            "ratings": self.ratings,
            "items": self.items,
            "instances": self.instances,
            "raters": self.raters,
            **({"note": self.estimate.note} if self.estimate.note else {}),
        }


@dataclass(frozen=True, slots=True)
class Rater:
    """What a person has done."""

    name: str
    """The name."""
    done: int
    """Number of items that are complete."""
    gold: int
    """Number of ratings of gold items."""
    gold_right: int
    """Number of these that are right."""
    counted: bool
    """True if the ratings count; False if too few of the gold ratings are right."""


@dataclass(frozen=True, slots=True)
class _Rated:
    """A rating that counts."""

    rater: str
    item: Item
    value: Value


class StudyResults:
    """The numbers of a study.

    Args:
        study: What was asked.
        ratings: The ratings, in the order in which they were given.
        min_gold: Leave out raters whose share of right ratings of gold items is below this; None to keep all.
    """

    def __init__(self, study: Study, ratings: Sequence[Rating], min_gold: float | None = None) -> None:
        self.study = study
        self._given = latest(ratings)
        self.raters = [self._rater(name, min_gold) for name in sorted({name for name, _ in self._given})]
        self._kept = {rater.name for rater in self.raters if rater.counted}
        self._rated = {
            question.id: list(self._counted(question))
            for question in study.questionnaire.questions
            if not question.text
        }
        self.measures = [measure for question in study.questionnaire.questions for measure in _measures(question)]

    @property
    def models(self) -> list[str]:
        """The models whose answers the study has, sorted."""
        return sorted({answer.model for item in self.study.items if not item.expected for answer in item.answers})

    @property
    def skipped(self) -> int:
        """How often a rater said that an item cannot be judged."""
        return sum(bool(values.get("skip")) for values in self._given.values())

    def value(self, rater: str, item: str, question: str) -> Value | bool | None:
        """Return what a rater chose; None if there is no answer."""
        return self._given.get((rater, item), {}).get(question)

    def of_pairs(self, measure: Measure) -> bool:
        """Return True if a question is about two answers together, and so about neither model."""
        return self.study.questionnaire.answers == "pair" and not measure.question.prefer

    def of_model(self, measure: Measure, model: str) -> Measured | None:
        """Return the number of a model; None without ratings.

        If several models gave the same answer, its ratings count for each of them: raters did not know whose it was.
        """
        own = self._texts[model]
        return self.of_answers(measure, lambda item, place: (*item.cluster, item.answers[place].text) in own)

    def of_run(self, answers: Iterable[tuple[str, str, str]]) -> list[tuple[Measure, Measured]]:
        """Return the numbers of a run, from the instance's id, its input and the text of each of its answers."""
        own = {tuple(clean(part) for part in answer) for answer in answers}
        found = []
        for measure in self.measures if own else ():
            if not self.of_pairs(measure):
                measured = self.of_answers(
                    measure, lambda item, place: (item.instance, item.input, item.answers[place].text) in own
                )
                found += [(measure, measured)] if measured is not None else []
        return found

    def of_all(self, measure: Measure) -> Measured | None:
        """Return the number over all items, for a question about pairs as a whole; None without ratings."""
        return self.of_answers(measure, lambda item, place: place == 0)

    def of_answers(self, measure: Measure, counts: Callable[[Item, int], bool]) -> Measured | None:
        """Return the number of the answers that count, each given as an item and its place in it."""
        found = [
            (one, measure.value(one.value, place))
            for one in self._rated[measure.question.id]
            for place in range(len(one.item.answers))
            if counts(one.item, place)
        ]
        if not found:
            return None
        values, rated = [value for _, value in found], [one for one, _ in found]
        clusters, people = [one.item.cluster for one in rated], [one.rater for one in rated]
        return _measured(crossed_mean(values, clusters, people, measure.scale), rated, _deviation(values))

    def agreement(self, question: Question) -> Measured | None:
        """Return Krippendorff's alpha of a question; None if no item has two ratings, or if all are equal."""
        by_item: dict[str, dict[str, Value]] = {}
        rated = self._rated[question.id]
        for one in rated:
            by_item.setdefault(one.item.id, {})[one.rater] = one.value
        alpha = krippendorff_alpha(list(by_item.values()), question.agreement)
        if alpha is None:
            return None
        return _measured(alpha, [one for one in rated if len(by_item[one.item.id]) > 1], None)

    @cached_property
    def _texts(self) -> dict[str, set[tuple[str, str, str]]]:
        found: dict[str, set[tuple[str, str, str]]] = {model: set() for model in self.models}
        for item in self.study.items:
            for answer in item.answers if not item.expected else ():
                found[answer.model].add((*item.cluster, answer.text))
        return found

    def _rater(self, name: str, min_gold: float | None) -> Rater:
        right = total = 0
        for item in self.study.items:
            values: Values = self._given.get((name, item.id), {})
            for question, expected in item.expected.items():
                if question in values:
                    total += 1
                    right += values[question] in expected
        done = sum(is_complete(self.study, values) for (who, _), values in self._given.items() if who == name)
        return Rater(name, done, total, right, min_gold is None or total == 0 or right >= min_gold * total)

    def _counted(self, question: Question) -> Iterator[_Rated]:
        items = self.study.by_id
        for (rater, name), values in self._given.items():
            value, item = values.get(question.id), items[name]
            if rater in self._kept and not values.get("skip") and not item.expected and isinstance(value, int | str):
                yield _Rated(rater, item, value)


def read_results(folder: Path, min_gold: float | None = None) -> StudyResults:
    """Return the numbers of the study in a folder, as :class:`StudyResults` with the same ``min_gold``.

    Raises:
        DataError: There is no study, or a file is damaged.
    """
    study = read_study(folder)
    return StudyResults(study, read_ratings(folder / RATINGS_FILE, study), min_gold)


def _measures(question: Question) -> list[Measure]:
    if question.text:
        return []
    if question.numeric or question.prefer:
        return [Measure(question)]
    return [Measure(question, value) for value in question.options]


def _measured(estimate: Estimate, rated: Sequence[_Rated], sd: float | None) -> Measured:
    return Measured(
        estimate,
        sd,
        ratings=len(rated),
        items=len({one.item.id for one in rated}),
        instances=len({one.item.cluster for one in rated}),
        raters=len({one.rater for one in rated}),
    )


def _deviation(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
