"""Patterns of names that other programs have for a scenario."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contracts.aliases import read_alias

WORD = st.text("abcxyz", min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("pattern", "name", "arguments", "expected"),
    [
        ("arc_easy", "arc_easy", {}, {}),
        ("arc_easy", "ARC-Easy", {}, {}),
        ("arc_easy", "arc_easy_2", {}, None),
        ("a-{part}", "a-x_y", {}, {"part": "x_y"}),
        ("a-{part}", "a_x", {}, None),
        ("t_{part/3}", "t_abc", {}, {"part": "abc"}),
        ("t_{part/3}", "t_abcd", {}, None),
        ("t_{one}-{two}_*", "t_a-b_prompt_1", {}, {"one": "a", "two": "b"}),
        ("q:mode=closed", "q", {"mode": "closed", "model": "text"}, {}),
        ("q:mode=closed", "q", {"mode": "open"}, None),
        ("q:mode=closed", "q", {}, None),
        ("w:pair={source}-en", "w", {"pair": "cs-en"}, {"source": "cs"}),
        ("c:tag=*length_{words}", "c", {"tag": "n_1000-length_125"}, {"words": "125"}),
        ("a.b", "axb", {}, None),
    ],
)
def test_what_a_pattern_finds(
    pattern: str, name: str, arguments: Mapping[str, str], expected: Mapping[str, str] | None
) -> None:
    assert read_alias("p", pattern, "").values(name, arguments) == expected


@given(WORD, WORD, WORD)
def test_a_name_made_from_a_pattern_is_found_again(before: str, value: str, after: str) -> None:
    alias = read_alias("p", f"{before}_{{part}}.{after}", "")
    assert alias.values(f"{before}_{value}.{after}", {}) == {"part": value}


def test_the_more_specific_alias_has_more_literal_characters() -> None:
    assert read_alias("p", "mmlu_pro_{subject}", "").literal > read_alias("p", "mmlu_{subject}", "").literal
    assert read_alias("p", "math:level={level},cot=*", "").literal > read_alias("p", "math:level={level}", "").literal


@pytest.mark.parametrize(
    ("pattern", "means"), [("", ""), (":a=b", ""), ("a:b", ""), ("a", "easy"), ("a:=x", ""), ("t_{a}_{a}", "")]
)
def test_what_is_not_an_alias(pattern: str, means: str) -> None:
    with pytest.raises(ValueError, match=r"not of the form|does not begin|has \{a\} twice"):
        read_alias("p", pattern, means)
