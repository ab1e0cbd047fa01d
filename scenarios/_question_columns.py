"""Which columns of a file of multiple-choice questions hold the question, the options and the answer."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from harness import DataError, Reference, Row

QUESTIONS = ("question", "question_stem", "stem", "query", "prompt", "problem", "goal", "input", "ctx", "sentence")
"""Names of a column of questions. In all names here, case, spaces, ``_`` and ``-`` make no difference."""

OPTIONS = ("options", "choices", "endings", "candidates", "answer_options", "answer_choices")
"""Names that a column with all options may have."""

OPTION = ("", "option", "options", "choice", "answer", "ans", "sol", "solution", "ending", "opt", "op")
"""Beginnings of the names of columns with one option each; ``A``, ``B``, … or 0 or 1, 2, … follows."""

ANSWERS = (
    "answer", "answer_key", "correct", "correct_answer", "correct_option", "correct_choice", "correct_index", "label",
    "target", "gold", "answer_idx", "answer_index", "cop",
)  # fmt: skip
"""Names that a column of answers may have."""

_ENDS = (string.ascii_lowercase, "0123456789", "123456789")

NO_ANSWER = "none"
"""Value of ``answer`` for a file without answers."""


@dataclass(frozen=True, slots=True)
class QuestionColumns:
    """Columns by name; ``question.stem`` is the key ``stem`` of an object in the column ``question``."""

    question: str
    """The column of the question."""
    options: tuple[str, ...]
    """The column of all options, or those of one option each, in order."""
    answer: str | None
    """The column of the answer; None if there is none."""
    first: int | None = None
    """Number of the first option, 0 or 1, if answers are numbers; None if they are not, or it is unknown."""


def question_columns(row: Row, question: str | None, options: str | None, answer: str | None) -> QuestionColumns:
    """Return the columns of a file, given its first row; columns that are not named are found by common names.

    Args:
        row: The first row.
        question: The column of the question; None to guess.
        options: The column of the options, or several separated by commas; None to guess.
        answer: The column of the answer, ``none`` for none; None to guess.

    Raises:
        DataError: A named column does not exist, or no column or several columns have a common name.
    """
    for name in (question, *(options or "").split(","), None if answer == NO_ANSWER else answer):
        if name:
            value_of(row, name.strip())
    chosen = tuple(name.strip() for name in options.split(",")) if options else _options(row)
    question = question or _only(row, "question", QUESTIONS, lambda value: isinstance(value, str), chosen)
    if answer == NO_ANSWER:
        return QuestionColumns(question, chosen, None)
    found = answer or _only(row, "answer", ANSWERS, lambda value: isinstance(value, str | int), (question, *chosen))
    return QuestionColumns(question, chosen, found)


def first_number(rows: Iterator[Row], columns: QuestionColumns) -> int | None:
    """Return the number of the first option, 0 or 1, if the answers are numbers; None if they are not.

    Raises:
        DataError: It could be either.
    """
    last: Row | None = None
    zero = high = False
    labelled = written = True
    for last in rows:
        labels, texts = options_of(last, columns)
        given = str(value_of(last, columns.answer or "")).strip()
        if not re.fullmatch(r"\d+", given):
            return None
        zero, high = zero or given == "0", high or given == str(len(texts))
        labelled, written = labelled and given in labels, written and given in texts
    if last is None or labelled or written:
        return None
    if zero != high:
        return 0 if zero else 1
    seen = "both 0 and the number of options occur" if zero else "neither 0 nor the number of options occurs"
    raise DataError(
        f"the answers in column {columns.answer!r} are numbers, and {seen}, so the first option may be 0 or 1. Say "
        "which with --numbered-from 0 or --numbered-from 1 (in a sweep: numbered_from).",
        file=last.file,
    )


def references_of(row: Row, columns: QuestionColumns) -> tuple[Reference, ...]:
    """Return a question's options; the one that is the answer is marked as correct.

    Raises:
        DataError: They are not at least two texts, or the answer is not one of them.
    """
    labels, texts = options_of(row, columns)
    place = None if columns.answer is None else _place(row, columns, labels, texts)
    return tuple(Reference(text, correct=number == place) for number, text in enumerate(texts))


def options_of(row: Row, columns: QuestionColumns) -> tuple[list[str], list[str]]:
    """Return the labels of a question's options, and their texts.

    Raises:
        DataError: They are not at least two texts.
    """
    letters = list(string.ascii_uppercase)
    if len(columns.options) > 1:
        texts = [value_of(row, name) for name in columns.options]
        while len(texts) > 2 and (texts[-1] is None or not str(texts[-1]).strip()):
            texts.pop()  # where questions have four or five options, the last column is empty for some
        named = zip(columns.options[: len(texts)], letters, strict=False)
        labels = [_series(name)[1].upper() or letter for name, letter in named]
    else:
        labels, texts = _listed(value_of(row, columns.options[0]), letters)
    shown = ", ".join(map(repr, columns.options))
    if len(texts) < 2 or not all(isinstance(text, str | int | float) and str(text).strip() for text in texts):
        raise row.error(
            f"the options in {shown} are {str(texts)[:200]}, but must be two or more texts: a list, an object with a "
            "text for each letter, or a column for each option."
        )
    return labels, [str(text).strip() for text in texts]


def value_of(row: Row, column: str) -> Any:
    """Return a column's value; ``question.stem`` may be a key of an object in the column ``question``.

    Raises:
        DataError: There is no such column.
    """
    head, dot, key = column.partition(".")
    if column not in row and dot and isinstance(inner := row.get(head), Mapping) and key in inner:
        return inner[key]
    return row[column]


def _only(row: Row, what: str, names: Sequence[str], fits: Callable[[Any], bool], taken: Sequence[str]) -> str:
    """Return the one column with a common name and a fitting value."""
    known = {_plain(name) for name in names}
    found = [name for name, value in _values(row) if _plain(name.rpartition(".")[2]) in known and fits(value)]
    found = [name for name in found if name not in taken]
    if len(found) == 1:
        return found[0]
    raise _unclear(row, what, found, f"such as {names[0]} or {names[1]}")


def _options(row: Row) -> tuple[str, ...]:
    known = {_plain(name) for name in OPTIONS}
    found: list[tuple[str, ...]] = [
        (name,)
        for name, value in _values(row)
        if _plain(name.rpartition(".")[2]) in known and _listed(value, list(string.ascii_uppercase))[1]
    ]
    series: dict[str, dict[str, str]] = {}
    for name in row:
        prefix, end = _series(name)
        if end and isinstance(row[name], str | int | float | None):
            series.setdefault(prefix, {})[end] = name
    for ends in series.values():
        for names in ([ends[end] for end in takewhile(ends.__contains__, known)] for known in _ENDS):
            if len(names) > 1:
                found.append(tuple(names))
                break
    if len(found) == 1:
        return found[0]
    shown = [",".join(names) for names in found]
    raise _unclear(row, "options", shown, "such as options or choices, or A, B, … or option1, option2, …")


def _unclear(row: Row, what: str, found: Sequence[str], names: str) -> DataError:
    several = f"columns {' and '.join(map(repr, found))} could each hold the {what}"
    without = ", or none if there are no answers" if what == "answer" else ""
    return DataError(
        f"{several if found else f'no column has a common name for the {what}, {names}'}. Name it with --{what} "
        f"(in a sweep: {what}){without}. {row.columns()}",
        file=row.file,
    )


def _values(row: Row) -> Iterator[tuple[str, Any]]:
    """Yield columns with their values, and the keys of objects in columns as columns of their own."""
    for name, value in row.items():
        yield name, value
        if isinstance(value, Mapping):
            yield from ((f"{name}.{key}", inner) for key, inner in value.items())


def _series(name: str) -> tuple[str, str]:
    """Return the beginning and the letter or number of a column's name, ``option`` and ``a``; empty texts if none."""
    matched = re.fullmatch(r"(.*?)([a-z]|\d)", _plain(name))
    return (matched[1], matched[2]) if matched and matched[1] in OPTION else ("", "")


