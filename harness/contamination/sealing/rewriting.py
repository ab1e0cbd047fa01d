"""Twins of a data set's rows: from a file, or rewritten by a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.contracts import GenerateRequest, JudgeModel, Message, Prompt
from harness.errors import DataError, ModelError

REQUEST = (
    "Rewrite the following text in other words. Keep its meaning, its language, every name and every number, and keep "
    "it about as long. Reply with the rewritten text only.\n\n{text}"
)
MOST_TOKENS = 1024


def twins_of_files(
    records: Sequence[Mapping[str, Any]], files: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]
) -> list[list[Mapping[str, Any]]]:
    """Return each row's twins, from files that have one for every row, in the same order; equal rows are left out.

    Args:
        records: The rows.
        files: For each file its name and its rows.

    Raises:
        DataError: A file has another number of rows, or a row has other columns.
    """
    found: list[list[Mapping[str, Any]]] = [[] for _ in records]
    for name, rows in files:
        if len(rows) != len(records):
            raise DataError(f"has {len(rows)} rows, but the data set has {len(records)}: one twin per row.", file=name)
        for number, (record, twin) in enumerate(zip(records, rows, strict=True), 1):
            if set(twin) != set(record):
                theirs, ours = ", ".join(map(repr, twin)), ", ".join(map(repr, record))
                raise DataError(f"has the columns {theirs}, but the row's are {ours}.", file=name, row=number)
            ordered = {column: twin[column] for column in record}
            if ordered != record and ordered not in found[number - 1]:
                found[number - 1].append(ordered)
    return found


def rewritten(
    records: Sequence[Mapping[str, Any]], column: str, model: JudgeModel, name: str
) -> list[list[Mapping[str, Any]]]:
    """Return each row's twin, in which a model has rewritten a column; none where it wrote nothing new.

    Raises:
        DataError: A row has no text in that column.
        ModelError: The model cannot be asked, or failed.
    """
    texts: list[str] = []
    for number, record in enumerate(records, 1):
        text = record.get(column)
        if not isinstance(text, str) or not text.strip():
            raise DataError(
                f"row {number} has no text in the column {column!r}; it has {', '.join(map(repr, record))}."
            )
        texts.append(text)
    requests = []
    for text in texts:
        asked = REQUEST.format(text=text)
        prompt: Prompt = (Message("user", asked),) if model.chat else f"{asked}\n\nRewritten text:"
        requests.append(GenerateRequest(prompt, MOST_TOKENS))
    found: list[list[Mapping[str, Any]]] = []
    for record, text, response in zip(records, texts, model.ask(requests), strict=True):
        if response.error is not None:
            raise ModelError(f"{name} failed to rewrite a row: {response.error} Answers so far are kept; run it again.")
        twin = response.completions[0].text.strip()
        found.append([{**record, column: twin}] if twin and twin != text.strip() else [])
    return found
