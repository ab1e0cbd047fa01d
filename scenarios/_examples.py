"""The example that a record of a file is."""

from __future__ import annotations

from harness import Row


def example(row: Row, column: str | None) -> str:
    """Return the record verbatim; its ``text`` if that is all it has, or the value of a column.

    Raises:
        DataError: The column does not hold a text.
    """
    if not column and list(row) != ["text"]:
        return row.published
    value = row[column or "text"]
    if not isinstance(value, str) or not value:
        raise row.error(f"column {column or 'text'!r} holds {value!r}, not the text of an example.")
    return value
