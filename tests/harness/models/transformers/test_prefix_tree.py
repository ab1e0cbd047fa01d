"""Prefix trees hold every token of every sequence exactly once, on a trunk or in a branch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.models.tokens.tokenizer import Tokens
from harness.models.transformers import prefix_tree
from harness.models.transformers.prefix_tree import Branch, PrefixTree, Trunk

SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=24).map(tuple), unique=True, max_size=24)


def placed(tree: PrefixTree, branches: list[Branch], trunks: list[Trunk]) -> dict[int, list[Tokens]]:
    """What each sequence is read as: its parts on trunks, then its part in a branch."""
    found: dict[int, list[Tokens]] = {}

    def walk(branches: list[Branch], trunks: list[Trunk], before: list[tuple[Trunk, int]]) -> None:
        for branch in branches:
            for number in range(branch.start, branch.end):
                assert number not in found
                parts, end = [], branch.depth
                for trunk, length in reversed(before):
                    end = min(end, length)
                    parts.append(tree.sequences[trunk.sequence][trunk.begin : end])
                    end = trunk.begin
                found[number] = [*reversed(parts), tree.sequences[number][branch.depth :]]
        for trunk in trunks:
            walk(trunk.branches, trunk.trunks, [*before, (trunk, trunk.end)])

    walk(branches, trunks, [])
    return found


@given(SEQUENCES, st.integers(1, 30), st.sampled_from([1, 8, 64]))
def test_every_sequence_is_put_together_again(sequences: list[Tokens], most: int, least: int) -> None:
    tree = PrefixTree(sequences)
    assert [sequences[index] for index in tree.order] == tree.sequences
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefix_tree, "LEAST_SAVED", least)
        branches, trunks = tree.parts(most)
    found = placed(tree, branches, trunks)
    assert sorted(found) == list(range(len(sequences)))
    for number, parts in found.items():
        assert tuple(token for part in parts for token in part) == tree.sequences[number]


@given(SEQUENCES)
def test_a_branch_has_as_many_tokens_as_there_are_different_beginnings(sequences: list[Tokens]) -> None:
    tree = PrefixTree(sequences)
    for start in range(len(sequences)):
        different = {sequence[:length] for sequence in tree.sequences[start:] for length in range(1, len(sequence) + 1)}
        assert tree.size(Branch(start, len(sequences), 0)) == len(different)


@given(SEQUENCES, st.integers(1, 30))
def test_sequences_below_a_trunk_run_over_it_up_to_where_they_leave(sequences: list[Tokens], most: int) -> None:
    tree = PrefixTree(sequences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefix_tree, "LEAST_SAVED", 1)
        _, trunks = tree.parts(most)
    for trunk in trunks:
        for number, leaves in trunk.below():
            assert trunk.begin <= leaves <= trunk.end
            assert tree.sequences[number][:leaves] == tree.sequences[trunk.sequence][:leaves]


def test_a_header_is_a_trunk_and_its_questions_are_branches() -> None:
    header = tuple(range(100, 400))
    tree = PrefixTree([(*header, question, choice) for question in range(50) for choice in range(4)])
    branches, [trunk] = tree.parts(64)
    assert branches == []
    assert (trunk.begin, trunk.end, len(trunk.branches), trunk.trunks) == (0, 300, 50, [])


def test_contexts_that_grow_are_one_trunk_with_branches_along_it() -> None:
    context = tuple(range(100, 500))
    tree = PrefixTree(
        [(*context[:length], candidate, *range(15)) for length in range(20, 400, 40) for candidate in range(8)]
    )
    _, [trunk] = tree.parts(128)
    assert (trunk.begin, trunk.trunks) == (0, [])
    assert {branch.depth for branch in trunk.branches} >= set(range(20, trunk.end, 40))
    assert trunk.end >= 260


def test_sequences_with_little_in_common_are_no_trunk() -> None:
    tree = PrefixTree([(0, number, *range(300)) for number in range(30)])
    branches, trunks = tree.parts(512)
    assert trunks == []
    assert len(branches) == 30
