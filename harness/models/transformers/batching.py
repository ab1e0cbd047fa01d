"""Batches under a budget of tokens, padding counted, that shrink when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(slots=True)
class Budget:
    """How much may be worked on at once; halved for good when memory ran out."""

    tokens: int
    """Most tokens of a batch: its longest item times their number."""
    rows: int
    """Most positions of a batch whose logits are computed."""


def run_batches(
    items: Sequence[Item],
    size: Callable[[Item], tuple[int, int]],
    budget: Budget,
    work: Callable[[Sequence[Item]], Result],
) -> Iterator[tuple[Sequence[Item], Result | None]]:
    """Yield each batch of items, longest first, with its result; None for a single item that is too much for memory."""
    waiting = sorted(items, key=lambda item: -size(item)[0])
    start = 0
    while start < len(waiting):
        batch = waiting[start : start + _count(waiting, start, size, budget)]
        length, rows = size(batch[0])[0] * len(batch), sum(size(item)[1] for item in batch)
        try:
            result = work(batch)
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            del error
        else:
            yield batch, result
            start += len(batch)
            continue
        free_memory()
        if len(batch) == 1:
            yield batch, None
            start += 1
        else:
            budget.tokens, budget.rows = max(1, length // 2), max(1, rows // 2)


def _count(items: Sequence[Item], start: int, size: Callable[[Item], tuple[int, int]], budget: Budget) -> int:
    length, rows, count = max(1, size(items[start])[0]), 0, 0
    for item in items[start:]:
        rows += size(item)[1]
        if count and (length * (count + 1) > budget.tokens or rows > budget.rows):
            break
        count += 1
    return count


NO_MEMORY_WORDS = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)
"""How PyTorch and the libraries below it say that memory ran out; cuBLAS and cuDNN allocate memory of their own."""


def out_of_memory(error: BaseException) -> bool:
    """Return True if an error says that memory ran out, whoever raised it."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or any(words in str(error) for words in NO_MEMORY_WORDS)
    )


def free_memory() -> None:
    """Give back what the device's allocator keeps."""
    import torch

    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
