"""Fitting scored text into a model's window.

A window of ``n`` tokens predicts ``n`` tokens: the last one it predicts is not among its inputs, so a span holds at
most ``n + 1`` tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Token = TypeVar("Token")


@dataclass(frozen=True, slots=True)
class Span(Generic[Token]):
    """Tokens that are read together; the last ones are scored."""

    tokens: tuple[Token, ...]
    """The tokens; all but the last one are the model's input."""
    scored: int
    """Number of scored tokens at the end; less than ``len(tokens)``."""


def strided_spans(tokens: Sequence[Token], window: int | None) -> list[Span[Token]]:
    """Return the spans that score every token but the first once, in reading order.

    If they do not fit, windows begin half a window apart, and each scores what the previous one did not reach (Oren et
    al. 2023, ``compute_sharded_comparison_test.py`` with a stride of half the context).

    Raises:
        ValueError: There is nothing to score.
    """
    if len(tokens) < 2:
        raise ValueError("there is nothing after the first token")
    read = len(tokens) - 1
    if window is None or read <= window:
        return [Span(tuple(tokens), read)]
    stride = max(1, window // 2)
    found: list[Span[Token]] = []
    done = 0
    while done < read:
        start = stride * len(found)
        end = min(start + window, read)
        found.append(Span(tuple(tokens[start : end + 1]), end - done))
        done = end
    return found


def spans(
    context: Sequence[Token], continuation: Sequence[Token], window: int | None
) -> tuple[list[Span[Token]], bool]:
    """Return the spans that score a continuation once, in reading order, and whether any context was lost.

    If the continuation fits, there is one span, and the context loses its beginning if necessary
    (lm-evaluation-harness, ``_loglikelihood_tokens``). A longer continuation is scored in consecutive windows, the
    first without more of the context than its last token, the last with as much of the preceding text as fits
    (``get_rolling_token_windows`` with one token of context).

    Raises:
        ValueError: Context or continuation is empty.
    """
    if not context or not continuation:
        raise ValueError("context and continuation need at least one token each")
    whole = (*context, *continuation)
    if window is None or len(whole) <= window + 1:
        return [Span(whole, len(continuation))], False
    if len(continuation) <= window:
        return [Span(whole[-(window + 1) :], len(continuation))], True
    tokens = (context[-1], *continuation)
    found: list[Span[Token]] = []
    for start in range(1, len(tokens), window):
        end = min(start + window, len(tokens))
        begin = max(0, end - window - 1)
        found.append(Span(tokens[begin:end], end - start))
    return found, len(context) > 1
