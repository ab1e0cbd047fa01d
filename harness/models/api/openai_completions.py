"""The harness's completions out of what an OpenAI-compatible server answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate

from harness import DECLINES, Completion, reason_with_thoughts
from harness.models.api.failures import CannotAnswerError
from harness.models.api.openai_answers import WITHOUT_LOGPROBS, Choice, TokenLogprobs, Usage, token_logprobs
from harness.models.api.openai_finish import finish_of
from harness.models.tokens.stop_sequences import cut_at_stop

MOST_PROBABILITY = 1.05
"""To what the probabilities of the likeliest tokens may add up; servers round."""


def completion_of(
    choice: Choice, usage: Usage | None, stop: Sequence[str], top_logprobs: int, tokens: int | None
) -> Completion:
    """Return the harness's completion of a choice.

    Servers differ in what they count: the log-probability is that of the tokens that cover the text, as for other
    backends, where they spell it; else that of all tokens.

    Args:
        choice: The server's.
        usage: The tokens of the answer that holds it, where the server counts them.
        stop: Where it ends, if the server did not see to it.
        top_logprobs: How many were asked for.
        tokens: How many tokens were generated, as the server counts; None for as many as have log-probabilities.

    Raises:
        UnusableAnswerError: It is not a completion, see :func:`finish_of`.
        CannotAnswerError: It lacks the log-probabilities that were asked for, or they cannot be such.
    """
    reason = finish_of(choice, usage)
    text, cut = cut_at_stop((choice.text if choice.message is None else choice.message.content) or "", stop)
    reason = reason_with_thoughts(text, "stop" if cut and reason in {"length", "unknown"} else reason)
    known = token_logprobs(choice)
    if top_logprobs and reason not in DECLINES and (known is None or len(known.top) != len(known.tokens)):
        raise CannotAnswerError("the server gives no top_logprobs, which were asked for")
    logprob: float | None = None
    top: tuple[Mapping[str, float], ...] = ()
    if known is not None:
        _refuse_excess(known)
        logprob = _covering_sum(known, text)
        top = tuple(dict(_likeliest(position, top_logprobs)) for position in known.top) if top_logprobs else ()
        tokens = len(known.tokens) if tokens is None else tokens
    refusal = (choice.message.refusal if choice.message is not None else None) or ""
    return Completion(text, logprob, tokens, reason, top, refusal)


def _refuse_excess(known: TokenLogprobs) -> None:
    for place, top in enumerate(known.top):
        total = math.fsum(math.exp(min(logprob, 0.0)) for logprob in top.values())
        if total > MOST_PROBABILITY:
            raise CannotAnswerError(
                f"the server's log-probabilities of the {len(top)} likeliest tokens at position {place} add up to a "
                f"probability of {total:.3g}, so they are not log-probabilities; {WITHOUT_LOGPROBS}"
            )


def _covering_sum(known: TokenLogprobs, text: str) -> float | None:
    if any(logprob is None for logprob in known.logprobs):
        return None
    logprobs = [logprob for logprob in known.logprobs if logprob is not None]
    if not "".join(known.tokens).startswith(text):
        return sum(logprobs, 0.0)
    ends = accumulate(map(len, known.tokens), initial=0)
    return sum(logprobs[: next(count for count, end in enumerate(ends) if end >= len(text))], 0.0)


def _likeliest(top: Mapping[str, float], most: int) -> list[tuple[str, float]]:
    return sorted(top.items(), key=lambda pair: -pair[1])[:most]
