"""Which failed calls are repeated, and after how long.

A call is repeated after the statuses in :data:`TRANSIENT` (429 among them), a timeout, a broken connection or an answer
that cannot be used. The wait is the server's Retry-After plus a delay that doubles with each attempt.

The loop is our own rather than stamina's or tenacity's: whether and how long to wait depends on the failure, on the
server's earlier answers and on whether other calls have found it down, so a library would call back into all of this
code and replace only a ``for``. stamina also takes its jitter from the global generator, while runs here are seeded.
"""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from types import ModuleType
from typing import Any

from harness.backends import Redaction, shown_address

TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""Statuses after which the same call can succeed; 520 to 524 are Cloudflare's, 529 is Anthropic's overload."""
THROTTLED = frozenset({429, 503, 529})
"""Statuses by which a server says that it is sent too much; fewer calls are then made at once."""
FATAL = frozenset({401, 402, 403, 404})
"""No key, no money, no permission, no such model or address: every other request would fail as well."""

LONGEST_DELAY = 60.0
"""Most seconds between two attempts, unless the server names more."""
LONGEST_RETRY_AFTER = 600.0
"""A server that asks for a longer pause is not waited for."""
CONNECT_RETRIES = 3
"""Retries for a server that has never answered and does not accept connections."""

_FILTERS = frozenset({"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"})
_FILTERING = ("blocked by content filtering policy", "flagged as potentially violating our usage policy")
_SHOWN = 300
_READ = 20_000
"""Characters of a message that are read; more are cut off before secrets are looked for."""


class UnusableAnswerError(Exception):
    """The server's answer does not follow the protocol; a retry may bring a good one."""


class CannotAnswerError(Exception):
    """This server cannot answer the request; a retry would not help."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call failed."""

    message: str
    """For people, without secrets."""
    status: int | None = None
    """The HTTP status; None without one."""
    retry: bool = False
    """True if the same call can succeed later."""
    throttled: bool = False
    """True if the server says that it is sent too much."""
    fatal: bool = False
    """True if every other call would fail as well."""
    retry_after: float | None = None
    """Seconds that the server asks to be left alone; None if it does not say."""
    filtered: bool = False
    """True if a content filter withheld the answer or blocked the prompt."""
    unusable: bool = False
    """True if there was an answer that does not follow the protocol."""

    @property
    def too_long(self) -> bool:
        """True if the server asks for a longer pause than it is given."""
        return (self.retry_after or 0.0) > LONGEST_RETRY_AFTER


def retry_delay(failure: Failure, attempt: int, *, first: float, retries: int, rng: Random) -> float | None:
    """Return the seconds to wait before the next attempt; None if there is none.

    Args:
        failure: How this attempt failed.
        attempt: Its number, from 0.
        first: Seconds before the first retry; each further one waits twice as long, up to :data:`LONGEST_DELAY`.
        retries: Most retries.
        rng: Takes up to half of the delay away, so that calls that failed together are not repeated together.
    """
    if not failure.retry or failure.too_long or attempt >= retries:
        return None
    return (failure.retry_after or 0.0) + min(LONGEST_DELAY, first * 2.0**attempt) * rng.uniform(0.5, 1.0)


def failure_of(error: Exception, library: ModuleType, redact: Redaction, seconds: float) -> Failure | None:
    """Return what an exception from a call means; None if it is a bug."""
    if isinstance(error, TimeoutError | library.APITimeoutError):
        return Failure(f"no answer within {seconds:g} s", retry=True)
    cause = error.__cause__ if isinstance(error, library.APIConnectionError) else None
    unusable = cause if isinstance(cause, UnusableAnswerError) else error
    if isinstance(unusable, UnusableAnswerError):
        return Failure(_shown(f"unusable answer: {unusable}", redact), retry=True, unusable=True)
    if isinstance(error, CannotAnswerError):
        return Failure(redact(str(error)))
    if isinstance(error, library.APIStatusError):
        return _status_failure(error, redact)
    if isinstance(error, library.APIConnectionError):
        reason = cause or error
        refused = type(reason).__name__ == "ConnectError"
        message = f"{'no connection' if refused else 'the connection broke'} ({reason or type(reason).__name__})"
        return Failure(_shown(message, redact), retry=True, fatal=refused)
    if isinstance(error, library.APIError):
        return Failure(_shown(str(error), redact))
    return None


def seconds_to_wait(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds that a server asks to be left alone; None if it does not say so in a known form.

    ``retry-after-ms`` is OpenAI's; ``Retry-After`` is seconds or a date (RFC 9110, section 10.2.3).

    Args:
        headers: The headers of the answer.
        now: The time, in seconds since 1970. Default: the present.
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


def failure_of_status(status: int, body: Any, headers: Mapping[str, str], redact: Redaction) -> Failure:
    """Return what an answer with another status than 200 means.

    Args:
        status: The HTTP status.
        body: The answer's JSON value, or its text.
        headers: Its headers.
        redact: Hides secrets.
    """
    reason = _reason(body)
    spent = status == 429 and "insufficient_quota" in reason
    filtered = status in {400, 403} and _is_filtered(body)
    return Failure(
        _shown(f"status {status}: {reason}", redact),
        status=status,
        retry=status in TRANSIENT and not spent,
        throttled=status in THROTTLED and not spent,
        fatal=(status in FATAL or spent) and not filtered,
        filtered=filtered,
        retry_after=seconds_to_wait(headers),
    )


def _status_failure(error: Any, redact: Redaction) -> Failure:
    status = int(error.status_code)
    if 300 <= status < 400:
        return _redirect_failure(status, error.response, redact)
    return failure_of_status(status, error.body, error.response.headers, redact)


def _is_filtered(body: Any) -> bool:
    """Return whether a content filter refused: by Azure's and OpenAI's codes, or Anthropic's and OpenAI's sentences."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(inner, dict):
        return False
    nested = inner.get("innererror")
    codes = {inner.get("code"), nested.get("code") if isinstance(nested, dict) else None} - {None}
    said = str(inner.get("message") or "").lower()
    return bool(codes & _FILTERS) or any(sentence in said for sentence in _FILTERING)


def _reason(body: Any) -> str:
    """Return the server's reason, from any of the usual fields."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict):
        said = [str(inner[key]) for key in ("code", "message", "detail") if inner.get(key)]
        return ": ".join(said) or "no reason given"
    return str(inner or body or "no reason given")


def _redirect_failure(status: int, response: Any, redact: Redaction) -> Failure:
    location = response.headers.get("location")
    target = shown_address(location, str(response.request.url)) if location else "an address it does not name"
    message = f"status {status}: it redirects to {target} (not followed, because keys would be sent there)"
    return Failure(_shown(message, redact), status=status, fatal=True)


def _shown(text: str, redact: Redaction) -> str:
    line = redact(" ".join(text.split())[:_READ])
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
