"""Greedy and sampled decoding with a causal language model, one token a step, finished rows leaving the batch.

What a completion is depends on its own prompt, settings and seed alone, never on what else is in the batch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness import Completion, derive_rng
from harness.models.tokens.completions import answer_ended, completion_of_tokens
from harness.models.tokens.stop_sequences import find_stop
from harness.models.tokens.thoughts import Thinking, Thoughts
from harness.models.tokens.tokenizer import TextTokenizer, Tokens
from harness.models.transformers.batching import Budget, run_batches
from harness.models.transformers.model_runner import ModelRunner
from harness.models.transformers.sampling import Choice, Sampling, choose

if TYPE_CHECKING:
    import torch

PLANNED_THOUGHTS = 2048
"""Tokens of reasoning that room is made for when a batch is put together; a batch that needs more is halved."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One completion to be generated."""

    prompt: Tokens
    """The prompt's tokens, at least one; with ``max_tokens`` more they fit the window."""
    max_tokens: int
    """Most tokens to generate, at least one."""
    sampling: Sampling
    """How tokens are chosen."""
    stop: tuple[str, ...]
    """Strings that end the completion."""
    purpose: str
    """Together with the seed, names the random numbers of a sampled completion."""
    seed: int
    """Seeds them."""
    top: int
    """How many of the likeliest tokens to report at each position."""
    thinking: Thinking | None = None
    """How the completion may reason before its answer; None if it does not."""

    @property
    def most(self) -> int:
        """Most tokens to generate, reasoning included."""
        return self.max_tokens + (0 if self.thinking is None else self.thinking.budget)

    @property
    def planned(self) -> int:
        """Tokens to make room for: a budget of reasoning is seldom used up."""
        return min(self.most, self.max_tokens + PLANNED_THOUGHTS)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A generated completion; NaN logits make its logprob NaN."""

    completion: Completion
    seconds: float
    """Its share of the batch's wall time."""
    computed: int
    """Number of generated tokens and of prompt tokens, without those already read for an earlier completion."""


@dataclass(slots=True)
class Row:
    """A completion while it is written: its tokens so far, their log-probabilities, and the seconds spent on it.

    ``read`` is the number of its prompt's tokens that were not read for another completion.
    """

    draw: Draw
    choice: Choice
    read: int
    seconds: float = 0.0
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    top: list[Mapping[str, float]] = field(default_factory=list)
    end_tokens: int = 0
    stopped: bool = False
    thoughts: Thoughts | None = None


def generate(
    runner: ModelRunner, draws: Sequence[Draw], tokenizer: TextTokenizer, budget: Budget, *, ends: frozenset[int]
) -> Iterator[tuple[int, Drawn | None]]:
    """Yield each draw's index with its completion, batch by batch; None where memory does not suffice."""

    def work(batch: Sequence[int]) -> list[Drawn]:
        return _decode_batch(runner, [draws[index] for index in batch], tokenizer, ends)

    def size(index: int) -> tuple[int, int]:
        return len(draws[index].prompt) + draws[index].planned, 1

    for batch, drawn in run_batches(range(len(draws)), size, budget, work):
        if drawn is None:
            yield from ((index, None) for index in batch)
        else:
            yield from zip(batch, drawn, strict=True)


def _decode_batch(
    runner: ModelRunner, draws: Sequence[Draw], tokenizer: TextTokenizer, ends: frozenset[int]
) -> list[Drawn]:
    import torch

    started = time.perf_counter()
    every = [new_row(draw) for draw in draws]
    active = every
    with torch.inference_mode():
        steps = _Steps(runner, [row.draw.prompt for row in active], tokenizer.prefix)
        while active:
            extend(active, steps.logits(), tokenizer)
            going = [index for index, row in enumerate(active) if not finished(row, tokenizer, ends)]
            last = [row.tokens[-1] for row in active]
            active = [active[index] for index in going]
            if active:
                steps.advance(last, going)
    seconds = (time.perf_counter() - started) / len(every)
    for row in every:
        row.seconds = seconds
    return [drawn_row(row, tokenizer) for row in every]


def new_row(draw: Draw) -> Row:
    """Return a completion with nothing written yet."""
    thoughts = None if draw.thinking is None else Thoughts(draw.thinking)
    return Row(draw, Choice(draw.sampling, draw.prompt, _uniforms(draw)), len(draw.prompt), thoughts=thoughts)


def _uniforms(draw: Draw) -> Iterator[float]:
    rng = derive_rng(draw.seed, draw.purpose)
    while True:
        yield rng.random()


