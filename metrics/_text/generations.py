"""The texts that a model wrote, before an adapter read answers from them."""

from __future__ import annotations

from harness import Completion, Example, GenerateRequest


def generations(example: Example) -> tuple[str, ...]:
    """Return every completion of an example's own requests, as the model wrote it.

    A chosen letter is not replaced by its option, and answers to an adapter's auxiliary requests do not count. It is
    empty if the model only scored texts. An imported example without requests has its predictions.
    """
    if not example.requests:
        return example.predictions or (example.prediction,)
    return tuple(completion.text for completion in own_completions(example))


def own_completions(example: Example) -> list[Completion]:
    """Return every completion of an example's own requests; those of auxiliary requests do not count."""
    return [
        completion
        for request, response in zip(example.requests, example.responses, strict=True)
        if isinstance(request, GenerateRequest) and (request.origin is None or request.origin.role == "original")
        for completion in response.completions
    ]
