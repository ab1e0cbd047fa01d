"""What may stand in a name, and what is left of it when it is shown."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.output.display import brief, json_text, lines, sentence, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hf:openai-community/gpt2", "hf:openai-community/gpt2"),
        ("modèle 模型 🤖", "modèle 模型 🤖"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("abc\u202egnp.exe", r"abc\u202egnp.exe"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("half \ud800", r"half \ud800"),
        ("\u3164", r"\u3164"),
        ("\U000e0041", r"\U000e0041"),
        ("e\u0301", "e\u0301"),
        ("a" + "\u0336" * 50 + "b", "a" + "\u0336" * 4 + "b"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_is_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_long_name_keeps_both_ends() -> None:
    shown = brief("hf:/home/somebody/" + "deep/" * 100 + "checkpoint-1000", 40)
    assert len(shown) == 40
    assert shown.startswith("hf:/home/somebody/")
    assert shown.endswith("checkpoint-1000"[-13:])


def test_a_huge_name_is_cut() -> None:
    assert len(brief("\u202e" * 2_000_000)) == 80
    assert len(sentence("\u202e" * 2_000_000)) == 400


def test_a_message_is_one_line() -> None:
    assert sentence("  no such file:\n   x.jsonl  ") == "no such file: x.jsonl"
    assert sentence("long " * 200, 20) == "long long long long…"


@given(st.text(st.characters(), max_size=200), st.integers(5, 60))
def test_whatever_comes_in_goes_out_visible_and_short(text: str, limit: int) -> None:
    shown = brief(text, limit)
    assert len(shown) <= limit
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    shown.encode("utf-8")


def test_lines_and_tabs_of_a_text_stay() -> None:
    assert lines("a\tb\r\nc\x1b[2J\rd\u2028") == "a\tb\nc\\x1b[2J\\rd\\u2028"


@given(st.text(st.characters(), max_size=200))
def test_what_is_printed_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    shown = lines(text)
    assert not [c for c in shown if c not in "\n\t" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters())))
def test_json_text_is_safe_and_means_the_same(value: dict[str, str]) -> None:
    shown = json_text(value)
    assert json.loads(shown) == value
    assert not [c for c in shown if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