def extend(active: Sequence[Row], logits: torch.Tensor, tokenizer: TextTokenizer) -> None:
    """Choose each row's next token, and note its log-probability in the model's own distribution."""
    logits = logits.float()
    logprobs = logits.log_softmax(-1)
    chosen = choose([row.choice for row in active], [row.tokens for row in active], logits)
    taken = logprobs.gather(-1, chosen[:, None])[:, 0]
    most = max(row.draw.top for row in active)
    best = logprobs.topk(min(most, logits.shape[-1])) if most else None
    values, indices = (best.values.tolist(), best.indices.tolist()) if best else ([], [])
    for number, (row, token, logprob) in enumerate(zip(active, chosen.tolist(), taken.tolist(), strict=True)):
        row.tokens.append(token)
        row.logprobs.append(logprob)
        if row.draw.top:
            texts = tokenizer.decode_each(indices[number][: row.draw.top])
            row.top.append(dict(zip(texts, values[number], strict=False)))


def finished(row: Row, tokenizer: TextTokenizer, ends: frozenset[int]) -> bool:
    """Return whether a completion ends with its last token; a text is decoded only where a stop string may end."""
    if row.tokens[-1] in ends:
        row.end_tokens = 1
        return True
    if row.thoughts is not None:
        ended = answer_ended(row.tokens, row.thoughts, row.draw.max_tokens, row.draw.stop, tokenizer)
        return ended or len(row.tokens) >= row.draw.most
    if row.draw.stop and tokenizer.may_end(row.tokens[-1], row.draw.stop):
        # A stop string of n characters begins at most 4n bytes, hence as many tokens, before its end.
        reach = 4 * max(map(len, row.draw.stop)) + 8
        if find_stop(tokenizer.decode(row.tokens[-reach:]), row.draw.stop) is not None:
            row.stopped = find_stop(tokenizer.decode(row.tokens), row.draw.stop) is not None
    return row.stopped or len(row.tokens) >= row.draw.max_tokens


def drawn_row(row: Row, tokenizer: TextTokenizer) -> Drawn:
    """Return the completion that a row has become."""
    completion = completion_of_tokens(
        row.tokens,
        row.logprobs,
        row.top,
        tokenizer,
        ended=bool(row.end_tokens),
        stop=row.draw.stop,
        max_tokens=row.draw.max_tokens,
        thoughts=row.thoughts,
    )
    return Drawn(completion, row.seconds, row.read + len(row.tokens))


class _Steps:
    """The model's state while a batch is decoded: prompts padded on the left, and the key-value cache of each row.

    A model that returns no cache reads the whole text again at every step.
    """

    def __init__(self, runner: ModelRunner, prompts: Sequence[Tokens], pad: int) -> None:
        import inspect

        import torch

        device = runner.model.device
        width = max(map(len, prompts))
        self._runner = runner
        self._tokens = torch.tensor([[*[pad] * (width - len(p)), *p] for p in prompts], device=device)
        self._mask = torch.tensor([[*[0] * (width - len(p)), *[1] * len(p)] for p in prompts], device=device)
        self._cache: Any = None
        self._read = 0
        self._takes_positions = "position_ids" in inspect.signature(runner.model.forward).parameters

    def logits(self) -> torch.Tensor:
        """Return the logits of each row's next token, ``(rows, vocabulary)``."""
        import torch

        tokens = self._tokens[:, self._read :]
        inputs: dict[str, Any] = {"attention_mask": self._mask, "use_cache": True}
        if self._cache is not None:
            inputs["past_key_values"] = self._cache
        if self._takes_positions:
            inputs["position_ids"] = (self._mask.cumsum(-1) - 1).clamp(min=0)[:, self._read :]
        batch = torch.arange(len(tokens), device=tokens.device)
        logits, output = self._runner.logits_at(tokens, batch, torch.full_like(batch, tokens.shape[1] - 1), **inputs)
        self._cache = getattr(output, "past_key_values", None)
        if self._cache is not None:
            self._read = self._tokens.shape[1]
        return logits

    def advance(self, tokens: Sequence[int], going: Sequence[int]) -> None:
        """Append a token to each row, and go on with some of the rows.

        Args:
            tokens: One for each row.
            going: Indices of the rows that go on.
        """
        import torch

        device = self._tokens.device
        column = torch.tensor(tokens, device=device)[:, None]
        self._tokens = torch.cat([self._tokens, column], -1)
        self._mask = torch.cat([self._mask, torch.ones_like(column)], -1)
        if len(going) < len(tokens):
            keep = torch.tensor(going, device=device)
            self._tokens, self._mask = self._tokens[keep], self._mask[keep]
            if self._cache is not None:
                self._cache.batch_select_indices(keep)
