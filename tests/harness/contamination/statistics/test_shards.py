"""How many shards, and where they begin."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import DataError
from harness.contamination.statistics.shards import shard_bounds, shard_count


@pytest.mark.parametrize(
    ("examples", "tokens", "context", "shards"),
    [
        (100, 10, 1024, 10),  # a tenth
        (101, 10, 1024, 11),  # rounded up
        (40, 10, 1024, 8),  # at least 8
        (5000, 1, 1024, 200),  # at most 200
        (10, 10, 1024, 5),  # two examples a shard at least
        (2, 10, 1024, 1),
        (100, 30, 76, 10),  # 10 examples of 30 tokens and one more fit into four contexts of 76
        (100, 32, 80, 11),  # with 32 tokens not into four of 80, but nine do
        (100, 400, 256, 20),  # nothing fits: five examples a shard
    ],
)
def test_the_rule(examples: int, tokens: int, context: int, shards: int) -> None:
    assert shard_count([tokens] * examples, context) == shards


@given(st.lists(st.integers(1, 300), min_size=2, max_size=200), st.integers(8, 300), st.randoms())
def test_the_rule_does_not_look_at_the_order(counts: list[int], context: int, rng: random.Random) -> None:
    other = rng.sample(counts, len(counts))
    assert shard_count(counts, context) == shard_count(other, context)


def test_a_number_of_ones_own() -> None:
    assert shard_count([10] * 100, 1024, shards=50) == 50
    assert shard_count([10] * 100, 1024, shards=1) == 1
    for shards in (0, 51, 101, -1):
        with pytest.raises(DataError, match="1 to 50"):
            shard_count([10] * 100, 1024, shards=shards)


@pytest.mark.parametrize(("counts", "there"), [([], "there are 0"), ([5], "there is 1")])
def test_no_order_to_test(counts: list[int], there: str) -> None:
    with pytest.raises(DataError, match=f"needs at least 2 examples; {there}"):
        shard_count(counts, 1024)


@given(st.integers(1, 300), st.data())
def test_shards_are_all_examples_in_order(n: int, data: st.DataObject) -> None:
    r = data.draw(st.integers(1, n))
    bounds = shard_bounds(n, r)
    assert [index for start, stop in bounds for index in range(start, stop)] == list(range(n))
    sizes = [stop - start for start, stop in bounds]
    assert sizes == [n // r + 1] * (n % r) + [n // r] * (r - n % r)  # the longer ones first, as published


@pytest.mark.parametrize("r", [0, 4])
def test_more_shards_than_examples(r: int) -> None:
    with pytest.raises(ValueError, match="3 examples"):
        shard_bounds(3, r)
