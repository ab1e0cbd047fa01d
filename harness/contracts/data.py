"""What a scenario reads its rows from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.contracts.instances import Split
from harness.contracts.row import Row


class Data(ABC):
    """A scenario's data: what a scenario function gets as its first argument. It can be read more than once."""

    @abstractmethod
    def rows(self, split: Split | str) -> Iterator[Row]:
        """Yield the rows of a split as a stream; none for a split that the source does not have.

        Raises:
            DataError: The data are missing, truncated or malformed.
        """

    @abstractmethod
    def provenance(self) -> dict[str, Any]:
        """Return where the data that were read came from, as JSON values.

        ``kind`` is ``files``, ``hub``, ``sample`` or, where no data are read, ``computed``; ``sample`` says whether
        they are sample data. Files are listed with ``path``, ``sha256`` and ``bytes``; the Hub's with ``path``,
        ``config`` and ``revision``.
        """

    def unchanged(self, provenance: Mapping[str, Any]) -> bool:
        """Return whether what an earlier reading recorded is what would be read now."""
        return False

    @abstractmethod
    def has(self, relative: str) -> bool:
        """Return whether the local folder has a further file of this name, compressed or not."""

    @abstractmethod
    def path(self, relative: str) -> Path:
        """Return the path of a further local file, for example a contrast set.

        Raises:
            DataError: There is none.
        """

    @abstractmethod
    def read(self, relative: str) -> Iterator[Row]:
        """Yield the rows of a further local file.

        Raises:
            DataError: It is missing, truncated or malformed.
        """
