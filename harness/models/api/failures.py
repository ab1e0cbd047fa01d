"""What went wrong with a call to a server: whether another try can help, and whether it is every call's trouble."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness import Redaction, shown_address

TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""Statuses after which the same call can succeed; 520 to 524 are Cloudflare's, 529 is Anthropic's overload."""

THROTTLED = frozenset({429, 503, 529})
OF_ALL = frozenset({401, 402, 403, 404})
"""No key, no money, no permission, no such model or address: no request would fare better."""

_FILTERS = frozenset({"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"})
_FILTERING = ("blocked by content filtering policy", "flagged as potentially violating our usage policy")

_SHOWN = 300
_READ = 20_000
"""Characters of a message that are read; more are cut off before secrets are looked for."""


class UnusableAnswerError(Exception):
    """The server's answer is not what the protocol says; another try may bring a good one."""


class CannotAnswerError(Exception):
    """The request is one that this server cannot answer; another try would not help."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call failed."""

    message: str
    """For people, without secrets."""
    status: int | None = None
    """The HTTP status; None without one."""
    retry: bool = False
    """Whether the same call can succeed later."""
    throttled: bool = False
    """Whether the server says that it is too much."""
    of_all: bool = False
    """Whether every other call would fail as well."""
    retry_after: float | None = None
    """Seconds that the server wants to be left alone; None where it does not say."""
    filtered: bool = False
    """Whether a content filter withheld the answer, or did not let the question through."""


def failure_of(error: Exception, library: ModuleType, redact: Redaction, seconds: float) -> Failure | None:
    """Return what an exception of a call means; None for one that is a bug.

    Args:
        error: What was raised.
        library: The client, ``openai`` or ``anthropic``: their exceptions have the same names.
        redact: Takes secrets out of messages.
        seconds: How long a call may take.
    """
    if isinstance(error, TimeoutError | library.APITimeoutError):
        return Failure(f"no answer within {seconds:g} s", retry=True)
    cause = error.__cause__ if isinstance(error, library.APIConnectionError) else None
    unusable = cause if isinstance(cause, UnusableAnswerError) else error
    if isinstance(unusable, UnusableAnswerError):
        return Failure(_shown(f"unusable answer: {unusable}", redact), retry=True)
    if isinstance(error, CannotAnswerError):
        return Failure(redact(str(error)))
    if isinstance(error, library.APIStatusError):
        return _of_status(error, redact)
    if isinstance(error, library.APIConnectionError):
        reason = cause or error
        refused = type(reason).__name__ == "ConnectError"
        message = f"{'no connection' if refused else 'the connection broke'} ({reason or type(reason).__name__})"
        return Failure(_shown(message, redact), retry=True, of_all=refused)
    if isinstance(error, library.APIError):
        return Failure(_shown(str(error), redact))
    return None


def seconds_to_wait(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return how long a server wants to be left alone, in seconds; None where it does not say so legibly.

    ``retry-after-ms`` is OpenAI's; ``Retry-After`` is seconds or a date (RFC 9110, section 10.2.3).

    Args:
        headers: The answer's.
        now: The time, in seconds since 1970; None for the present.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / unit
        except ValueError:
            try:
                seconds = email.utils.parsedate_to_datetime(value).timestamp() - (time.time() if now is None else now)
            except (ValueError, OverflowError):
                continue
        if not math.isnan(seconds):
            return max(0.0, seconds)
    return None


def _of_status(error: Any, redact: Redaction) -> Failure:
    status = int(error.status_code)
    if 300 <= status < 400:
        return _of_redirect(status, error.response, redact)
    told = _told(error)
    spent = status == 429 and "insufficient_quota" in told
    filtered = status in {400, 403} and _filtered(error)
    return Failure(
        _shown(f"status {status}: {told}", redact),
        status=status,
        retry=status in TRANSIENT and not spent,
        throttled=status in THROTTLED and not spent,
        of_all=(status in OF_ALL or spent) and not filtered,
        filtered=filtered,
        retry_after=seconds_to_wait(error.response.headers),
    )


def _filtered(error: Any) -> bool:
    """Return whether a refusal is a content filter's.

    The codes are Azure's and OpenAI's, the sentences Anthropic's and OpenAI's for reasoning models.
    """
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(inner, dict):
        return False
    nested = inner.get("innererror")
    codes = {inner.get("code"), nested.get("code") if isinstance(nested, dict) else None} - {None}
    said = str(inner.get("message") or "").lower()
    return bool(codes & _FILTERS) or any(sentence in said for sentence in _FILTERING)


def _told(error: Any) -> str:
    """Return what the server says, from whichever of the usual places."""
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict):
        said = [str(inner[key]) for key in ("code", "message", "detail") if inner.get(key)]
        return ": ".join(said) or "no reason given"
    return str(inner or body or "no reason given")


def _of_redirect(status: int, response: Any, redact: Redaction) -> Failure:
    location = response.headers.get("location")
    target = shown_address(location, str(response.request.url)) if location else "an address it does not name"
    message = f"status {status}: it redirects to {target} (not followed, because keys would be sent there)"
    return Failure(_shown(message, redact), status=status, of_all=True)


def _shown(text: str, redact: Redaction) -> str:
    line = redact(" ".join(text.split())[:_READ])
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
