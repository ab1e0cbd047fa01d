"""The texts that a model wrote, as metrics of social harm read them."""

from __future__ import annotations

from harness import Example, GenerateRequest


def generations(example: Example) -> tuple[str, ...]:
    """Return every completion of an example's own questions, as the model wrote it.

    A chosen letter is not replaced by the option that it stands for, since the model did not write that; an answer to
    an adapter's auxiliary question does not count, and a model that only scored texts wrote nothing. An example
    without requests, read from elsewhere, has its predictions.
    """
    if not example.requests:
        return example.predictions or (example.prediction,)
    return tuple(
        completion.text
        for request, response in zip(example.requests, example.responses, strict=True)
        if isinstance(request, GenerateRequest) and (request.origin is None or request.origin.role == "original")
        for completion in response.completions
    )
