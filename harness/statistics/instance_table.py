"""Numbers by instance and name, stored as columns of machine floats."""

from __future__ import annotations

from array import array
from collections.abc import Iterator


class InstanceTable:
    """Sums what is measured of each instance, under any number of names.

    An instance that is measured several times, once for each train trial, is one cluster: its sum and its number of
    measurements are kept. A hundred thousand instances take about 12 MB for their ids and 1.2 MB for each name.
    """

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._sums: dict[str, array[float]] = {}
        self._counts: dict[str, array[int]] = {}

    def __contains__(self, name: str) -> bool:
        """Return True if anything was added under the name."""
        return name in self._sums

    def row(self, instance: str) -> int:
        """Return the row of an instance; a new one if the instance is new."""
        return self._rows.setdefault(instance, len(self._rows))

    def instances(self) -> list[str]:
        """Return the ids of all instances, in order of their rows."""
        return list(self._rows)

    def add(self, row: int, name: str, value: float) -> None:
        """Add a number to a row (see :meth:`row`) under a name."""
        if name not in self._sums:
            self._sums[name], self._counts[name] = array("d"), array("I")
        sums, counts = self._sums[name], self._counts[name]
        gap = row + 1 - len(sums)
        if gap > 0:
            sums.frombytes(bytes(gap * sums.itemsize))
            counts.frombytes(bytes(gap * counts.itemsize))
        sums[row] += value
        counts[row] += 1

    def sums(self, name: str) -> list[float]:
        """Return the sums over trials of the instances that have a number under the name, in order of their rows."""
        return [total for total, count in self._measured(name) if count]

    def means(self, name: str) -> list[float]:
        """Return the means over trials of the instances that have a number under the name, in order of their rows."""
        return [total / count for total, count in self._measured(name) if count]

    def by_instance(self, name: str) -> dict[str, float]:
        """Return the means over trials by instance, of the instances that have a number under the name."""
        found = zip(self._rows, self._measured(name), strict=False)
        return {instance: total / count for instance, (total, count) in found if count}

    def _measured(self, name: str) -> Iterator[tuple[float, int]]:
        return zip(self._sums.get(name, ()), self._counts.get(name, ()), strict=True)
