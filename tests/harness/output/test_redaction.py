"""Every encoding of a secret is hidden, and other text is left alone."""

from __future__ import annotations

import base64
import html
import json
import time
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.output.redaction import Redaction

CREDENTIAL = 'kéy/+"a b&c=1\\zZ9~_-'

ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": lambda text: urllib.parse.quote(text, safe=""),
    "percent, lower case": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "path": urllib.parse.quote,
    "form": urllib.parse.quote_plus,
    "percent twice": lambda text: urllib.parse.quote(urllib.parse.quote(text, safe=""), safe=""),
    "JSON": lambda text: json.dumps(text),
    "JSON with any character": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "JSON as PHP writes it": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON, all escaped": lambda text: "".join(f"\\u{ord(character):04x}" for character in text),
    "HTML": html.escape,
    "HTML numbers": lambda text: "".join(f"&#x{ord(character):x};" for character in text),
    "repr": repr,
    "hexadecimal": lambda text: text.encode().hex(),
    "HEXADECIMAL": lambda text: text.encode().hex().upper(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 in a URL": lambda text: urllib.parse.quote(base64.b64encode(text.encode()).decode(), safe=""),
    "Bearer": lambda text: f"Bearer {text}",
    "Basic as user": lambda text: f"Basic {base64.b64encode(f'{text}:'.encode()).decode()}",
    "Basic as password": lambda text: f"Basic {base64.b64encode(f'user:{text}'.encode()).decode()}",
    "a header in base64": lambda text: base64.b64encode(f"x-api-key: {text}\r\n".encode()).decode(),
}


def leaks(shown: str, secret: str) -> list[str]:
    """Return the encodings in which a text holds a secret."""
    return [name for name, encode in ENCODINGS.items() if encode(secret).strip("\"'=") in shown]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_encoding_of_a_secret_is_shown(encoding: str) -> None:
    encoded = ENCODINGS[encoding](CREDENTIAL)
    shown = Redaction([CREDENTIAL])(f"before {encoded} after")
    assert "[key]" in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert not leaks(shown, CREDENTIAL)


@given(
    st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), min_size=8, max_size=30),
    st.sampled_from(sorted(ENCODINGS)),
    st.text("ab {}:\n", max_size=5),
    st.text("ab {}:\n", max_size=5),
)
def test_any_secret_in_any_place(secret: str, encoding: str, before: str, after: str) -> None:
    secret = secret.strip()
    if len(secret) < 8:
        return
    shown = Redaction([secret])(f"{before} {ENCODINGS[encoding](secret)} {after}")
    assert "[key]" in shown
    assert ENCODINGS[encoding](secret) not in shown


@given(st.binary(max_size=7), st.binary(max_size=7))
def test_base64_is_found_wherever_the_secret_begins(before: bytes, after: bytes) -> None:
    ours = "a-credential-of-mine"
    encoded = base64.b64encode(before + ours.encode() + after).decode()
    assert Redaction([ours])(f"x {encoded} y") == "x [key] y"


def test_a_credential_is_hidden_without_its_scheme() -> None:
    assert Redaction(["Bearer abcdef123456"])("got abcdef123456") == "got [key]"


def test_secrets_within_secrets() -> None:
    redact = Redaction(["abc12345", "abc12345-and-more"])
    assert redact("abc12345-and-more, abc12345") == "[key], [key]"


def test_ordinary_words_stay_in_answers() -> None:
    redact = Redaction(["EMPTY", "evaluation", "true", "7"], words=False)
    assert redact("an EMPTY evaluation: true, 7") == "an EMPTY evaluation: true, 7"
    assert Redaction(["team-secret-17"], words=False)("x team-secret-17") == "x [key]"


@pytest.mark.parametrize("length", [8, 12, 19])
def test_a_secret_that_the_end_cuts_off_is_hidden(length: int) -> None:
    assert Redaction(["abcdefghij.klmnopqrs"])("got " + "abcdefghij.klmnopqrs"[:length]) == "got [key]"
    assert Redaction(["abcdefghij.klmnopqrs"])("got abcdefg") == "got abcdefg"


def test_nothing_to_hide() -> None:
    assert Redaction(["", " "])("any text") == "any text"


def test_known_forms_of_keys_are_hidden_though_they_are_not_ours() -> None:
    assert Redaction([])("Incorrect key sk-proj-abc*****xyz1") == "Incorrect key [key]"


@pytest.mark.parametrize("text", ["a" * 200_000, "%25" * 70_000, "\\" * 200_000, "&amp;" * 40_000, "sk-" * 70_000])
def test_long_texts_take_no_longer_than_their_length(text: str) -> None:
    began = time.process_time()
    Redaction([CREDENTIAL, "aaaaaaaab", "%25%25x-y-z"])(text)
    assert time.process_time() - began < 5
