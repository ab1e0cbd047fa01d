"""Studies and ratings for other programs: CSV to and from crowd platforms, and labels for judges."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.annotation.measures import StudyResults
from harness.annotation.questionnaire import Question
from harness.annotation.ratings import EXTRA, Rating, latest
from harness.annotation.server import turned
from harness.annotation.study import Item, Study
from harness.errors import DataError, did_you_mean
from harness.output.display import brief, lines
from harness.output.result_table import FORMULA_STARTS

CROWD = ""
"""The rater for whom the sides of exported pairs are drawn: all workers see them in the same order."""

_ITEM, _RATER = ("item", "Input.item"), ("rater", "WorkerId")
"""Names of the columns, ours and Mechanical Turk's."""

_STATUS, _REJECTED = "AssignmentStatus", "Rejected"
"""Mechanical Turk's column that says whether a worker's answers were accepted."""


def items_csv(study: Study) -> str:
    """Return a study's items as CSV, one row each, without the names of models."""
    pair = study.questionnaire.answers == "pair"
    answers = ("answer_a", "answer_b") if pair else ("answer",)
    records = []
    for item in study.items:
        sides = study.sides(CROWD, item)
        texts = [item.answers[place].text for place in sides]
        records.append(
            {
                "item": item.id,
                "input": item.input,
                **({"references": "\n".join(item.references)} if study.questionnaire.references else {}),
                **dict(zip(answers, texts, strict=True)),
            }
        )
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(records[0])
    writer.writerows([_field(text) for text in record.values()] for record in records)
    return file.getvalue()


def _field(text: str) -> str:
    """Return a text whole, with its lines, but never as what a spreadsheet takes for a formula."""
    shown = lines(text)
    return f"'{shown}" if shown.lstrip().startswith(FORMULA_STARTS) else shown


