"""Choosing the next token of each text: greedily or by chance, with the penalty and cut-offs that transformers defines.

As in transformers, logits are penalised, divided by the temperature, and then cut off by top-k, top-p and min-p in that
order. A text's choice depends on its own settings and random numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness import GenerateRequest

if TYPE_CHECKING:
    import torch


BLOCK = 512
"""Tokens whose probabilities are added up at once."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the tokens of a completion are chosen; fields as in :class:`harness.GenerateRequest`."""

    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None

    @classmethod
    def of(cls, request: GenerateRequest) -> Sampling:
        """Return how a request wants its tokens chosen."""
        return cls(request.temperature, request.top_p, request.top_k, request.min_p, request.repetition_penalty)


class Choice:
    """How one text's tokens are chosen, while it is written.

    Args:
        sampling: The settings.
        prompt: The prompt's tokens.
        uniforms: Random numbers from 0 to 1, one for each token.
    """

    def __init__(self, sampling: Sampling, prompt: Sequence[int], uniforms: Iterator[float]) -> None:
        self.sampling, self.uniforms = sampling, uniforms
        self._prompt = prompt
        self._seen: torch.Tensor | None = None

    def seen(self, written: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        """Return a mask of the vocabulary: the tokens of the prompt and of what is written; called after each token."""
        import torch

        new = written[-1:]
        if self._seen is None:
            self._seen = torch.zeros(logits.shape[-1], dtype=torch.bool, device=logits.device)
            new = [*self._prompt, *written]
        known = [token for token in new if token < logits.shape[-1]]  # embeddings may be padded beyond the logits
        self._seen[torch.tensor(known, dtype=torch.long, device=logits.device)] = True
        return self._seen


def choose(choices: Sequence[Choice], written: Sequence[Sequence[int]], logits: torch.Tensor) -> torch.Tensor:
    """Return each text's next token: the likeliest, or where the cumulative probability passes a random number.

    Args:
        choices: How each text's token is chosen.
        written: The tokens that each text has so far.
        logits: The next token's, ``(texts, vocabulary)``, in single precision.
    """
    import torch

    logits = _penalised(choices, written, logits)
    chosen = logits.argmax(-1)
    sampled = [index for index, choice in enumerate(choices) if choice.sampling.temperature > 0]
    if sampled:
        where = torch.tensor(sampled, device=logits.device)
        settings = [choices[index].sampling for index in sampled]
        heat = torch.tensor([one.temperature for one in settings], device=logits.device)
        scores = cut_off(settings, logits[where] / heat[:, None])
        uniforms = torch.tensor([[next(choices[index].uniforms)] for index in sampled], dtype=torch.float64)
        chosen[where] = draw(scores.softmax(-1), uniforms).to(chosen.device)
    return chosen


def draw(chances: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Return for each row the first index at which the cumulative probability passes a random number.

    Sums are in double precision, in blocks: the device adds up each block, and only one block of a row is moved to the
    CPU, where cumulative sums are the same every time, as on a GPU they need not be.

    Args:
        chances: Probabilities up to a factor, ``(rows, vocabulary)``.
        uniforms: Random numbers from 0 to 1, 1 left out, ``(rows, 1)`` in double precision on the CPU.

    Returns:
        Indices, ``(rows,)``, on the CPU.
    """
    import torch

    if chances.device.type == "mps":  # which has no double precision
        chances = chances.cpu()
    missing = -chances.shape[-1] % BLOCK
    blocks = torch.nn.functional.pad(chances, (0, missing)).unflatten(-1, (-1, BLOCK))
    sums = blocks.sum(-1, dtype=torch.float64).cpu().cumsum(-1)
    target = uniforms * sums[:, -1:]
    block = torch.searchsorted(sums, target, right=True).clamp(max=sums.shape[-1] - 1)
    before = torch.where(block > 0, sums.gather(-1, (block - 1).clamp(min=0)), 0.0)
    every = torch.arange(len(chances), device=chances.device)
    inside = blocks[every, block[:, 0].to(chances.device)].cpu().double().cumsum(-1)
    # Rounding must not lead beyond the last token of the block that can be drawn.
    rest = torch.minimum(target - before, torch.nextafter(inside[:, -1:], torch.zeros_like(before)))
    found = block * BLOCK + torch.searchsorted(inside, rest, right=True)
    return found[:, 0].clamp(max=chances.shape[-1] - 1)


def cut_off(settings: Sequence[Sampling], scores: torch.Tensor) -> torch.Tensor:
    """Return logits, minus infinity for the tokens that top-k, top-p and min-p leave out; the likeliest always stays.

    Args:
        settings: Those of each row.
        scores: Logits divided by the temperature, ``(rows, vocabulary)``.
    """
    import torch

    out, device = -torch.inf, scores.device
    if any(one.top_k is not None for one in settings):
        size = scores.shape[-1]
        ranks = torch.tensor([min(one.top_k or size, size) for one in settings], device=device)
        known = [one.top_k for one in settings if one.top_k is not None]
        best = scores.topk(min(max(known), size)).values
        least = best.gather(-1, (ranks.clamp(max=best.shape[-1]) - 1)[:, None])
        limited = torch.tensor([one.top_k is not None for one in settings], device=device)[:, None]
        scores = scores.masked_fill(limited & (scores < least), out)
    if any(one.top_p is not None for one in settings):
        ascending, order = scores.sort(-1)
        below = torch.tensor([1.0 - (1.0 if one.top_p is None else one.top_p) for one in settings], device=device)
        limited = torch.tensor([one.top_p is not None for one in settings], device=device)[:, None]
        removed = limited & (ascending.softmax(-1).cumsum(-1) <= below[:, None])
        removed[:, -1] = False
        scores = scores.masked_fill(torch.zeros_like(removed).scatter(-1, order, removed), out)
    if any(one.min_p is not None for one in settings):
        shares = scores.softmax(-1)
        least = torch.tensor([one.min_p or 0.0 for one in settings], device=device)[:, None]
        scores = scores.masked_fill(shares < least * shares.amax(-1, keepdim=True), out)
    return scores


def _penalised(choices: Sequence[Choice], written: Sequence[Sequence[int]], logits: torch.Tensor) -> torch.Tensor:
    import torch

    penalised = [index for index, choice in enumerate(choices) if choice.sampling.repetition_penalty is not None]
    if not penalised:
        return logits
    where = torch.tensor(penalised, device=logits.device)
    factors = torch.tensor(
        [choices[index].sampling.repetition_penalty for index in penalised], dtype=logits.dtype, device=logits.device
    )[:, None]
    seen = torch.stack([choices[index].seen(written[index], logits) for index in penalised])
    scores = logits[where]
    changed = logits.clone()
    changed[where] = torch.where(seen, torch.where(scores < 0, scores * factors, scores / factors), scores)
    return changed
