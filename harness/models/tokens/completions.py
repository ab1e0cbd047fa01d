"""Decide when a completion ends, and build it from the generated tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness import Completion
from harness.models.tokens.stop_sequences import find_stop
from harness.models.tokens.thoughts import Thoughts
from harness.models.tokens.tokenizer import TextTokenizer


def answer_ended(
    tokens: Sequence[int], thoughts: Thoughts, max_tokens: int, stop: Sequence[str], tokenizer: TextTokenizer
) -> bool:
    """Return True if a completion that may reason ends with its last token, which is read here.

    Args:
        tokens: The tokens so far, none of which ends a text.
        thoughts: Has read all of them but the last.
        max_tokens: Most tokens of the answer.
        stop: Strings that end the answer.
        tokenizer: Decodes.
    """
    if thoughts.answer is None:
        if thoughts.follow(tokens, tokenizer, max_tokens):
            return True
        if thoughts.answer is None:
            return False
    elif not tokenizer.may_end(tokens[-1], stop):
        return len(tokens) - thoughts.answer >= max_tokens
    stopped = find_stop(thoughts.text(tokens, tokenizer), stop) is not None
    return stopped or len(tokens) - thoughts.answer >= max_tokens


def completion_of_tokens(
    tokens: Sequence[int],
    logprobs: Sequence[float],
    top: Sequence[Mapping[str, float]],
    tokenizer: TextTokenizer,
    *,
    ended: bool,
    stop: Sequence[str],
    max_tokens: int,
    thoughts: Thoughts | None,
) -> Completion:
    """Return the completion that generated tokens make.

    Args:
        tokens: The tokens.
        logprobs: Their log-probabilities.
        top: The likeliest tokens at each position; empty if not asked for.
        tokenizer: Decodes.
        ended: True if the last token ends a text.
        stop: Strings that end the answer.
        max_tokens: Most tokens of the answer.
        thoughts: Has read the tokens, where the model may reason.
    """
    written = tokens[: len(tokens) - ended]
    if thoughts is not None:
        thoughts.settle(written, tokenizer)
        if thoughts.answer is not None:  # an answer that began like a mark can be too long
            written = written[: thoughts.answer + max_tokens]

    def text_of(count: int) -> str:
        return tokenizer.decode(written[:count]) if thoughts is None else thoughts.text(written[:count], tokenizer)

    kept, text = len(written), text_of(len(written))
    begin = 0 if thoughts is None else min(thoughts.begin(written), kept)
    cut = find_stop(text, stop)
    if cut is not None:
        text = text[:cut]
        kept = next(count for count in range(begin, kept + 1) if len(text_of(count)) >= cut)
    completion = Completion(
        text=text,
        logprob=math.nan if any(map(math.isnan, logprobs)) else sum(logprobs[begin:kept], 0.0),
        tokens=len(tokens),
        finish_reason="stop" if ended or cut is not None else "length",
        top_logprobs=tuple(top[begin:]),
    )
    return completion if thoughts is None else thoughts.noted(completion, written, tokenizer)
