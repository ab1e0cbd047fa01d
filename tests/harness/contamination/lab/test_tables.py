"""What a narrow terminal shows of the lab's tables."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness.contamination.lab.power import Trial, power_curve
from harness.contamination.lab.tables import power_table


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_copies_of_each_row_are_always_shown(width: int) -> None:
    found = [Trial(copies, i < copies // 20, -3.0) for copies in (0, 10, 1000) for i in range(6)]
    stream = io.StringIO()
    Console(file=stream, width=width).print(power_table(power_curve(found, 0.01)))
    if width > 80:
        assert "0.01 (the level)" in stream.getvalue()  # it is set, not fitted
    rows = [line.split() for line in stream.getvalue().splitlines()]
    assert [row[0] for row in rows if row and row[0].isdigit()] == ["0", "10", "1000"]
    assert max(map(len, stream.getvalue().splitlines())) <= width
