"""One record of a data file, which knows its position for error messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness.errors import DataError


class Row(Mapping[str, Any]):
    """One record: column names to values.

    Attributes:
        file: The file or Hub data set it comes from, for messages.
        number: Its number among the records of its split, from 1.
        place: Its row in the file, as an editor or a spreadsheet counts: header and blank lines included.
        record: The record as a plain mapping.
    """

    __slots__ = ("_text", "file", "number", "place", "record")

    def __init__(
        self,
        record: Mapping[str, Any],
        *,
        file: str,
        number: int,
        place: int | None = None,
        text: str | None = None,
    ) -> None:
        self._text = text
        self.record = record
        self.file = file
        self.number = number
        self.place = number if place is None else place

    @property
    def published(self) -> str:
        """The record's own text in its file, without the line ending; for formats without text, JSON.

        Records of Parquet files and of the Hub are written as a line of JSON.
        """
        if self._text is not None:
            return self._text
        return json.dumps(self.record, ensure_ascii=False, default=str)

    def __getitem__(self, column: str) -> Any:
        """Return a column's value.

        Raises:
            DataError: There is no such column.
        """
        try:
            return self.record[column]
        except KeyError:
            raise self.error(f"there is no column {column!r}. {self.columns()}") from None

    def __contains__(self, column: object) -> bool:
        return column in self.record

    def __iter__(self) -> Iterator[str]:
        return iter(self.record)

    def __len__(self) -> int:
        return len(self.record)

    def __repr__(self) -> str:
        return f"Row({self.record!r}, file={self.file!r}, number={self.number})"

    def get(self, column: str, default: Any = None) -> Any:
        """Return a column's value, or the default if there is no such column."""
        return self.record.get(column, default)

    def with_record(self, record: Mapping[str, Any]) -> Row:
        """Return this row with another record."""
        return Row(record, file=self.file, number=self.number, place=self.place, text=self._text)

    def columns(self) -> str:
        """Return a sentence that lists the columns."""
        return f"Columns: {', '.join(map(repr, self.record))}.{_delimiter_hint(self.record)}"

    def error(self, message: str) -> DataError:
        """Return an error about this row: ``raise row.error("answer 'E' is not one of A-D.")``."""
        return DataError(message, file=self.file, row=self.place)


def _delimiter_hint(record: Mapping[str, Any]) -> str:
    """Return advice if the only column's name looks like a whole header line; else ''."""
    if len(record) != 1:
        return ""
    (name,) = record
    for sign, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if name.count(sign):
            return f" The header looks as if {called} part the columns; a .csv file needs commas, a .tsv file tabs."
    return ""
