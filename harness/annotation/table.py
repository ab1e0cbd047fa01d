"""What ratings say: a table of models by questions, with the raters' agreement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.annotation.questionnaire import FIRST, TIE, Question, Value
from harness.annotation.ratings import Rating, Values, latest
from harness.annotation.study import Item, Study, is_complete
from harness.contracts import Estimate, Scale
from harness.leaderboard.formatting import interval, number
from harness.output.display import brief, counted
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote
from harness.statistics import BOUNDED, PROPORTION, clustered_mean, krippendorff_alpha

AGREEMENT = "agreement (alpha)"
"""The name of the row with Krippendorff's alpha."""

PAIRS = "all pairs"
"""The name of the row with questions about a pair of answers as a whole."""

_FIELDS = (
    "questionnaire", "model", "question", "statistic", "choice", "value", "sd", "low", "high", "ratings", "items",
    "instances", "raters", "note",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Column:
    """A number of each model: the mean of a question, its win rate, or the share of one of its choices."""

    question: Question
    choice: Value | None = None

    @property
    def heading(self) -> str:
        if self.choice is None:
            return self.question.heading
        return f"{self.question.heading}: {self.question.options[self.choice]}"

    @property
    def statistic(self) -> str:
        return "win rate" if self.question.prefer else "mean" if self.choice is None else "share"

    @property
    def scale(self) -> Scale:
        if self.question.prefer:
            return BOUNDED
        return self.question.range if self.choice is None else PROPORTION

    def of_pairs(self, study: Study) -> bool:
        """Return True if the question is about two answers together, and so about neither model."""
        return study.questionnaire.answers == "pair" and not self.question.prefer

    def value(self, rating: Value, place: int) -> float:
        """Return what a rating counts for the answer at a place of its item."""
        if self.question.prefer:
            return 0.5 if rating == TIE else float((rating == FIRST) == (place == 0))
        return float(rating) if self.choice is None else float(rating == self.choice)


@dataclass(frozen=True, slots=True)
class _Rated:
    """A rating that counts."""

    rater: str
    item: Item
    value: Value


def ratings_table(study: Study, ratings: Sequence[Rating], min_gold: float | None = None) -> ResultTable:
    """Return the table of models by questions: mean, standard deviation and interval; then the raters' agreement.

    Intervals are over instances: ratings of one instance, by any rater and of any answer, depend on each other.

    Args:
        study: What was asked.
        ratings: The ratings, in the order in which they were given.
        min_gold: Leave out raters with a smaller share of right ratings of gold items; None to keep all.
    """
    given = latest(ratings)
    people = sorted({rater for rater, _ in given})
    gold = {rater: _gold(study, given, rater) for rater in people}
    kept = [rater for rater in people if min_gold is None or not _below(gold[rater], min_gold)]
    rated = {
        question.id: list(_counted(study, given, kept, question))
        for question in study.questionnaire.questions
        if not question.text
    }
    columns = [column for question in study.questionnaire.questions for column in _columns(question)]
    models = sorted({answer.model for item in study.items if not item.expected for answer in item.answers})
    records: list[dict[str, Any]] = []
    rows = []
    for model in models:
        cells = [
            TableCell() if column.of_pairs(study) else _cell(study, column, model, rated[column.question.id], records)
            for column in columns
        ]
        if any(cell.text for cell in cells):
            rows.append([TableCell(brief(model, 200)), *cells])
    if rows and any(column.of_pairs(study) for column in columns):
        cells = [
            _cell(study, column, None, rated[column.question.id], records) if column.of_pairs(study) else TableCell()
            for column in columns
        ]
        rows.append([TableCell(PAIRS), *cells])
    if rows:
        agreements = {
            question.id: _agreement(study, question, rated[question.id], records)
            for question in study.questionnaire.questions
            if not question.text
        }
        first = {column.question.id: column for column in reversed(columns)}
        cells = [
            agreements[column.question.id] if first[column.question.id] is column else TableCell() for column in columns
        ]
        rows.append([TableCell(AGREEMENT), *cells])
    return ResultTable(
        columns=[
            TableColumn(("model",), repeated=True, name=True),
            *(TableColumn((brief(column.heading, 60),), numeric=True, movable=True) for column in columns),
        ],
        rows=rows,
        notes=[TableNote(text) for text in _notes(study, given, people, kept, gold, columns, records)] if rows else [],
        caption=f"Ratings by people ({study.questionnaire.name}).",
        fields=_FIELDS,
        records=records,
        value={
            "questionnaire": study.questionnaire.name,
            "results": records,
            "raters": [
                {
                    "rater": rater,
                    "items": _done(study, given, rater),
                    "gold": gold[rater][1],
                    "gold_right": gold[rater][0],
                    "counted": rater in kept,
                }
                for rater in people
            ],
        },
        intro=[("questionnaire", study.questionnaire.title)],
        nothing="There are no ratings yet.",
    )


def _columns(question: Question) -> list[_Column]:
    if question.text:
        return []
    if question.numeric or question.prefer:
        return [_Column(question)]
    return [_Column(question, value) for value in question.options]


def _counted(
    study: Study, given: dict[tuple[str, str], dict[str, Value | bool]], kept: Sequence[str], question: Question
) -> Iterator[_Rated]:
    items = study.by_id
    for (rater, item), values in given.items():
        value = values.get(question.id)
        if rater in kept and not values.get("skip") and not items[item].expected and isinstance(value, int | str):
            yield _Rated(rater, items[item], value)


def _cell(
    study: Study, column: _Column, model: str | None, rated: Sequence[_Rated], records: list[dict[str, Any]]
) -> TableCell:
    """Return the number of a model, or of all pairs for None, and add its record."""
    found = [
        (one, column.value(one.value, place))
        for one in rated
        for place, answer in enumerate(one.item.answers)
        if (answer.model == model if model is not None else place == 0)
    ]
    if not found:
        return TableCell()
    values = [value for _, value in found]
    estimate = clustered_mean(values, [one.item.cluster for one, _ in found], column.scale)
    spread = _deviation(values)
    records.append(
        {
            **_about(study, column.question, column.statistic, estimate, [one for one, _ in found]),
            "model": model,
            "choice": None if column.choice is None else column.question.options[column.choice],
            "sd": spread,
            "note": estimate.note,
        }
    )
    shown = "" if spread is None or column.statistic != "mean" else f"({number(spread)})"
    ends = interval(estimate.value, estimate.low, estimate.high)
    return TableCell(number(estimate.value), " ".join(filter(None, [shown, ends])), detail=f"n={len(values)}")


def _agreement(study: Study, question: Question, rated: Sequence[_Rated], records: list[dict[str, Any]]) -> TableCell:
    """Return Krippendorff's alpha of a question, and add its record."""
    by_item: dict[str, dict[str, Value]] = {}
    for one in rated:
        by_item.setdefault(one.item.id, {})[one.rater] = one.value
    alpha = krippendorff_alpha(list(by_item.values()), question.agreement)
    if alpha is None:
        return TableCell()
    twice = [one for one in rated if len(by_item[one.item.id]) > 1]
    records.append(
        {
            **_about(study, question, f"Krippendorff's alpha ({question.agreement})", alpha, twice),
            "model": None,
            "choice": None,
            "sd": None,
            "note": alpha.note,
        }
    )
    return TableCell(number(alpha.value), interval(alpha.value, alpha.low, alpha.high), detail=f"n={len(twice)}")


def _about(
    study: Study, question: Question, statistic: str, estimate: Estimate, rated: Sequence[_Rated]
) -> dict[str, Any]:
    return {
        "questionnaire": study.questionnaire.name,
        "question": question.id,
        "statistic": statistic,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "ratings": len(rated),
        "items": len({one.item.id for one in rated}),
        "instances": len({one.item.cluster for one in rated}),
        "raters": len({one.rater for one in rated}),
    }


def _deviation(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _gold(study: Study, given: dict[tuple[str, str], dict[str, Value | bool]], rater: str) -> tuple[int, int]:
    """Return how many ratings of gold items are right, and how many there are."""
    right = total = 0
    for item in study.items:
        values: Values = given.get((rater, item.id), {})
        for name, expected in item.expected.items():
            if name in values:
                total += 1
                right += values[name] in expected
    return right, total


def _below(gold: tuple[int, int], least: float) -> bool:
    right, total = gold
    return total > 0 and right < least * total


def _done(study: Study, given: dict[tuple[str, str], dict[str, Value | bool]], rater: str) -> int:
    return sum(is_complete(study, values) for (who, _), values in given.items() if who == rater)


def _notes(
    study: Study,
    given: dict[tuple[str, str], dict[str, Value | bool]],
    people: Sequence[str],
    kept: Sequence[str],
    gold: dict[str, tuple[int, int]],
    columns: Sequence[_Column],
    records: Sequence[dict[str, Any]],
) -> Iterator[str]:
    kinds = {column.statistic for column in columns}
    told = [
        "mean (standard deviation)" if "mean" in kinds else "",
        "share of a choice" if "share" in kinds else "",
        "win rate with ties as ½" if "win rate" in kinds else "",
    ]
    yield f"{', '.join(filter(None, told))} with 95 % interval over instances, for these raters; n: ratings."
    levels = dict.fromkeys(f"{column.question.heading}: {column.question.agreement}" for column in columns)
    yield f"alpha: Krippendorff's, by level of measurement ({'; '.join(levels)}); 1 is perfect, 0 as by chance."
    said = []
    for rater in people:
        right, total = gold[rater]
        passed = f", {right} of {total} gold ratings right" if total else ""
        left_out = "" if rater in kept else ", left out"
        said.append(f"{brief(rater)} {_done(study, given, rater)} of {len(study.items)} items{passed}{left_out}")
    yield f"raters: {'; '.join(said)}."
    lacking = dict.fromkeys(record["note"] for record in records if record["low"] is None and record["note"])
    if lacking:
        yield f"some numbers have no interval: {'; '.join(lacking)}."
    skipped = sum(bool(values.get("skip")) for values in given.values())
    if skipped:
        yield f"{counted(skipped, 'item')} could not be judged by a rater, and do not count for that rater."
