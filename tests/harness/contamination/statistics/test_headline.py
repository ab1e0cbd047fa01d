"""One p-value and a few words."""

from __future__ import annotations

import math

import pytest

from harness import Verdict, headline, verdict


def test_bonferroni() -> None:
    assert headline([-3.0, -1.0]) == pytest.approx(math.log10(2e-3))
    assert headline([-0.1, -0.2]) == 0.0
    assert headline([-400.0]) == -400.0
    assert headline([-400.0, 0.0, 0.0]) == pytest.approx(-400 + math.log10(3))


@pytest.mark.parametrize("values", [[], [0.1], [math.nan]])
def test_what_is_no_p_value(values: list[float]) -> None:
    with pytest.raises(ValueError, match="p-value"):
        headline(values)


def test_the_words() -> None:
    assert verdict(-2.0, 0.01, True) == "dependence on the published order detected"
    assert verdict(-1.9, 0.01, True) == "not detected"
    for log10_p in (-300.0, 0.0):
        assert verdict(log10_p, 0.01, False) == "inconclusive: the order is not exchangeable"
    assert not any("clean" in word for word in Verdict)
