"""Results of a batch, downloaded line by line: a file may be larger than memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from harness.models.api.batches.missing import is_missing
from harness.models.api.calls import Calls
from harness.models.api.http_client import MAX_ANSWER_BYTES, larger_answers
from harness.models.api.retries import UnusableAnswerError
from harness.models.api.spending import Cost

_MOST_BYTES = 64 * 2**30
"""Most bytes of a file of results; no batch gives as many."""


async def downloaded_lines(calls: Calls, client: Any, path: str, seconds: float) -> AsyncIterator[bytes]:
    """Yield the lines of a file on the server that are not empty.

    Args:
        calls: Makes the call.
        client: The library's client.
        path: Where the file is.
        seconds: Seconds to wait for the next piece.

    Raises:
        RefusedError: The server does not have the file.
        RequestFailedError: The server did not give it.
        UnusableAnswerError: The download broke off, or a line is too long.
    """
    import httpx2

    with larger_answers(_MOST_BYTES):
        response = await calls.call(
            # The header has the library hand over the response before its body is read.
            lambda: client.get(
                path,
                cast_to=httpx2.Response,
                options={"headers": {"X-Stainless-Raw-Response": "stream", "Accept": "application/binary"}},
            ),
            lambda raw: raw,
            Cost(),
            is_missing,
            asks=False,
            billed=False,
        )
    try:
        pieces, rest = aiter(response.aiter_bytes()), b""
        while True:
            try:
                async with asyncio.timeout(seconds):
                    piece = await anext(pieces)
            except StopAsyncIteration:
                break
            except (TimeoutError, httpx2.HTTPError) as error:
                raise UnusableAnswerError(f"the download of {path} was interrupted ({type(error).__name__})") from error
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if line.strip():
                    yield line
            if len(rest) > MAX_ANSWER_BYTES:
                raise UnusableAnswerError(f"a line of {path} is longer than {MAX_ANSWER_BYTES / 2**20:g} MiB")
        if rest.strip():
            yield rest
    finally:
        await response.aclose()
