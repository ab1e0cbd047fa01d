"""JSON for files of other programs."""

from __future__ import annotations

import json
from typing import Any

from harness.exports.report import CannotHoldError


def json_text(value: Any, **layout: Any) -> str:
    """Return a value as JSON text.

    Args:
        value: The value.
        layout: Arguments of :func:`json.dumps`.

    Raises:
        CannotHoldError: It has an infinite or undefined number, such as a log-probability of minus infinity.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, **layout)
    except ValueError:
        raise CannotHoldError("it has an infinite or undefined number, which JSON cannot hold.") from None
