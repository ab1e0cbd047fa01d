"""Choosing the reference with the highest score, from log-likelihoods."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from adapters._prompt.few_shot_adapter import origin_of
from harness import Adapted, HarnessError, Instance, ModelError, Prediction, Prompt, Response, ScoreRequest


def scored_answers(instance: Instance, texts: Sequence[str], gap: str, *, chat: bool) -> tuple[str, ...]:
    """Return the text that is scored for each reference: its own, after the whitespace that ended the output prefix.

    A chat model's turn begins with the text itself.

    Raises:
        HarnessError: There are no references, or one is empty.
    """
    if not texts:
        raise HarnessError(f"instance {instance.id!r} has no references to choose from.")
    answers = tuple(text if chat else gap + text for text in texts)
    for index, answer in enumerate(answers):
        if not answer:
            raise HarnessError(f"reference {index} of instance {instance.id!r} is empty and cannot be scored.")
    return answers


def score_request(
    context: Prompt, answer: str, instance: Instance, trial: int, reference: int | None, role: str = "original"
) -> ScoreRequest:
    """Return the request for the log-likelihood of one reference; None for a text that is not a reference."""
    return ScoreRequest(context, answer, origin=origin_of(instance, trial, reference=reference, role=role))


def token_logprobs(response: Response, adapted: Adapted, request: int) -> tuple[float, ...]:
    """Return the log-probabilities of a scored answer's tokens.

    Raises:
        ModelError: The model gave none, or one that is not a number.
    """
    if not response.logprobs or any(math.isnan(logprob) for logprob in response.logprobs):
        given = "a log-probability that is not a number" if response.logprobs else "no log-probabilities"
        raise ModelError(f"the model gave {given} for request {request} of instance {adapted.instance.id!r}.")
    return response.logprobs


def choose(adapted: Adapted, scores: Sequence[float]) -> Prediction:
    """Return the reference with the highest score; the first of a tie.

    Its probability is its share in the softmax over the scores (HELM's ``max_prob``).
    """
    best = max(scores)
    choice = scores.index(best)
    text = adapted.instance.references[choice].text
    return Prediction(text=text, texts=(text,), choice=choice, choice_scores=tuple(scores), probability=_share(scores))


def _share(scores: Sequence[float]) -> float | None:
    best = max(scores)
    if math.isinf(best):
        return None
    return 1.0 / math.fsum(math.exp(score - best) for score in scores)


def each_score(
    adapted: Adapted, responses: Sequence[Response], score: Callable[[tuple[float, ...]], float]
) -> list[float]:
    """Return the score of the log-probabilities of each response."""
    return [
        score(token_logprobs(response, adapted, index))
        for index, (_, response) in enumerate(zip(adapted.requests, responses, strict=True))
    ]
