"""Anthropic's batch interface: requests are sent in one call, and results come as one stream of lines.

Source: Anthropic's API reference, https://docs.anthropic.com/en/api/creating-message-batches, and its guide to batch
processing (100,000 requests and 256 MB a batch; a batch expires after 24 hours, its results after 29 days).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from harness.models.api.answers import Answer, Checked, Count
from harness.models.api.batches.downloads import downloaded_lines
from harness.models.api.batches.interface import Line, Look
from harness.models.api.batches.ledger import Batch
from harness.models.api.batches.missing import is_missing, is_unknown, submitted
from harness.models.api.batches.openai_batches import ServerId
from harness.models.api.batches.server_calls import server_call
from harness.models.api.calls import Calls, RefusedError, RequestFailedError

_STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP status that a direct call would have had, by the type of the error."""
_CLOCKS_DIFFER = 3600.0
"""Seconds by which the server's clock may differ from this machine's."""
_PAGES = 100
"""Most pages of the list of batches that are searched."""


class _Counts(Checked):
    processing: Count = 0
    succeeded: Count = 0
    errored: Count = 0
    canceled: Count = 0
    expired: Count = 0

    @property
    def done(self) -> int:
        return self.succeeded + self.errored + self.canceled + self.expired


class _Batch(Answer):
    id: ServerId
    processing_status: str
    created_at: str = ""
    request_counts: _Counts

    @property
    def look(self) -> Look:
        ended = self.processing_status == "ended"
        return Look(self.processing_status, self.request_counts.done, ended, (self.id,) if ended else ())

    @property
    def made(self) -> float:
        """When the server created it, in seconds since 1970."""
        try:
            return datetime.fromisoformat(self.created_at).timestamp()
        except ValueError:
            return 0.0


class _Page(Answer):
    data: list[_Batch]
    has_more: bool = False
    last_id: ServerId | None = None


class _Outcome(Checked):
    type: str
    message: Any = None
    error: Any = None


class _Line(Checked):
    custom_id: str
    result: _Outcome


class AnthropicBatches:
    """The batches of one model on a server.

    Args:
        client: ``anthropic.AsyncAnthropic``.
        calls: Makes the calls.
        seconds: Seconds that a download may stand still.
    """

    most_requests = 100_000
    most_bytes = 256_000_000

    def __init__(self, client: Any, calls: Calls, seconds: float) -> None:
        self._client, self._calls, self._seconds = client, calls, seconds

    def endpoint(self, path: str) -> str:
        return path

    def line(self, item: str, path: str, body: Mapping[str, Any]) -> bytes:
        asked = {"custom_id": item, "params": body}
        return json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode() + b","

    async def prepare(self, batch: Batch, lines: Sequence[bytes]) -> None:
        """Do nothing: this interface needs no upload."""

    async def create(self, batch: Batch, lines: Sequence[bytes]) -> str:
        import httpx2

        whole = b'{"requests":[' + b"".join(lines)[:-1] + b"]}"
        options = {"headers": {"Content-Type": "application/json"}}

        def post() -> Any:
            return self._client.post("/v1/messages/batches", cast_to=httpx2.Response, content=whole, options=options)

        found = await submitted(lambda refused: server_call(self._calls, post, _Batch, refused), is_unknown)
        return found.id

    async def find(self, batch: Batch, items: Callable[[], frozenset[str]]) -> str | None:
        """Look for a batch of that size and time; the results, available when it ends, show whether it is ours.

        Raises:
            RequestFailedError: A batch that may be ours has not ended.
        """
        listed = self._client.messages.batches.with_raw_response.list
        after: dict[str, str] = {}
        for _ in range(_PAGES):
            page = await server_call(self._calls, lambda after=after: listed(limit=100, **after), _Page)  # type: ignore[misc]
            for one in page.data:
                counts = one.request_counts
                alike = counts.done + counts.processing == batch.requests
                if alike and abs(one.made - batch.made) < _CLOCKS_DIFFER and await self._holds(one, items):
                    return one.id
            if not page.has_more or page.last_id is None or page.data[-1].made < batch.made - _CLOCKS_DIFFER:
                return None
            after = {"after_id": page.last_id}
        return None

    async def _holds(self, found: _Batch, items: Callable[[], frozenset[str]]) -> bool:
        """Return whether a batch holds requests of the harness.

        Raises:
            RequestFailedError: It has not ended, so its requests are unknown.
        """
        if not found.look.ended:
            raise RequestFailedError(
                f"batch {found.id} may be the one that the harness submitted before it was interrupted; this can only "
                "be checked when the batch has ended"
            )
        wanted = items()
        async for line in self.results(found.look):
            if line.item is not None:  # one that cannot be read says nothing
                return line.item in wanted
        return False

    async def look(self, id: str) -> Look | None:
        retrieve = self._client.messages.batches.with_raw_response.retrieve
        try:
            found = await server_call(self._calls, lambda: retrieve(id), _Batch, is_missing)
        except RefusedError:
            return None
        return found.look

    async def results(self, look: Look) -> AsyncIterator[Line]:
        # The address is made here: the one that the server names could be anywhere, and the key would be sent there.
        for id in look.files:
            path = f"/v1/messages/batches/{id}/results"
            try:
                async for line in downloaded_lines(self._calls, self._client, path, self._seconds):
                    yield _read(line)
            except RefusedError:  # the server has deleted them
                continue

    async def cancel(self, id: str) -> None:
        cancelled = self._client.messages.batches.with_raw_response.cancel
        await server_call(self._calls, lambda: cancelled(id), _Batch)


def _read(line: bytes) -> Line:
    try:
        read = _Line.model_validate_json(line)
    except ValidationError:
        return Line(None)
    outcome = read.result
    if outcome.type == "succeeded":
        return Line(read.custom_id, 200, json.dumps(outcome.message).encode())
    if outcome.type != "errored":  # expired, canceled
        return Line(read.custom_id)
    inner = outcome.error.get("error", outcome.error) if isinstance(outcome.error, Mapping) else {}
    kind = inner.get("type") if isinstance(inner, Mapping) else None
    return Line(read.custom_id, _STATUSES.get(str(kind), 500), json.dumps(outcome.error).encode())
