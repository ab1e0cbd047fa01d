"""Branches fill rows without being cut, and rows are as long as is worth it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.models.transformers.packed_rows import SHORTEST_ROW, fill, room
from harness.models.transformers.prefix_tree import Branch, PrefixTree


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.integers(0, 64))
def test_branches_fill_rows(lengths: list[int], space: int) -> None:
    tree = PrefixTree([(number, *[0] * (length - 1)) for number, length in enumerate(lengths)])
    branches = [Branch(number, number + 1, 0) for number in range(len(lengths))]
    groups = fill(tree, branches, space)
    assert sorted(branch.start for group in groups for branch in group) == list(range(len(lengths)))
    filled = [sum(map(tree.size, group)) for group in groups]
    assert all(len(group) == 1 or size <= space for group, size in zip(groups, filled, strict=True))
    # No two rows that are half empty or more are left: their branches would have shared one.
    assert sum(size <= space / 2 for size in filled) <= 1


def test_a_row_grows_with_what_stands_before_it() -> None:
    assert room(0, 512, "cpu") == SHORTEST_ROW
    assert room(358, 512, "cpu") == 253
    assert room(4000, 512, "cpu") == 512
    assert room(358, 2048, "cuda") > room(358, 2048, "cpu")
