"""Keys and headers for a server, from the environment alone."""

from __future__ import annotations

import json
import os
from urllib.parse import urlsplit

from harness import ModelError


def key_from(variable: str | None, name: str, *, default: str | None = None) -> str | None:
    """Return the key that a variable of the environment holds; None where none is named and the default is not set.

    Args:
        variable: As the user named it.
        name: The model's, for messages.
        default: The variable that is read where none is named.

    Raises:
        ModelError: The variable that is named is not set.
    """
    if variable is None:
        return os.environ.get(default) or None if default else None
    key = os.environ.get(variable)
    if not key:
        raise ModelError(f"{name}: api_key_env names {variable}, which is not set in the environment.")
    return key


def headers_from(variable: str | None, name: str) -> dict[str, str]:
    """Return the headers that a variable of the environment holds as a JSON object of strings.

    Raises:
        ModelError: It is not set, or holds something else.
    """
    if variable is None:
        return {}
    try:
        headers = json.loads(os.environ[variable])
    except KeyError:
        raise ModelError(f"{name}: headers_env names {variable}, which is not set in the environment.") from None
    except ValueError:
        headers = None
    fits = isinstance(headers, dict) and all(isinstance(value, str) for value in headers.values())
    if not fits:
        # Not a word of what it holds: that may be a key.
        raise ModelError(f'{name}: {variable} must hold a JSON object of headers, such as {{"X-Team": "evals"}}.')
    return dict(headers)


def checked_url(url: str, name: str) -> str:
    """Return a server's address without the slash at its end.

    Raises:
        ModelError: It is no address, or holds a password or a query, which may be secret.
    """
    try:
        parts = urlsplit(url)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        fits = False
    if not fits:
        raise ModelError(f"{name}: base_url is not an address such as http://localhost:8000/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ModelError(
            f"{name}: base_url must be an address alone. A password or key belongs into the environment: "
            "see api_key_env and headers_env."
        )
    return url.rstrip("/")
