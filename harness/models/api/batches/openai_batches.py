"""OpenAI's batch interface: a file of requests is uploaded, and results come in two files.

Source: OpenAI's API reference, https://platform.openai.com/docs/api-reference/batch, and its guide to batches
(50,000 requests and 200 MB a batch, a window of 24 hours).
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from harness.models.api.answers import Answer, Checked, Count
from harness.models.api.batches.downloads import downloaded_lines
from harness.models.api.batches.interface import Line, Look
from harness.models.api.batches.ledger import Batch
from harness.models.api.batches.missing import is_missing, is_unknown, submitted
from harness.models.api.batches.server_calls import server_call
from harness.models.api.calls import Calls, RefusedError

ServerId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,200}$")]
"""An id that a server gives; it becomes a part of addresses."""

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_CROWDED = "token_limit_exceeded"
"""Error code for too many tokens in batches that have not ended."""
_CROWDED_MESSAGE = re.compile(r"Enqueued \w+ limit reached")
"""Beginning of the error message for too many tokens or requests in batches that have not ended."""
_CLOCKS_DIFFER = 3600.0
"""Seconds by which a server's clock may differ from this machine's."""
_PAGES = 100
"""Most pages of the list of batches that are searched."""


class _File(Answer):
    id: ServerId


class _Counts(Checked):
    total: Count = 0
    completed: Count = 0
    failed: Count = 0


class _Problem(Checked):
    code: str | None = None
    message: str | None = None
    line: int | None = None


class _Problems(Checked):
    data: list[_Problem] | None = None


class _Batch(Answer):
    id: ServerId
    status: str
    created_at: float = 0
    input_file_id: str | None = None
    output_file_id: ServerId | None = None
    error_file_id: ServerId | None = None
    request_counts: _Counts | None = None
    metadata: dict[str, Any] | None = None
    errors: _Problems | None = None

    @property
    def look(self) -> Look:
        counts = self.request_counts or _Counts()
        given = (self.errors.data if self.errors is not None else None) or []
        said = "; ".join(dict.fromkeys(": ".join(filter(None, (one.code, one.message))) for one in given[:3]))
        lines = {one.line - 1: f"{one.code}: {one.message}" for one in given if one.line is not None}
        return Look(
            self.status,
            counts.completed + counts.failed,
            self.status in _ENDED,
            tuple(filter(None, (self.output_file_id, self.error_file_id))),
            (said or "no reason given") if self.status == "failed" else "",
            lines or None,
            any(one.code == _CROWDED or _CROWDED_MESSAGE.match(one.message or "") for one in given),
            self.status == "validating",
        )


class _Page(Answer):
    data: list[_Batch]
    has_more: bool = False


class _Response(Checked):
    status_code: int
    body: Any = None


class _Line(Checked):
    custom_id: str
    response: _Response | None = None
    error: Any = None


class OpenAIBatches:
    """The batches of one model on a server.

    Args:
        client: ``openai.AsyncOpenAI``.
        calls: Makes the calls.
        base_url: The server's address.
        seconds: Seconds that a download may stand still.
    """

    most_requests = 50_000
    most_bytes = 200_000_000

    def __init__(self, client: Any, calls: Calls, base_url: str, seconds: float) -> None:
        self._client, self._calls, self._seconds = client, calls, seconds
        self._prefix = urlsplit(base_url).path.rstrip("/")

    def endpoint(self, path: str) -> str:
        return f"{self._prefix}{path}"

    def line(self, item: str, path: str, body: Mapping[str, Any]) -> bytes:
        asked = {"custom_id": item, "method": "POST", "url": self.endpoint(path), "body": body}
        return json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    async def prepare(self, batch: Batch, lines: Sequence[bytes]) -> None:
        if batch.file is not None:
            return
        named = (f"harness-{batch.tag}.jsonl", b"".join(lines), "application/jsonl")
        upload = self._client.files.with_raw_response.create
        # Repeated freely: a file that nothing refers to costs nothing, and the server deletes it after a month.
        found = await submitted(
            lambda refused: server_call(self._calls, lambda: upload(file=named, purpose="batch"), _File, refused)
        )
        batch.file = found.id

    async def create(self, batch: Batch, lines: Sequence[bytes]) -> str:
        make = self._client.batches.with_raw_response.create
        about = {"harness_batch": batch.tag}
        asked = {"input_file_id": batch.file, "endpoint": batch.path, "completion_window": "24h", "metadata": about}
        found = await submitted(
            lambda refused: server_call(self._calls, lambda: make(**asked), _Batch, refused), is_unknown
        )
        return found.id

    async def find(self, batch: Batch, items: Callable[[], frozenset[str]]) -> str | None:
        listed = self._client.batches.with_raw_response.list
        after: dict[str, str] = {}
        for _ in range(_PAGES):
            page = await server_call(self._calls, lambda after=after: listed(limit=100, **after), _Page)  # type: ignore[misc]
            for one in page.data:
                mine = one.metadata is not None and one.metadata.get("harness_batch") == batch.tag
                if mine or (batch.file is not None and one.input_file_id == batch.file):
                    return one.id
            if not page.has_more or not page.data or page.data[-1].created_at < batch.made - _CLOCKS_DIFFER:
                return None
            after = {"after": page.data[-1].id}
        return None

    async def look(self, id: str) -> Look | None:
        retrieve = self._client.batches.with_raw_response.retrieve
        try:
            return (await server_call(self._calls, lambda: retrieve(id), _Batch, is_missing)).look
        except RefusedError:
            return None

    async def results(self, look: Look) -> AsyncIterator[Line]:
        for file in look.files:
            try:
                async for line in downloaded_lines(self._calls, self._client, f"/files/{file}/content", self._seconds):
                    yield _read(line)
            except RefusedError:  # the server has deleted the file; what was in it is missing
                continue

    async def cancel(self, id: str) -> None:
        cancelled = self._client.batches.with_raw_response.cancel
        await server_call(self._calls, lambda: cancelled(id), _Batch)


def _read(line: bytes) -> Line:
    try:
        read = _Line.model_validate_json(line)
    except ValidationError:
        return Line(None)
    if read.response is None:
        return Line(read.custom_id)
    return Line(read.custom_id, read.response.status_code, json.dumps(read.response.body).encode())
