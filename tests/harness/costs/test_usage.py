"""What a run's requests took: asked for, and computed."""

from __future__ import annotations

import pytest

from harness import GenerateRequest, Response, ScoreRequest
from harness.costs.usage import Usage


@pytest.mark.parametrize(
    ("response", "asked", "computed"),
    [
        (Response(prompt_tokens=90, completion_tokens=10), 100, 100),
        (Response(prompt_tokens=90, completion_tokens=10, computed_tokens=15), 100, 15),
        (Response(prompt_tokens=90, completion_tokens=10, computed_tokens=0), 100, 0),
        (Response(prompt_tokens=90, completion_tokens=10, computed_tokens=150), 100, 150),  # overlapping windows
        (Response(prompt_tokens=90, completion_tokens=10, cached=True), 100, 0),
        (Response(prompt_tokens=90, completion_tokens=10, computed_tokens=15, cached=True), 100, 0),
        (Response(), 0, 0),
        (Response(error="no"), 0, 0),
    ],
)
def test_cached_and_shared_tokens_are_not_computed(response: Response, asked: int, computed: int) -> None:
    usage = Usage()
    usage.add(ScoreRequest("a", "b"), response)
    usage.add(GenerateRequest("a", 1), response)
    assert (usage.prompt_tokens + usage.completion_tokens, usage.computed_tokens) == (2 * asked, 2 * computed)
