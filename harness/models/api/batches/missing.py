"""What a failed call says about the resource that it asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from harness import ModelError
from harness.models.api.calls import RefusedError
from harness.models.api.retries import Failure

T = TypeVar("T")

Refused = Callable[[Failure], bool]


def is_missing(failure: Failure) -> bool:
    """Return whether the server does not know what it was asked for."""
    return failure.status in {404, 410}


def is_unknown(failure: Failure) -> bool:
    """Return whether a failure leaves open if the server did what it was asked."""
    if failure.status is None:
        return not failure.fatal  # without a connection nothing was asked
    return failure.status >= 500 or failure.status in {408, 409}


async def submitted(call: Callable[[Refused], Awaitable[T]], refused: Refused = lambda failure: False) -> T:
    """Return the answer to a call that submits a batch or its file.

    Args:
        call: Makes the call, given a function that returns True for failures that should raise a RefusedError.
        refused: Returns True for further failures that should.

    Raises:
        RefusedError: ``refused`` returned True.
        ModelError: The server does not seem to support batches.
    """
    unsupported = False

    def check(failure: Failure) -> bool:
        nonlocal unsupported
        unsupported = failure.status in {404, 405, 501}
        return unsupported or refused(failure)

    try:
        return await call(check)
    except RefusedError as error:
        if unsupported:
            raise ModelError(f"{error}. The server does not seem to support batches: remove `batch: true`.") from error
        raise
