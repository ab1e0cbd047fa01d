"""The address of a server, and the key and headers that are sent to it, which come from the environment only."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from harness import ModelError
from harness.models.api.settings import ApiSettings


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, with the secrets that are sent to it and shown nowhere."""

    url: str
    """The server's address, without a slash at its end."""
    official: bool
    """True for the API's own server."""
    key: str | None = field(default=None, repr=False)
    """The key; None to send none."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers that are sent with each request, in addition to the client's own."""

    @property
    def secrets(self) -> list[str]:
        """The key, and the headers' values in the order of their names."""
        return [self.key or "", *(self.headers[name] for name in sorted(self.headers))]


def endpoint_from(name: str, settings: ApiSettings, *, official: str, prefix: str) -> Endpoint:
    """Return the server that the settings name, else the environment's, else the official one.

    Args:
        name: The model's, for messages.
        settings: The model's.
        official: Address of the API's own server.
        prefix: Beginning of the API's environment variables: ``PREFIX_BASE_URL``, and ``PREFIX_API_KEY``, which is
            sent to the official server only.

    Raises:
        ModelError: The address is malformed, or a variable is not set or malformed.
    """
    url = _checked(settings.base_url or os.environ.get(f"{prefix}_BASE_URL") or official, name)
    key = _key(settings.api_key_env, name, f"{prefix}_API_KEY" if url == official else None)
    return Endpoint(url, url == official, key, _headers(settings.headers_env, name))


def _key(variable: str | None, name: str, default: str | None) -> str | None:
    """Return the key in the variable that the user named, else in the default one; None if there is no key."""
    read = variable or default
    key = os.environ.get(read, "").strip() if read else ""
    if not key and variable is not None:
        raise ModelError(f"{name}: api_key_env names {variable}, which is not set in the environment.")
    if not (key.isascii() and key.isprintable()):
        raise ModelError(f"{name}: the key in {read} contains characters that a key cannot have, such as a line break.")
    return key or None


def _headers(variable: str | None, name: str) -> dict[str, str]:
    """Return the headers in an environment variable, a JSON object of strings."""
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
        # The message shows nothing of the value, which may be a key.
        raise ModelError(f'{name}: {variable} must hold a JSON object of headers, such as {{"X-Team": "evals"}}.')
    if not all(text.isascii() and text.isprintable() for pair in headers.items() for text in pair):
        raise ModelError(f"{name}: {variable} contains characters that a header cannot have, such as a line break.")
    return dict(headers)


def _checked(url: str, name: str) -> str:
    """Return a server's address without a slash at its end; refuse a password or query, which may be secret."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        fits = False
    if not fits:
        raise ModelError(f"{name}: base_url is not an address such as http://localhost:8000/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ModelError(
            f"{name}: base_url must be an address alone. Put a password or key into the environment: "
            "see api_key_env and headers_env."
        )
    return url.rstrip("/")