def read_crowd_csv(path: Path, study: Study) -> list[Rating]:
    """Return the ratings of a CSV file with a row for each item and rater, and a column for each question.

    The columns are ``item`` and ``rater``, or Mechanical Turk's ``Input.item`` and ``WorkerId``, and the questions'
    ids, optionally as ``Answer.<id>``. Other columns are ignored, and so are rows whose ``AssignmentStatus`` is
    ``Rejected`` and empty cells. A preference is ``A``, ``B`` or a tie's text; A and B are the answers as
    :func:`items_csv` writes them.

    Raises:
        DataError: The file cannot be read, lacks a column, has a value that is not an answer, or has two rows of one
            rater about one item. The message names the row.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read ({error}).", file=path) from error
    try:
        table = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        header = list(table.fieldnames or ())
        item_column, rater_column = _column(header, _ITEM, path), _column(header, _RATER, path)
        asked = {name: name for name in (*(question.id for question in study.questionnaire.questions), *EXTRA)}
        asked |= {f"Answer.{name}": name for name in asked}
        columns = {column: asked[column] for column in header if column in asked}
        if not columns:
            questions = ", ".join(question.id for question in study.questionnaire.questions)
            raise DataError(f"has no column for a question. Questions: {questions}.", file=path)
        return list(_ratings(table, study, path, item_column, rater_column, columns))
    except csv.Error as error:
        raise DataError(f"not CSV ({error}).", file=path) from error


def _column(header: Sequence[str], names: tuple[str, str], path: Path) -> str:
    found = [name for name in names if name in header]
    if not found:
        raise DataError(f"has no column {names[0]!r} (or {names[1]!r}). {did_you_mean(names[0], header)}", file=path)
    return found[0]


def _ratings(
    table: csv.DictReader[str], study: Study, path: Path, item: str, rater: str, columns: Mapping[str, str]
) -> Iterator[Rating]:
    items = study.by_id
    rows: dict[tuple[str, str], int] = {}
    for row, line in enumerate(table, start=2):
        if None in line or None in line.values():
            wrong = "more" if None in line else "fewer"
            raise DataError(f"the row has {wrong} cells than the header{_at(table, row)}.", file=path, row=row)
        if line.get(_STATUS) == _REJECTED:
            continue
        found, who = items.get((line[item] or "").strip()), " ".join((line[rater] or "").split())
        if found is None:
            message = f"the study has no item {brief(line[item])!r}{_at(table, row)}. {did_you_mean(line[item], items)}"
            raise DataError(message.rstrip(), file=path, row=row)
        if not who:
            raise DataError(f"the row names no rater{_at(table, row)}.", file=path, row=row)
        if (first := rows.setdefault((who, found.id), row)) != row:
            message = f"rater {brief(who)!r} has already rated item {found.id!r} in row {first}{_at(table, row)}."
            raise DataError(f"{message} Remove one of the rows.", file=path, row=row)
        for column, name in columns.items():
            cell = (line[column] or "").strip()
            if cell:
                yield _rating(study, who, found, name, cell, path, row)


def _at(table: csv.DictReader[str], row: int) -> str:
    """Return the file's line at which a row ends, if cells with several lines make it differ from the row's number."""
    return "" if table.line_num == row else f" (line {table.line_num} of the file)"


def _rating(study: Study, rater: str, item: Item, name: str, cell: str, path: Path, row: int) -> Rating:
    question = study.questionnaire.question(name)
    if question is None:
        if name == "skip" and cell.casefold() not in ("true", "1", "yes"):
            raise DataError(f"skip is true or empty, not {cell!r}.", file=path, row=row)
        return Rating(rater, item.id, name, True if name == "skip" else cell)
    if question.prefer:
        seen = question.read(cell)
        value = None if seen is None else turned(seen, study.sides(CROWD, item))
        known = [*question.options.values()]
    else:
        value, known = question.read(cell), [str(option) for option in question.options]
    if value is None:
        raise DataError(f"{cell!r} is not an answer to {name!r}; it has {', '.join(known)}.", file=path, row=row)
    return Rating(rater, item.id, name, value)


def judge_labels(
    study: Study, ratings: Sequence[Rating], question: str, model: str, min_gold: float | None = None
) -> str:
    """Return the ratings of a model's answers as a judge's ``labels`` file: one JSON object per line.

    Args:
        study: What was asked.
        ratings: The ratings.
        question: The question's id: numbers become scores, choices labels.
        model: The model's name in the table.
        min_gold: Leave out raters whose share of right ratings of gold items is below this; None to keep all.

    Raises:
        DataError: There is no such question or model, or the question is not one that a judge answers.
    """
    asked = _asked(study, question)
    models = {answer.model for item in study.items for answer in item.answers if answer.model}
    if model not in models:
        raise DataError(f"the study has no answers of {model!r}. {did_you_mean(model, models)}")
    items = study.by_id
    counted = {rater.name for rater in StudyResults(study, ratings, min_gold).raters if rater.counted}
    own = {(*item.cluster, item.answers[0].text) for item in study.items if item.answers[0].model == model}
    found: dict[tuple[str, str, str], str] = {}  # a rater may have read the same completion twice: the last counts
    for (rater, name), values in latest(ratings).items():
        item, value = items[name], values.get(question)
        answer = item.answers[0]
        if value is None or values.get("skip") or rater not in counted or (*item.cluster, answer.text) not in own:
            continue
        label: dict[str, Any] = {"id": item.instance}
        label |= {"score": value} if asked.numeric else {"label": value}
        line = json.dumps({**label, "rater": rater, "text": answer.text}, ensure_ascii=False)
        found[item.instance, answer.text, rater] = line + "\n"
    return "".join(found.values())


def _asked(study: Study, name: str) -> Question:
    question = study.questionnaire.question(name)
    known = [one.id for one in study.questionnaire.questions if not one.text and not one.prefer]
    if question is None or name not in known or study.questionnaire.answers == "pair":
        raise DataError(
            f"{name!r} is not a question about one answer with a scale or choices. {did_you_mean(name, known)}"
        )
    return question