def _listed(value: Any, letters: Sequence[str]) -> tuple[list[str], list[Any]]:
    """Return labels and texts of options in one column; no texts if it is something else."""
    if isinstance(value, str) and value.strip().startswith(("[", "{")):
        try:
            value = json.loads(value)
        except ValueError:
            return [], []
    if isinstance(value, Mapping) and isinstance(texts := value.get("text"), Sequence) and not isinstance(texts, str):
        return [str(label) for label in value.get("label") or letters[: len(texts)]], list(texts)
    if isinstance(value, Mapping):
        return [str(label) for label in value], list(value.values())
    if not isinstance(value, Sequence) or isinstance(value, str):
        return [], []
    if all(isinstance(one, Mapping) and "text" in one for one in value):
        labels = [str(one.get("label", letter)) for one, letter in zip(value, letters, strict=False)]
        return labels, [one["text"] for one in value]
    return list(letters[: len(value)]), list(value)


def _place(row: Row, columns: QuestionColumns, labels: Sequence[str], texts: Sequence[str]) -> int:
    """Return the place of the answer among the options."""
    given = str(value_of(row, columns.answer or "")).strip()
    if columns.first is not None and given.isdecimal() and 0 <= int(given) - columns.first < len(texts):
        return int(given) - columns.first
    for known in (labels, texts):
        if given in known:
            return known.index(given)
    for known in (labels, texts):
        if given.casefold() in (folded := [one.casefold() for one in known]):
            return folded.index(given.casefold())
    raise row.error(
        f"the answer {given[:80]!r} in column {columns.answer!r} is not one of the options: their letters are "
        f"{', '.join(labels)}, and their texts {', '.join(texts)[:200]}."
    )


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()
