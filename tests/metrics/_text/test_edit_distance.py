"""The bit-parallel distance equals the table's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics._text.edit_distance import edit_distance


def _by_table(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for i, one in enumerate(first, start=1):
        above, row[0] = row[0], i
        for j, other in enumerate(second, start=1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (one != other))
    return row[-1]


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [("kitten", "sitting", 3), ("intention", "execution", 5), ("", "abc", 3), ("abc", "", 3), ("", "", 0)],
)
def test_known_distances(first: str, second: str, distance: int) -> None:
    assert edit_distance(first, second) == distance


@given(st.text(alphabet="abc", max_size=90), st.text(alphabet="abc", max_size=90))
def test_equals_the_table(first: str, second: str) -> None:
    assert edit_distance(first, second) == _by_table(first, second)
