"""Tables on terminals of any width: numbers whole, names from their ends, nothing lost."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote, show

COLUMNS = (
    TableColumn(("model",), name=True),
    TableColumn(("scenario",), under="model"),
    TableColumn(("difference",), numeric=True),
    TableColumn(("p",), numeric=True),
    TableColumn(("Holm",), numeric=True, under="p"),
)
NAMES = ("hf:/data/checkpoints/run-3/step-100", "short")


def table(columns: tuple[TableColumn, ...] = COLUMNS, rows: list[list[TableCell]] | None = None) -> ResultTable:
    made = [
        [
            TableCell(name),
            TableCell("MMLU · high school macroeconomics"),
            TableCell("+0.123", "[+0.012, +0.234]"),
            TableCell("<0.001"),
            TableCell("0.012"),
        ]
        for name in NAMES
    ]
    return ResultTable(columns, rows or made, [TableNote("A note.")], "caption", [], [], None, [("first", "x")])


def printed(result: ResultTable, width: int, *, flat: bool = False) -> list[str]:
    file = io.StringIO()
    show(result, Console(file=file, width=width), flat=flat)
    return file.getvalue().splitlines()


def test_a_wide_table_has_one_line_a_row() -> None:
    lines = printed(table(), 200)
    assert lines[0] == "first: x"
    assert [line.split("  ")[0] for line in lines[3:5]] == [NAMES[0], "short"]
    assert lines[3].endswith("<0.001  0.012")
    assert lines[-1] == "A note."


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_number_is_cut_and_no_line_too_long(width: int) -> None:
    lines = printed(table(), width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for number in ("+0.123", "[+0.012, +0.234]", "<0.001", "0.012"):
        assert text.count(number) >= 2, number
    assert text.count("macroeconomics") == 2


def test_a_long_name_loses_its_beginning_at_a_slash() -> None:
    lines = printed(table(), 45)
    assert any(line.startswith("…/run-3/step-100") for line in lines)
    assert any(line.startswith("short") for line in lines)


def test_a_name_without_slashes_loses_its_beginning_too() -> None:
    rows = [[TableCell("a" * 60 + "the-end"), *table().rows[0][1:]]]
    assert any(re.match("…a+the-end", line) for line in printed(table(rows=rows), 50))


def test_columns_are_stacked_one_after_another() -> None:
    assert len(printed(table(), 120)) < len(printed(table(), 80)) <= len(printed(table(), 44))


def test_flat_is_one_line_a_row_whatever_the_width() -> None:
    lines = printed(table(), 20, flat=True)
    assert len([line for line in lines if "+0.123 [+0.012, +0.234]" in line]) == 2
    assert lines[1].split() == ["model", "scenario", "difference", "p", "Holm"]


def test_movable_columns_go_to_further_tables_with_the_name() -> None:
    columns = (
        TableColumn(("model",), repeated=True, name=True),
        *(TableColumn((f"column {n}", "Exact match ↑"), numeric=True, movable=True) for n in range(6)),
    )
    row = [TableCell("a/model"), *(TableCell(f"0.{n}00", "[0.000, 1.000]", detail="n=10") for n in range(6))]
    lines = printed(table(columns, [row]), 60)
    assert max(map(len, lines)) <= 60
    assert sum(line.startswith("a/model") for line in lines) == 3
    assert all(any(f"0.{n}00 [0.000, 1.000]" in line for line in lines) for n in range(6))


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_42_columns_by_30_models_lose_nothing(width: int) -> None:
    columns = (
        TableColumn(("rank",), numeric=True),
        TableColumn(("model",), repeated=True, name=True, limit=36),
        *(TableColumn((f"S{n:02}", "Exact match ↑"), numeric=True, movable=True) for n in range(42)),
    )
    rows = [
        [
            TableCell("1–30"),
            TableCell(f"/mnt/models/family-{m:02}/instruct-{m:02}"),
            *(TableCell(f"{m}.{n:03}", f"[0.{n:03}, 1.000]") for n in range(42)),
        ]
        for m in range(30)
    ]
    lines = printed(table(columns, rows), width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert all(f" {m}.{n:03} [0.{n:03}, 1.000]" in text for m in range(30) for n in range(42))
    assert all(f"S{n:02}" in text for n in range(42))
    assert all(f"instruct-{m:02}" in text for m in range(30))


def test_wide_letters_keep_columns_aligned() -> None:
    rows = [[TableCell("模型"), *table().rows[0][1:]], [TableCell("model"), *table().rows[0][1:]]]
    from rich.cells import cell_len

    first, second = (line for line in printed(table(rows=rows), 160) if "+0.123" in line)
    assert cell_len(first) == cell_len(second)
