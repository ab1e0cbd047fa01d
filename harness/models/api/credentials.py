"""Where a server is, and the keys and headers that open it, which come from the environment alone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from harness import ModelError


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server and what opens it, which is shown nowhere."""

    url: str
    """The server's address, without a slash at its end."""
    official: bool
    """Whether it is the server of those who made the API."""
    key: str | None = field(default=None, repr=False)
    """None for none."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with each request, beside the client's own."""

    @property
    def secrets(self) -> list[str]:
        """What no message may show: the key, and what the headers hold, by their names."""
        return [self.key or "", *(self.headers[name] for name in sorted(self.headers))]


def endpoint_from(
    name: str, base_url: str | None, api_key_env: str | None, headers_env: str | None, *, official: str, prefix: str
) -> Endpoint:
    """Return the server that the user named, else that of the environment, else the official one.

    Args:
        name: The model's, for messages.
        base_url: As the user wrote it.
        api_key_env: The variable that holds the key, as the user named it.
        headers_env: The variable that holds headers, as the user named it.
        official: Address of the API's own server.
        prefix: What the API's variables begin with: ``PREFIX_BASE_URL``, and ``PREFIX_API_KEY``, which is for its own
            server alone.

    Raises:
        ModelError: The address is none, or a variable is not set or holds something else.
    """
    url = checked_url(base_url or os.environ.get(f"{prefix}_BASE_URL") or official, name)
    key = key_from(api_key_env, name, default=f"{prefix}_API_KEY" if url == official else None)
    return Endpoint(url, url == official, key, headers_from(headers_env, name))


def key_from(variable: str | None, name: str, *, default: str | None = None) -> str | None:
    """Return the key that a variable of the environment holds; None where none is named and the default is not set.

    Args:
        variable: As the user named it.
        name: The model's, for messages.
        default: The variable that is read where none is named.

    Raises:
        ModelError: The variable that is named is not set, or holds what no header can.
    """
    read = variable or default
    key = os.environ.get(read, "").strip() if read else ""
    if not key and variable is not None:
        raise ModelError(f"{name}: api_key_env names {variable}, which is not set in the environment.")
    if not (key.isascii() and key.isprintable()):
        raise ModelError(f"{name}: the key in {read} contains characters that a key cannot have, such as a line break.")
    return key or None


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
    if not all(text.isascii() and text.isprintable() for pair in headers.items() for text in pair):
        raise ModelError(f"{name}: {variable} holds characters that no header has, such as a line break.")
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
