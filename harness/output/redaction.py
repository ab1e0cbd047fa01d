"""Removes secrets from texts and addresses, in any encoding in which a server may repeat them."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable
from urllib.parse import quote, urljoin, urlsplit

_KEY = re.compile(r"\b(sk|pk|rk|xai|gsk)-[\w*.-]{4,}")
"""Keys of well-known services; a server may quote one with its middle replaced by asterisks."""

_SHORTEST_BASE64 = 6
"""Fewest characters of base64 to look for; shorter pieces occur by chance."""

_SHORTEST_BEGINNING = 8
"""Fewest characters to recognise a long secret by if the end of the text cuts it off."""

_BASE64_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")
_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}


class Redaction:
    """Replaces secrets by ``[key]``: plain, percent-encoded, escaped for JSON or HTML, in hexadecimal and in base64.

    Base64 is found wherever the secret begins within the encoded text, as in ``Basic`` credentials; then all of the
    encoded text is replaced.

    Args:
        secrets: The texts to remove; empty ones are ignored.
        words: True to also remove secrets that look like ordinary words or short numbers. If False, a header such as
            ``X-Team: evaluation`` does not change a model's answer.

    Attributes:
        placeholder: The text that replaces a secret.
    """

    placeholder = "[key]"

    def __init__(self, secrets: Iterable[str], *, words: bool = True) -> None:
        kept = {part for secret in secrets for part in _parts(secret) if words or _is_distinctive(part)}
        ordered = sorted(kept, key=lambda secret: (-len(secret), secret))
        self._beginnings = [secret[:-1] for secret in ordered if len(secret) >= 2 * _SHORTEST_BEGINNING]
        self._plain = _any_of(pattern for secret in ordered for pattern in (_escaped(secret), _hexadecimal(secret)))
        self._base64 = _any_of(pattern for secret in ordered for pattern in _base64(secret))

    def __call__(self, text: str) -> str:
        if self._plain is not None:
            text = self._plain.sub(self.placeholder, text)
        if self._base64 is not None:
            text = _replaced(self._base64, self.placeholder, text)
        for beginning in self._beginnings:
            length = next(
                (n for n in range(len(beginning), _SHORTEST_BEGINNING - 1, -1) if text.endswith(beginning[:n])), 0
            )
            if length:
                text = text[:-length] + self.placeholder
        return _KEY.sub(self.placeholder, text)


def shown_address(address: str, base: str = "") -> str:
    """Return an address that is safe to show: without user, password, query and fragment, in printable ASCII.

    Args:
        address: The address; it may be relative.
        base: The address that it is relative to.
    """
    try:
        parts = urlsplit(urljoin(base, address))
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    host = f"[{quote(host, safe=':.')}]" if ":" in host else quote(host)
    return f"{quote(parts.scheme)}://{host}{port}{quote(parts.path, safe='/%:@,;=+~!$&()*')}"


def _parts(secret: str) -> Iterable[str]:
    """Yield a secret, and if it is like ``Bearer abc`` also the credential by itself."""
    stripped = secret.strip()
    if stripped:
        yield stripped
        scheme, _, credential = stripped.partition(" ")
        if scheme.lower() in {"bearer", "basic", "token", "apikey"} and credential.strip():
            yield credential.strip()


def _is_distinctive(secret: str) -> bool:
    return len(secret) >= 16 or (len(secret) >= 8 and not secret.isalpha())


def _any_of(patterns: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(patterns)
    return re.compile(joined) if joined else None


def _escaped(secret: str) -> str:
    """Return a pattern for a secret whose characters may be escaped, once or repeatedly."""
    return "".join(map(_any_spelling, secret))


def _any_spelling(character: str) -> str:
    code = ord(character)
    plain = [re.escape(character)] if character != "\\" else [r"\\{1,16}"]
    if character == " ":
        plain.append(r"\+")
    if named := _ESCAPES.get(character):
        plain.append(rf"\\{{1,8}}{named}")
    percent = "".join(
        f"%(?:25){{0,4}}{_of_either_case(f'{byte:02X}')}" for byte in character.encode("utf-8", "replace")
    )
    units = character.encode("utf-16-be", "surrogatepass")
    unicode = "".join(
        rf"\\{{1,8}}u{_of_either_case(f'{units[place]:02X}{units[place + 1]:02X}')}"
        for place in range(0, len(units), 2)
    )
    unicode += rf"|\\{{1,8}}U{_of_either_case(f'{code:08X}')}" + (
        rf"|\\{{1,8}}x{_of_either_case(f'{code:02X}')}" if code < 256 else ""
    )
    entity = rf"&(?:amp;){{0,4}}(?:#0{{0,6}}{code}|#[xX]0{{0,6}}{_of_either_case(f'{code:X}')}|{_entity(character)});"
    return rf"(?:\\{{0,8}}(?:{'|'.join(plain)})|{percent}|{unicode}|{entity})"


def _entity(character: str) -> str:
    """Return the name of a character's entity in HTML, or a name that no entity has."""
    escaped = html.escape(character)
    return re.escape(escaped[1:-1]) if len(escaped) > 1 else "-"


def _hexadecimal(secret: str) -> str:
    return _of_either_case(secret.encode("utf-8", "replace").hex())


def _of_either_case(digits: str) -> str:
    return "".join(f"[{digit.upper()}{digit.lower()}]" if digit.isalpha() else digit for digit in digits)


def _base64(secret: str) -> Iterable[str]:
    """Yield patterns for a secret in base64, one for each offset within a group of three bytes.

    Only characters that depend on the secret alone are kept: the first and last may contain bits of the text around it.
    """
    content = secret.encode("utf-8", "replace")
    for before in range(3):
        bits = 8 * (before + len(content))
        encoded = base64.b64encode(bytes(before) + content).decode()
        core = encoded[-(-8 * before // 6) : bits // 6]
        if len(core) >= _SHORTEST_BASE64:
            yield "".join(map(_any_base64, core))


def _any_base64(character: str) -> str:
    """Return a pattern for a character of base64, in either alphabet, possibly percent-encoded or escaped."""
    match character:
        case "+":
            return r"(?:\+|-|%2[Bb]|\\u002[bB])"
        case "/":
            return r"(?:\\{0,8}/|_|%2[Ff]|\\u002[fF])"
        case _:
            return character


def _replaced(pattern: re.Pattern[str], by: str, text: str) -> str:
    """Replace each match together with the base64 around it."""
    parts: list[str] = []
    done = 0
    for found in pattern.finditer(text):
        start, end = found.span()
        if start < done:
            continue
        while start > done and text[start - 1] in _BASE64_CHARACTERS:
            start -= 1
        while end < len(text) and text[end] in _BASE64_CHARACTERS:
            end += 1
        parts += [text[done:start], by]
        done = end
    return "".join([*parts, text[done:]])
