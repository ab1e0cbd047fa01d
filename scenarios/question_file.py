"""Multiple-choice questions from a file, for testing whether a model depends on the order of their options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from harness import Data, Instance, Source, Split, scenario
from harness.contamination import QUESTIONS_FILE
from scenarios._question_columns import first_number, question_columns, references_of, value_of


@scenario(
    "question_file",
    title="A file of questions",
    source="The file's authors",
    data=Source(files={"test": "{{ path }}"}, anywhere=True),
    adapter={"method": "option_order"},
    metrics=("option_order", "efficiency"),
    main_metric="option_order",
    taxonomy={"task": "contamination test", "what": "a file", "who": "anybody", "when": "any time", "language": "any"},
    role=QUESTIONS_FILE,
)
def question_file(
    data: Data,
    *,
    path: str,
    question: str | None = None,
    options: str | None = None,
    answer: str | None = None,
    numbered_from: Literal[0, 1] | None = None,
) -> Iterator[Instance]:
    """Multiple-choice questions from a file: JSON Lines, CSV, TSV, a JSON list, or Parquet; compressed or not.

    ``path`` is absolute or relative to the data folder. ``question``, ``options`` and ``answer`` name the columns;
    without them, common names are tried. Options are a list, an object with a text for each letter, or several
    columns, ``options: "A,B,C,D"``. An answer is the letter, the text or the number of an option; ``answer: none`` if
    the file has no answers. ``numbered_from`` is the number of the first option, 0 or 1, if answers are numbers and do
    not show it. If a column holds objects, name a key with a dot: ``question.stem``.
    """
    first = next(iter(data.rows(Split.TEST)), None)
    if first is None:
        return
    columns = question_columns(first, question, options, answer)
    if columns.answer is not None:
        columns = replace(columns, first=numbered_from)
        if numbered_from is None:
            columns = replace(columns, first=first_number(data.rows(Split.TEST), columns))
    for row in data.rows(Split.TEST):
        text = value_of(row, columns.question)
        if not isinstance(text, str) or not text.strip():
            raise row.error(f"column {columns.question!r} holds {text!r}, not the text of a question.")
        yield Instance(f"{Split.TEST}-{row.number}", text, references_of(row, columns), split=Split.TEST)
