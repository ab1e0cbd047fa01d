"""What a failed call tells about the resource it asked for."""

from __future__ import annotations

from harness.models.api.retries import Failure


def is_missing(failure: Failure) -> bool:
    """Return whether the server does not know what it was asked for."""
    return failure.status in {404, 410}


def is_unknown(failure: Failure) -> bool:
    """Return whether a failure leaves open if the server did what it was asked."""
    if failure.status is None:
        return not failure.fatal  # without a connection nothing was asked
    return failure.status >= 500 or failure.status in {408, 409}
