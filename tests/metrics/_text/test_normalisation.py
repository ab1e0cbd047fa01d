"""Normalisation, as a table and by its properties."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics._text.normalisation import comparable, normalise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Cat,\n sat!", "cat sat"),
        ("a an the", ""),
        ("theatre and an anthem", "theatre and anthem"),
        ("U.S.A.", "usa"),
        ("rock-'n'-roll", "rocknroll"),
        ("A", ""),
        ("«été»", "«été»"),
        ("", ""),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_articles_can_be_kept() -> None:
    assert normalise(" The A-Team. ", articles=True) == "the ateam"


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("The Beatles", "beatles!", ("beatles", "beatles")),
        ("A", "A.", ("a", "a")),
        ("A", "the", ("a", "the")),
        ("+", "-", ("+", "-")),
        ("", "x", ("", "x")),
    ],
)
def test_a_reference_is_never_normalised_away(gold: str, prediction: str, expected: tuple[str, str]) -> None:
    assert comparable(gold, prediction) == expected


@given(st.text())
def test_what_is_left_is_clean_and_stays_so(text: str) -> None:
    normal = normalise(text)
    assert not set(normal) & set(string.punctuation)
    assert normal == " ".join(normal.split())
    assert not {"a", "an", "the"} & set(normal.split())


@given(st.text(alphabet=string.ascii_letters + string.punctuation + " \n"))
def test_normalising_twice_is_normalising_once(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
