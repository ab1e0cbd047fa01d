"""Calls to a server about its batches: they ask the model nothing and cost nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from harness.models.api.answers import Answer, read_answer
from harness.models.api.calls import Calls
from harness.models.api.retries import Failure
from harness.models.api.spending import Cost

M = TypeVar("M", bound=Answer)


async def server_call(
    calls: Calls,
    send: Callable[[], Awaitable[Any]],
    kind: type[M],
    refused: Callable[[Failure], bool] = lambda failure: False,
) -> M:
    """Return the checked answer to a call.

    Args:
        calls: Retries it.
        send: Sends it with the provider's library.
        kind: What the answer is read as.
        refused: Failures that raise a RefusedError.

    Raises:
        RefusedError: ``refused`` returned True.
        ModelError: It failed, or the answer is not of that kind.
    """

    async def whole() -> Any:
        answer = await send()
        return getattr(answer, "http_response", answer)

    return await calls.call(whole, lambda raw: read_answer(kind, raw), Cost(), refused, asks=False, billed=False)
