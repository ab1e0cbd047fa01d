"""Fitting scored text into a window: lm-evaluation-harness's truncation and rolling windows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.models.tokens.windows import Span, spans


@pytest.mark.parametrize(
    ("context", "continuation", "window", "expected", "truncated"),
    [
        # Everything fits: the last token is predicted, not read, so six tokens fit a window of five.
        ([0, 1, 2], [3, 4, 5], 5, [Span((0, 1, 2, 3, 4, 5), 3)], False),
        ([0, 1, 2], [3, 4, 5], None, [Span((0, 1, 2, 3, 4, 5), 3)], False),
        # The context loses its beginning.
        ([0, 1, 2], [3, 4, 5], 4, [Span((1, 2, 3, 4, 5), 3)], True),
        ([0, 1, 2], [3, 4, 5], 3, [Span((2, 3, 4, 5), 3)], True),
        # Rolling: the values of lm-eval's own test of get_rolling_token_windows (window 4, one token of context).
        (
            [100],
            list(range(1, 11)),
            4,
            [Span((100, 1, 2, 3, 4), 4), Span((4, 5, 6, 7, 8), 4), Span((6, 7, 8, 9, 10), 2)],
            False,
        ),
        ([98, 99], [1, 2, 3], 2, [Span((99, 1, 2), 2), Span((1, 2, 3), 1)], True),
    ],
)
def test_table(
    context: list[int], continuation: list[int], window: int | None, expected: list[Span[int]], truncated: bool
) -> None:
    assert spans(context, continuation, window) == (expected, truncated)


@given(
    st.lists(st.integers(), min_size=1, max_size=12),
    st.lists(st.integers(), min_size=1, max_size=40),
    st.integers(2, 16),
)
def test_every_token_is_scored_once_and_every_span_fits(
    context: list[int], continuation: list[int], window: int
) -> None:
    found, _ = spans(context, continuation, window)
    assert [token for span in found for token in span.tokens[-span.scored :]] == continuation
    assert all(span.scored < len(span.tokens) <= window + 1 for span in found)


@pytest.mark.parametrize(("context", "continuation"), [([], [1]), ([1], [])])
def test_nothing_to_condition_on_or_to_score(context: list[int], continuation: list[int]) -> None:
    with pytest.raises(ValueError, match="at least one token"):
        spans(context, continuation, 4)
