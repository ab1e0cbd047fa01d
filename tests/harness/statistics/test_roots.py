"""Roots of functions of one variable."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics.roots import find_root


@given(st.floats(-50.0, 50.0), st.sampled_from([1.0, 0.01, 25.0]), st.booleans())
def test_finds_the_root_of_a_monotone_function(root: float, slope: float, falling: bool) -> None:
    def function(x: float) -> float:
        value = math.atan(slope * (x - root)) + 1e-3 * (x - root) ** 3
        return -value if falling else value

    assert find_root(function, -60.0, 60.0) == pytest.approx(root, abs=1e-8)


def test_takes_about_ten_steps_where_the_function_is_smooth() -> None:
    tried = []

    def function(x: float) -> float:
        tried.append(x)
        return math.exp(x) - 5.0

    assert find_root(function, -10.0, 10.0) == pytest.approx(math.log(5.0), abs=1e-10)
    assert len(tried) < 20


def test_without_a_change_of_sign_the_better_end_is_returned() -> None:
    assert find_root(lambda x: x + 3.0, 0.0, 4.0) == 0.0
    assert find_root(lambda x: x - 9.0, 0.0, 4.0) == 4.0
