"""The table of ratings: models by questions, with the raters' agreement, for terminals, papers and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.annotation.measures import Measure, Measured, Rater, StudyResults
from harness.annotation.questionnaire import Question
from harness.annotation.ratings import Rating
from harness.annotation.study import Study
from harness.leaderboard.formatting import arrow, interval, number
from harness.output.display import brief, counted
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote
from harness.statistics import FEWEST_RATERS, THESE_RATERS

AGREEMENT = "agreement (alpha)"
"""The name of the row with Krippendorff's alpha."""

PAIRS = "all pairs"
"""The name of the row with questions about a pair of answers as a whole."""

DIRECTIONS = {"high": True, "low": False, "neither": None}
"""True if higher is better, by the end that is better."""

_FIELDS = (
    "questionnaire", "model", "question", "statistic", "choice", "value", "sd", "low", "high", "ratings", "items",
    "instances", "raters", "note",
)  # fmt: skip


def ratings_table(study: Study, ratings: Sequence[Rating], min_gold: float | None = None) -> ResultTable:
    """Return the table of models by questions: mean, standard deviation and interval; then the raters' agreement.

    Intervals are over instances, since ratings of one instance, by any rater and of any answer, depend on each other;
    with five raters or more they are over raters as well (:func:`harness.statistics.crossed_mean`).

    Args:
        study: What was asked.
        ratings: The ratings, in the order in which they were given.
        min_gold: Leave out raters whose share of right ratings of gold items is below this; None to keep all.
    """
    results = StudyResults(study, ratings, min_gold)
    measures = results.measures
    records: list[dict[str, Any]] = []
    several = len(_for_these_raters(results)) > 1
    rows = []
    for model in results.models:
        found = [None if results.of_pairs(each) else results.of_model(each, model) for each in measures]
        if any(found):
            rows.append([TableCell(brief(model, 200)), *_cells(study, measures, found, model, records, several)])
    if rows and any(results.of_pairs(each) for each in measures):
        found = [results.of_all(each) if results.of_pairs(each) else None for each in measures]
        rows.append([TableCell(PAIRS), *_cells(study, measures, found, None, records, several)])
    if rows:
        rows.append([TableCell(AGREEMENT), *_agreements(results, records)])
    return ResultTable(
        columns=[
            TableColumn(("model",), repeated=True, name=True),
            *(
                TableColumn((brief(each.heading, 60) + arrow(DIRECTIONS[each.better]),), numeric=True, movable=True)
                for each in measures
            ),
        ],
        rows=rows,
        notes=[TableNote(text) for text in _notes(results, records)] if rows else [],
        caption=f"Ratings by people ({study.questionnaire.name}).",
        fields=_FIELDS,
        records=records,
        value={
            "questionnaire": study.questionnaire.name,
            "results": records,
            "raters": [
                {
                    "rater": rater.name,
                    "items": rater.done,
                    "gold": rater.gold,
                    "gold_right": rater.gold_right,
                    "counted": rater.counted,
                }
                for rater in results.raters
            ],
        },
        intro=[
            ("questionnaire", study.questionnaire.title),
            *(("rater", _about(results, one)) for one in results.raters),
        ],
        nothing="There are no ratings yet.",
    )


def _about(results: StudyResults, rater: Rater) -> str:
    """Return what a rater has done; above the table, so that names stay out of papers."""
    passed = f", {rater.gold_right} of {rater.gold} gold ratings right" if rater.gold else ""
    left_out = "" if rater.counted else ", left out"
    return f"{brief(rater.name)}: {rater.done} of {len(results.study.items)} items{passed}{left_out}"


