"""The words that a test of the published order allows."""

from __future__ import annotations

from harness.contamination.statistics.verdict import Verdict, verdict


def test_the_words() -> None:
    assert verdict(-2.0, 0.01, True) == "depends on the published order"
    assert verdict(-1.9, 0.01, True) == "no dependence found"
    for log10_p in (-300.0, 0.0):
        assert verdict(log10_p, 0.01, False) == "inconclusive: the order is not exchangeable"
    assert not any("clean" in word for word in Verdict)
