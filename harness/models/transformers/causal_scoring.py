"""Log-probabilities of tokens under a causal language model, computed only where they are read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.models.tokens.tokenizer import Tokens
from harness.models.tokens.windows import Span
from harness.models.transformers.batching import Budget, run_batches
from harness.models.transformers.model_runner import ModelRunner

if TYPE_CHECKING:
    import torch

FLOAT32_ROWS = 2**26
"""Most logits that are held in float32 at once (256 MB)."""


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """A span's answer."""

    logprobs: tuple[float, ...]
    """Natural log-probability of each scored token."""
    greedy: bool
    """For each, True if it was the model's first choice."""
    seconds: float
    """The span's share of its batch's wall time."""
    computed: int
    """Number of its tokens that were read or scored, without those already read for an earlier span."""
    moments: tuple[tuple[float, float], ...] = ()
    """Where they were asked for, at each scored token the mean and standard deviation of the natural log-probability of
    a token drawn from the prediction.
    """


@dataclass(slots=True)
class _Row:
    """Tokens that are read once, and the spans that share them: they differ in the last token, which is not read."""

    tokens: Tokens
    spans: list[int] = field(default_factory=list)
    reads: int = 0


def score_spans(
    runner: ModelRunner, spans: Sequence[Span[int]], budget: Budget, *, pad: int, moments: bool = False
) -> Iterator[tuple[int, ScoredSpan | None]]:
    """Yield each span's index with its log-probabilities, batch by batch; None where memory does not suffice.

    Padding is on the right and needs no mask: in a causal model nothing reads what comes after it.

    Args:
        runner: Runs the model.
        spans: What to score.
        budget: Limits of a batch.
        pad: Any valid token.
        moments: True if the answers have :attr:`ScoredSpan.moments`.
    """
    different: dict[Tokens, _Row] = {}
    for index, span in enumerate(spans):
        tokens = span.tokens[:-1]
        row = different.setdefault(tokens, _Row(tokens))
        row.spans.append(index)
        row.reads = max(row.reads, span.scored)

    def work(batch: Sequence[_Row]) -> list[tuple[int, ScoredSpan]]:
        return _score_batch(runner, spans, batch, pad, moments)

    sized = run_batches(list(different.values()), lambda row: (len(row.tokens), row.reads), budget, work)
    for batch, scored in sized:
        if scored is None:
            yield from ((index, None) for row in batch for index in row.spans)
        else:
            yield from scored


def _score_batch(
    runner: ModelRunner, spans: Sequence[Span[int]], batch: Sequence[_Row], pad: int, moments: bool
) -> list[tuple[int, ScoredSpan]]:
    import torch

    started = time.perf_counter()
    device = runner.model.device
    width = max(len(row.tokens) for row in batch)
    tokens = torch.tensor([[*row.tokens, *[pad] * (width - len(row.tokens))] for row in batch], device=device)
    where = [
        (number, position)
        for number, row in enumerate(batch)
        for position in range(len(row.tokens) - row.reads, len(row.tokens))
    ]
    read: list[int] = []
    targets: list[int] = []
    order: list[int] = []
    computed: list[int] = []
    end = 0
    for row in batch:
        end += row.reads
        for index in row.spans:
            scored = spans[index].scored
            read += range(end - scored, end)
            targets += spans[index].tokens[-scored:]
            order.append(index)
        computed += [len(row.tokens) + 1, *[1] * (len(row.spans) - 1)]
    places = torch.tensor(where, device=device).T
    with torch.inference_mode():
        logits, _ = runner.logits_at(tokens, places[0], places[1], use_cache=False)
        chosen, wanted = (torch.tensor(numbers, device=logits.device) for numbers in (read, targets))
        columns = [*target_logprobs(logits, chosen, wanted)]
        if moments:
            columns += [column[chosen] for column in logprob_moments(logits)]
        answers = torch.stack([column.float() for column in columns]).cpu().tolist()
    seconds = (time.perf_counter() - started) / len(order)
    found, start = [], 0
    for index, tokens_read in zip(order, computed, strict=True):
        end = start + spans[index].scored
        logprobs, first, *rest = (column[start:end] for column in answers)
        moments_found = tuple(zip(*rest, strict=True))
        found.append((index, ScoredSpan(tuple(logprobs), all(first), seconds, tokens_read, moments_found)))
        start = end
    return found


def target_logprobs(
    logits: torch.Tensor, read: torch.Tensor, targets: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return each target's log-probability, ``logit - logsumexp(logits)`` in float32, and whether it is the argmax.

    Args:
        logits: ``(rows, vocabulary)``.
        read: The row that predicts each target, ``(targets,)``.
        targets: Tokens, ``(targets,)``.
    """
    import torch

    parts = torch.split(logits, max(1, FLOAT32_ROWS // logits.shape[-1]))
    norms = torch.cat([part.float().logsumexp(-1) for part in parts])
    picked = logits[read, targets].float()
    if logits.dtype == torch.float32:
        # On a CPU sixteen times as fast as argmax; only coarser numbers than these tie.
        return picked - norms[read], picked == logits.amax(-1)[read]
    first = torch.cat([part.argmax(-1) for part in parts])
    return picked - norms[read], first[read] == targets


def logprob_moments(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return each row's mean and standard deviation of the log-probability of a token drawn from it, in float32.

    These are the mu and sigma of Min-K%++ (Zhang et al. 2024, equation 3).

    Args:
        logits: ``(rows, vocabulary)``.
    """
    import torch

    means, deviations = [], []
    for part in torch.split(logits, max(1, FLOAT32_ROWS // logits.shape[-1])):
        logprobs = part.float().log_softmax(-1)
        chances = logprobs.exp()
        # A token that cannot be drawn adds nothing; 0 times minus infinity would be no number.
        logprobs = logprobs.clamp(min=-1e4)
        mean = (chances * logprobs).sum(-1, keepdim=True)
        means.append(mean[:, 0])
        deviations.append((chances * (logprobs - mean) ** 2).sum(-1).sqrt())
    return torch.cat(means), torch.cat(deviations)
