"""The HTTP client for servers: follows no redirects and limits the size of answers."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness.models.api.retries import UnusableAnswerError

MAX_ANSWER_BYTES = 64 * 2**20
"""Most bytes of an answer, after decompression; a longer one is unusable."""

_PIECE = 2**20
"""Bytes that are decompressed at a time."""


@dataclass(slots=True)
class Sending:
    """Tells whether a call was sent."""

    begun: bool = False
    """True once the first byte of a request has been sent, which needs a connection."""


_SENDING: ContextVar[Sending | None] = ContextVar("sending", default=None)


def watch_sending() -> Sending:
    """Return an object that tells whether the calls that this task makes from now on are sent."""
    sending = Sending()
    _SENDING.set(sending)
    return sending


_MOST: ContextVar[int | None] = ContextVar("most", default=None)


@contextmanager
def larger_answers(size: int) -> Iterator[None]:
    """Within the block, let this task's calls have answers of up to that many bytes, which it reads in pieces."""
    token = _MOST.set(size)
    try:
        yield
    finally:
        _MOST.reset(token)


def mark_sent() -> None:
    """Count this task's call as sent from now on, for a library whose connections are its own."""
    if (sending := _SENDING.get()) is not None:
        sending.begun = True


def http_client(library: ModuleType, without: Collection[str] = ()) -> Any:
    """Return an HTTP client for the client library, made safe.

    Answers are decompressed in pieces, up to :data:`MAX_ANSWER_BYTES`. Redirects are not followed, because keys,
    headers and prompts would go to any address that the server names.

    Args:
        library: ``openai`` or ``anthropic``.
        without: Headers to remove; the libraries add some that they find in the environment.
    """
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, stream: Any, encoding: str) -> None:
            self._stream, self._encoding = stream, encoding
            self._most = _MOST.get() or MAX_ANSWER_BYTES

        async def __aiter__(self) -> Any:
            decoder, size = _decoder(self._encoding), 0
            async for chunk in self._stream:
                for piece in decoder.pieces(chunk):
                    size += len(piece)
                    if size > self._most:
                        raise UnusableAnswerError(f"longer than {self._most / 2**20:g} MiB")
                    yield piece
            decoder.finish()

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def bound(response: Any) -> None:
        response.stream = Bounded(response.stream, response.headers.pop("content-encoding", ""))

    async def prepare(request: Any) -> None:
        for header in without:
            request.headers.pop(header, None)
        request.headers["Accept-Encoding"] = "gzip"
        if (sending := _SENDING.get()) is not None:

            async def trace(event: str, info: Any) -> None:
                sending.begun = sending.begun or event.endswith("send_request_headers.started")

            request.extensions["trace"] = trace

    return library.DefaultAsyncHttpxClient(
        event_hooks={"request": [prepare], "response": [bound]}, timeout=None, follow_redirects=False
    )


class _Identity:
    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        yield chunk

    def finish(self) -> None:
        """Nothing is open."""


class _Gzip(_Identity):
    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib
        self._begun = False

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        self._begun = self._begun or bool(chunk)
        try:
            while piece := self._inflate.decompress(chunk, _PIECE):
                yield piece
                chunk = self._inflate.unconsumed_tail
        except zlib.error as error:
            raise UnusableAnswerError(f"not compressed as its headers say ({error})") from None

    def finish(self) -> None:
        if self._begun and not self._inflate.eof:  # a refusal may come without a body
            raise UnusableAnswerError("its compressed data end early")


def _decoder(encoding: str) -> _Identity:
    """Return a decoder for a Content-Encoding.

    Raises:
        UnusableAnswerError: It is an encoding that was not asked for.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return _Identity()
        case "gzip" | "x-gzip" | "deflate":
            return _Gzip()
    raise UnusableAnswerError(f"compressed as {encoding[:40]!r}; the harness reads gzip")
