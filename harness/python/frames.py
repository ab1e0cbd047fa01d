"""Records as data frames: pandas, Polars or Arrow, with the types that the columns declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import Any, Literal, get_args

from harness.errors import HarnessError, did_you_mean
from harness.installation import install_advice
from harness.python.columns import Columns

Library = Literal["pandas", "polars", "arrow"]
"""What a data frame is: ``pandas.DataFrame``, ``polars.DataFrame`` or ``pyarrow.Table``."""

Frame = Any
"""A ``pandas.DataFrame``, ``polars.DataFrame`` or ``pyarrow.Table``."""


def frame(records: Iterable[Mapping[str, Any]], columns: Columns, to: Library) -> Frame:
    """Return records as a data frame; a column that a record lacks is missing there.

    In pandas, integers and booleans have the types ``Int64`` and ``boolean``, which can be missing.

    Raises:
        HarnessError: There is no such library, or it is not installed.
    """
    return frames([(records, columns)], to)


def frames(parts: Sequence[tuple[Iterable[Mapping[str, Any]], Columns]], to: Library) -> Frame:
    """Return parts with different columns as one data frame, with all columns of the parts.

    Raises:
        HarnessError: There is no such library, or it is not installed.
    """
    if to not in get_args(Library):
        raise HarnessError(f"there are no data frames of {to!r}. {did_you_mean(str(to), get_args(Library))}")
    arrow = _library("pyarrow")
    types = {
        "text": arrow.string(),
        "texts": arrow.list_(arrow.string()),
        "whole": arrow.int64(),
        "number": arrow.float64(),
        "flag": arrow.bool_(),
        "time": arrow.timestamp("s", tz="UTC"),
    }
    tables = [
        arrow.table(
            {name: arrow.array(values, type=types[columns[name].type]) for name, values in _values(records, columns)}
        )
        for records, columns in parts
    ]
    table = arrow.concat_tables(tables, promote_options="default")
    if to == "polars":
        return _library("polars").from_arrow(table)
    if to == "arrow":
        return table
    pandas = _library("pandas")
    nullable = {arrow.int64(): pandas.Int64Dtype(), arrow.bool_(): pandas.BooleanDtype()}
    return table.to_pandas(types_mapper=nullable.get)


def _values(records: Iterable[Mapping[str, Any]], columns: Columns) -> Iterable[tuple[str, list[Any]]]:
    """Return each column's name and values."""
    values: dict[str, list[Any]] = {name: [] for name in columns}
    for record in records:
        for name, column in columns.items():
            value = record.get(name)
            if column.type == "time" and isinstance(value, str):
                value = datetime.fromisoformat(value)
            elif column.type == "text" and isinstance(value, str):
                value = _encodable(value)
            elif column.type == "texts" and value is not None:
                value = [_encodable(text) for text in value]
            values[name].append(value)
    return values.items()


def _encodable(text: str) -> str:
    """Return a text without halves of surrogate pairs, which no data frame can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise HarnessError(f"data frames need {name} ({error}): {install_advice('dataframes')}") from error
