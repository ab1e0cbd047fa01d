"""Batches keep to their budget, hold every item once, and shrink when memory runs out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.models.transformers.batching import Budget, run_batches


def size(item: tuple[int, int]) -> tuple[int, int]:
    return item


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 10))), st.integers(1, 200), st.integers(1, 40))
def test_budgets_are_kept(items: list[tuple[int, int]], tokens: int, rows: int) -> None:
    done: list[tuple[int, int]] = []
    for batch, result in run_batches(items, size, Budget(tokens, rows), len):
        assert result == len(batch)
        assert len(batch) == 1 or max(length for length, _ in batch) * len(batch) <= tokens
        assert len(batch) == 1 or sum(reads for _, reads in batch) <= rows
        done += batch
    assert sorted(done) == sorted(items)
    assert [length for length, _ in done] == sorted((length for length, _ in items), reverse=True)


@given(st.lists(st.tuples(st.integers(1, 50), st.just(1))), st.integers(1, 60))
def test_memory_that_runs_out(items: list[tuple[int, int]], memory: int) -> None:
    failures = 0

    def work(batch: Sequence[tuple[int, int]]) -> bool:
        nonlocal failures
        if max(length for length, _ in batch) * len(batch) > memory:
            failures += 1
            raise RuntimeError("CUDA out of memory.")
        return True

    answered = {}
    for batch, result in run_batches(
        list(enumerate(items)), lambda pair: size(pair[1]), Budget(1000, 1000), lambda b: work([i for _, i in b])
    ):
        for index, item in batch:
            assert index not in answered
            answered[index] = result
            assert (result is None) == (item[0] > memory)
    assert len(answered) == len(items)
    assert failures <= 12 + sum(length > memory for length, _ in items)


def test_other_errors_are_not_hidden() -> None:
    def broken(_: object) -> None:
        raise RuntimeError("shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="shapes"):
        list(run_batches([(1, 1)], size, Budget(1, 1), broken))
