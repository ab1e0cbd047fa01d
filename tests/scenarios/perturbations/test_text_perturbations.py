"""Perturbations change the input as they say, and nothing else."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.perturbations.lowercase import lowercase
from scenarios.perturbations.spaces import extra_space, space
from scenarios.perturbations.typos import typos
from tests.scenarios.perturbations.conftest import instance


def test_lowercase_changes_only_the_input() -> None:
    changed = lowercase(instance("Is PARIS in France?", "Yes"), Random(0))
    assert changed.input == "is paris in france?"
    assert changed.references == instance("", "Yes").references


def test_extra_space_multiplies_every_space_and_keeps_lines() -> None:
    assert extra_space(instance("a b  c\nd"), Random(0), num_spaces=3).input == "a   b      c\nd"


@given(st.text(), st.integers(1, 5), st.integers())
def test_space_keeps_everything_but_the_number_of_spaces(text: str, most: int, seed: int) -> None:
    changed = space(instance(text), Random(seed), max_spaces=most).input
    assert changed.replace(" ", "") == text.replace(" ", "")
    assert [bool(run) for run in changed.split(" ")].count(True) == [bool(run) for run in text.split(" ")].count(True)
    assert " " * (most + 1) not in changed


@pytest.mark.parametrize(
    ("letter", "near"), [("q", "was"), ("w", "qesad"), ("i", "ujklo"), ("g", "fhtyvb"), ("m", "njk"), ("p", "ol")]
)
def test_typos_hit_neighbouring_keys(letter: str, near: str) -> None:
    hits = {typos(instance(letter), Random(seed), prob=1.0).input for seed in range(200)}
    assert hits == set(near)


@given(st.text(), st.integers())
def test_typos_keep_length_and_case_and_what_is_no_letter(text: str, seed: int) -> None:
    changed = typos(instance(text), Random(seed), prob=0.5).input
    assert len(changed) == len(text)
    for before, after in zip(text, changed, strict=True):
        assert after == before or (before.isupper() == after.isupper() and before.isascii())


def test_typos_change_about_the_share_of_letters_asked_for() -> None:
    changed = typos(instance("a" * 10_000), Random(1), prob=0.1).input
    assert 850 < sum(letter != "a" for letter in changed) < 1150
