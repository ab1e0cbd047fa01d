"""Which tests are re-tests: they read the same order as another, so only one of them counts in corrections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

from harness.storage.results import RunRecord


class PublishedOrderTest(Protocol):
    """A test of rows or of options in their published order."""

    @property
    def record(self) -> RunRecord:
        """The run."""
        ...

    def shares_order(self, other: Self) -> bool:
        """Return True if both tests read the same order."""
        ...


_Test = TypeVar("_Test", bound=PublishedOrderTest)


def representatives(tests: Sequence[_Test]) -> dict[_Test, _Test]:
    """Return, for each test of one model, the test that counts for its order.

    P-values play no part: a test counts unless it shares an order with one that was started earlier and counts.
    Two files of a benchmark both count, although each shares its rows with a later file of the whole benchmark.

    Args:
        tests: The tests whose order can be tested, which is known before any model is asked. Targets and controls
            are compared separately.
    """
    found: dict[_Test, _Test] = {}
    counting: list[_Test] = []
    for test in sorted(tests, key=lambda test: (test.record.started or "", test.record.name)):
        found[test] = next((other for other in counting if test.shares_order(other)), test)
        if found[test] is test:
            counting.append(test)
    return found