def _cells(
    study: Study,
    measures: Sequence[Measure],
    found: Sequence[Measured | None],
    model: str | None,
    records: list[dict[str, Any]],
    several: bool,
) -> Iterator[TableCell]:
    """Return the cells of a row, and add their records; ``several`` if the intervals are of several kinds."""
    for measure, one in zip(measures, found, strict=True):
        if one is None:
            yield TableCell()
            continue
        choice = None if measure.choice is None else measure.question.options[measure.choice]
        records.append(_record(study, measure.question, measure.statistic, one, model, choice))
        shown = "" if one.sd is None or measure.statistic != "mean" else f"({number(one.sd)})"
        ends = interval(one.estimate.value, one.estimate.low, one.estimate.high)
        text = " ".join(filter(None, [shown, ends]))
        people = f", {THESE_RATERS}" if one.for_these_raters and several else ""
        yield TableCell(number(one.estimate.value), text, detail=f"n={one.ratings}{people}")


def _agreements(results: StudyResults, records: list[dict[str, Any]]) -> Iterator[TableCell]:
    """Return the cells of the row with alpha, each in the question's first column, and add their records."""
    seen: set[str] = set()
    for measure in results.measures:
        question = measure.question
        alpha = None if question.id in seen else results.agreement(question)
        seen.add(question.id)
        if alpha is None:
            yield TableCell()
            continue
        name = f"Krippendorff's alpha ({question.agreement})"
        records.append(_record(results.study, question, name, alpha, None, None))
        ends = interval(alpha.estimate.value, alpha.estimate.low, alpha.estimate.high)
        yield TableCell(number(alpha.estimate.value), ends, detail=f"n={alpha.ratings}")


def _record(
    study: Study, question: Question, statistic: str, found: Measured, model: str | None, choice: str | None
) -> dict[str, Any]:
    return {
        "questionnaire": study.questionnaire.name,
        "model": model,
        "question": question.id,
        "statistic": statistic,
        "choice": choice,
        "value": found.estimate.value,
        "sd": found.sd,
        "low": found.estimate.low,
        "high": found.estimate.high,
        "ratings": found.ratings,
        "items": found.items,
        "instances": found.instances,
        "raters": found.raters,
        "note": found.estimate.note,
    }


def _notes(results: StudyResults, records: Sequence[dict[str, Any]]) -> Iterator[str]:
    people = counted(sum(rater.counted for rater in results.raters), "rater")
    kinds = {measure.statistic for measure in results.measures}
    slight = ", slight preferences as ¾" if any(each.question.strengths for each in results.measures) else ""
    words = [
        "mean (standard deviation)" if "mean" in kinds else "",
        "share of a choice" if "share" in kinds else "",
        f"win rate with ties as ½{slight}" if "win rate" in kinds else "",
    ]
    yield f"{', '.join(filter(None, words))} with {what_intervals_cover(results)}; n: ratings by {people}."
    levels = dict.fromkeys(f"{measure.question.heading}: {measure.question.agreement}" for measure in results.measures)
    by_level = f"alpha: Krippendorff's, by level of measurement ({'; '.join(levels)})"
    yield f"{by_level}; 1 is perfect agreement, 0 is agreement by chance."
    lacking = dict.fromkeys(record["note"] for record in records if record["low"] is None and record["note"])
    if lacking:
        yield f"some numbers have no interval: {'; '.join(lacking)}."
    if results.skipped:
        yield f"{counted(results.skipped, 'item')} could not be judged by a rater; they do not count for that rater."


def what_intervals_cover(results: StudyResults) -> str:
    """Return what the intervals of a study allow for, in words."""
    alone = _for_these_raters(results)
    if len(alone) < 2:
        return f"95 % interval over instances{', for these raters' if True in alone else ' and raters'}"
    return (
        f"95 % interval over instances and raters; where fewer than {FEWEST_RATERS} people rated, over instances "
        f"alone, {THESE_RATERS}"
    )


def _for_these_raters(results: StudyResults) -> set[bool]:
    """Return for all intervals of a study if they are over instances alone."""
    cells = [
        results.of_all(each) if results.of_pairs(each) else results.of_model(each, model)
        for each in results.measures
        for model in results.models
    ]
    return {cell.for_these_raters for cell in cells if cell is not None and cell.estimate.low is not None}
