"""Removes from what is exported where it was computed: folders of this machine, users, keys."""

from __future__ import annotations

import re
from typing import Any

from harness.output.redaction import Redaction

_COMPONENT = r"[^\\/\s:,;'\"<>|]+"
_PATH = re.compile(
    rf"(?<![\w./~\\-])(?:(?:file://)?/{_COMPONENT}(?:/{_COMPONENT})+/?"  # /folder/file, but not /word nor and/or
    rf"|~[\w-]*(?:/{_COMPONENT})+/?"
    rf"|[A-Za-z]:[\\/]{_COMPONENT}(?:[\\/]{_COMPONENT})*[\\/]?"
    rf"|\\\\{_COMPONENT}(?:\\{_COMPONENT})+\\?)"
)

_redact = Redaction(())


def public_text(text: str) -> str:
    """Return a text with absolute paths cut to their last component, and without keys of well-known services.

    Addresses such as ``https://host/folder/file`` are kept.
    """
    return _redact(_PATH.sub(_last_component, text))


def public(value: Any) -> Any:
    """Return JSON values with every text, also those that are keys, as :func:`public_text` leaves it."""
    if isinstance(value, str):
        return public_text(value)
    if isinstance(value, dict):
        return {public_text(key): public(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [public(item) for item in value]
    return value


def _last_component(found: re.Match[str]) -> str:
    return re.split(r"[\\/]", found.group().rstrip("\\/"))[-1]
