"""What the batch interfaces of different providers have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.models.api.batches.ledger import Batch


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a batch's results."""

    item: str | None
    """The request's id; None for a line that cannot be read."""
    status: int | None = None
    """HTTP status of its result; None if the request was not run: it expired or was cancelled."""
    body: bytes = b""
    """The JSON text that a direct call would have returned."""


@dataclass(frozen=True, slots=True)
class Look:
    """The state of a batch, as the server reports it."""

    status: str
    """The server's own word."""
    done: int
    """Requests that are finished, failed ones included."""
    ended: bool
    """True if no more results will come."""
    files: tuple[str, ...] = ()
    """Where its results are: ids of files, or an address."""
    problem: str = ""
    """Why the server did not run it at all; empty if it did."""
    problems: Mapping[int, str] | None = None
    """Errors of single requests in a batch that was not run, by line number from 0."""
    crowded: bool = False
    """True if it was not run because the server's queue was full."""
    validating: bool = False
    """True if the server has not yet decided whether to run the batch."""


class BatchInterface(Protocol):
    """A provider's batch interface.

    All methods raise RequestFailedError or ModelError if the server does not answer as it should.
    """

    most_requests: int
    """Most requests of a batch."""
    most_bytes: int
    """Most bytes of a batch."""

    def line(self, item: str, path: str, body: Mapping[str, Any]) -> bytes:
        """Return a request as it is submitted."""

    def endpoint(self, path: str) -> str:
        """Return the endpoint of a batch of requests to a path; a batch has one."""

    async def prepare(self, batch: Batch, lines: Sequence[bytes]) -> None:
        """Do what is needed before a batch is created, such as uploading a file."""

    async def create(self, batch: Batch, lines: Sequence[bytes]) -> str:
        """Create the batch; return its id.

        Raises:
            RefusedError: It is not known whether the server has created it.
            ThrottledError: The server has no room for it.
        """

    async def find(self, batch: Batch, items: Callable[[], frozenset[str]]) -> str | None:
        """Return the id of a batch that may have been created; None if the server does not have it.

        Args:
            batch: The batch.
            items: Returns the ids of its requests.
        """

    async def look(self, id: str) -> Look | None:
        """Return the progress of a batch; None if the server does not know it."""

    def results(self, look: Look) -> AsyncIterator[Line]:
        """Yield the lines of its results as they are downloaded.

        Raises:
            UnusableAnswerError: The download broke off.
        """

    async def cancel(self, id: str) -> None:
        """Have the server cancel a batch; requests that it has finished are kept and cost money."""
