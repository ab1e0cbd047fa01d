"""Reasoning in a completion's text that never ends is not an answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.answers.reasoning import TAGS, reason_with_thoughts
from harness.contracts import DECLINES


@pytest.mark.parametrize(
    ("text", "reason", "expected"),
    [
        ("<think>\nLet me", "length", "reasoning_cut_off"),
        ("\n <think>", "stop", "reasoning_cut_off"),
        ("<think>\nLet me</think>\nYes", "length", "length"),
        ("<think></think>", "stop", "stop"),
        ("Yes. <think>", "length", "length"),
        ("[THINK]Let me", "length", "reasoning_cut_off"),
        ("[THINK]Let me[/THINK]Yes", "stop", "stop"),
        ("", "length", "length"),
        ("<think>", "content_filter", "content_filter"),
    ],
)
def test_reasoning_that_never_ends_is_no_answer(text: str, reason: Any, expected: str) -> None:
    assert reason_with_thoughts(text, reason) == expected


@given(st.text(), st.sampled_from(["stop", "length", "unknown", *DECLINES]), st.sampled_from(TAGS))
def test_closed_reasoning_changes_nothing(text: str, reason: Any, tags: tuple[str, str]) -> None:
    assert reason_with_thoughts(f"{tags[0]}{text}{tags[1]}", reason) == reason
