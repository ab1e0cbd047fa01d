"""Counts of a run's requests, tokens and seconds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from harness.contracts import GenerateRequest, Request, Response


@dataclass(slots=True)
class Usage:
    """The requests, tokens and seconds of a run so far."""

    queries: int = 0
    """Number of requests, including cached ones."""
    cached: int = 0
    """Number of requests answered by the cache or by an equal request."""
    prompt_tokens: int = 0
    """Tokens of all prompts."""
    completion_tokens: int = 0
    """Tokens generated or scored."""
    computed_tokens: int = 0
    """Tokens of both kinds that were computed since the run was started, without cached answers and without prefixes
    that the model had already read for another request, if it reports them.
    """
    batched: int = 0
    """Number of answers that came in batches."""
    batched_tokens: tuple[int, int, int] = (0, 0, 0)
    """Of all tokens, those of answers that came in batches: of prompts, generated ones, and reasoning among these."""
    reasoning_tokens: int = 0
    """Of the tokens generated, those of reasoning, where they are known."""
    model_seconds: float = 0.0
    """The model's wall time; a cached answer counts the time that it took originally."""
    lengths: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Number of answers by tokens of the prompt and tokens generated; a text that is only scored is all prompt."""
    unknown_lengths: int = 0
    """Number of answers without token counts."""
    imported: Counter[str] = field(default_factory=Counter)
    """Answers that were imported into the response cache, by the SHA-256 of the file they came from."""
    other_gpus: Counter[str] = field(default_factory=Counter)
    """Answers that another kind of GPU gave, by its name."""

    def add(self, request: Request, response: Response) -> None:
        """Count one response."""
        self.queries += 1
        self.cached += response.cached
        if response.imported is not None:
            self.imported[response.imported] += 1
        if response.other_gpu is not None:
            self.other_gpus[response.other_gpu] += 1
        self.prompt_tokens += response.prompt_tokens or 0
        self.completion_tokens += response.completion_tokens or 0
        if not response.cached:
            asked = (response.prompt_tokens or 0) + (response.completion_tokens or 0)
            self.computed_tokens += asked if response.computed_tokens is None else response.computed_tokens
        reasoning = 0
        if isinstance(request, GenerateRequest):  # greedy completions are one, repeated
            written = response.completions[: None if request.temperature > 0 else 1]
            reasoning = sum(completion.reasoning_tokens or 0 for completion in written)
        self.reasoning_tokens += reasoning
        if response.batched:
            new = response.prompt_tokens or 0, response.completion_tokens or 0, reasoning
            self.batched += 1
            before = self.batched_tokens
            self.batched_tokens = before[0] + new[0], before[1] + new[1], before[2] + new[2]
        self.model_seconds += response.seconds
        prompt, completion = response.prompt_tokens, response.completion_tokens
        if response.error is not None:
            return
        if prompt is None or completion is None:
            self.unknown_lengths += 1
        elif isinstance(request, GenerateRequest):
            self.lengths[prompt, completion] += 1
        else:
            self.lengths[prompt + completion, 0] += 1
