"""Words are found as one regular expression with all of them would find them, only faster."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.perturbations._words.lexicon import Found, Lexicon

ENTRIES = ["a", "a b", "a-b", "a b'c", "b", "ab", "ba b"]
LEXICON = Lexicon({entry: ["x"] for entry in ENTRIES})
PATTERN = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(map(re.escape, ENTRIES), key=len, reverse=True))})(?!\w)", re.I)


@given(st.text("abAB -'.,1é\n", max_size=30))
def test_what_is_found(text: str) -> None:
    found: list[tuple[int, int]] = []

    def note(one: Found, _: Sequence[str]) -> str:
        found.append((one.start, one.end))
        assert one.words == text[one.start : one.end]
        assert (one.before, one.after) == (text[: one.start][-1:], text[one.end :][:1])
        return "x"

    changed = LEXICON.substitute(text, note)
    assert found == [match.span() for match in PATTERN.finditer(text)]
    assert changed.lower() == PATTERN.sub("x", text).lower()


@given(st.text(max_size=40))
def test_nothing_chosen_changes_nothing(text: str) -> None:
    assert LEXICON.substitute(text, lambda found, others: None) == text


def test_words_of_a_phrase_that_stays_are_looked_at() -> None:
    assert LEXICON.substitute("a b", lambda found, others: "x" if found.words != "a b" else None) == "a x"


def test_an_entry_begins_with_a_word() -> None:
    with pytest.raises(ValueError, match="'-a' does not begin"):
        Lexicon({"-a": ["b"]})
