"""The words that a test of the published order allows."""

from __future__ import annotations

from harness.contamination.statistics.verdict import Verdict, verdict


def test_the_words() -> None:
    assert verdict(-2.0, 0.01) == "depends on the published order"
    assert verdict(-1.9, 0.01) == "no dependence found"
    assert not any("clean" in word for word in Verdict)
