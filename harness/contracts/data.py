"""The source of a scenario's rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.contracts.instances import Split
from harness.contracts.row import Row


class Data(ABC):
    """A scenario's data: the first argument of a scenario function. It can be read more than once.

    A scenario iterates over the rows of each split, and may read further files by name::

        def quiz(data: Data) -> Iterator[Instance]:
            hints = {row["id"]: row["hint"] for row in data.read("quiz/hints.jsonl")}
            for row in data.rows("test"):
                yield Instance(row["id"], row["question"], meta={"hint": hints[row["id"]]})
    """

    @abstractmethod
    def rows(self, split: Split | str) -> Iterator[Row]:
        """Yield the rows of a split as a stream; nothing for a split that the source does not have.

        Raises:
            DataError: The data are missing, truncated or malformed.
        """

    @property
    def identity(self) -> str:
        """A text that is equal for data with equal rows; empty if that is not known."""
        return ""

    def lacking(self, split: Split | str) -> str:
        """Return a message if a split's files are missing although other splits' exist; otherwise ''."""
        return ""

    @abstractmethod
    def provenance(self) -> dict[str, Any]:
        """Return the origin of the data that were read, as JSON values.

        ``kind`` is ``files``, ``hub``, ``sample`` or, where no data are read, ``computed``; ``sample`` says whether
        they are sample data. Files are listed with ``path``, ``sha256`` and ``bytes``; the Hub's with ``path``,
        ``config`` and ``revision``.
        """

    def unchanged(self, provenance: Mapping[str, Any]) -> bool:
        """Return True if reading again would give the data whose provenance an earlier reading recorded."""
        return False

    @abstractmethod
    def has(self, relative: str) -> bool:
        """Return True if the local folder has another file of this name, compressed or not."""

    @abstractmethod
    def path(self, relative: str) -> Path:
        """Return the path of another local file, for example a contrast set.

        Raises:
            DataError: There is no such file.
        """

    @abstractmethod
    def read(self, relative: str) -> Iterator[Row]:
        """Yield the rows of another local file.

        Raises:
            DataError: It is missing, truncated or malformed.
        """
