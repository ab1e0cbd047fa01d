"""Branches of a prefix tree, packed side by side into one row; each token sees only its own ancestors."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.models.transformers.model_runner import ModelRunner
from harness.models.transformers.prefix_tree import Branch, PrefixTree
from harness.models.transformers.shareable import refusals

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from harness.models.transformers.key_values import KeyValues


SHORTEST_ROW = 64
COPIES = {"cpu": 180}
COPIES_ELSEWHERE = 800
"""Square of a row's best length, for each token that precedes it: in longer rows more tokens of different branches
meet in vain, and for shorter ones what precedes them is copied more often. Measured on a CPU; elsewhere reckoned
from a GPU's speed of computing and of copying."""


def room(before: int, most: int, device: str) -> int:
    """Return how many tokens of several branches to pack into one row.

    Args:
        before: Number of kept tokens before the row.
        most: Upper limit.
        device: Kind of device, such as ``cuda``.
    """
    return min(most, max(SHORTEST_ROW, math.isqrt(COPIES.get(device, COPIES_ELSEWHERE) * before)))


def fill(tree: PrefixTree, branches: Sequence[Branch], room: int) -> list[list[Branch]]:
    """Return branches in groups that fill rows; a branch longer than a row has a row to itself.

    Best fit decreasing: the longest first, each into the row where it leaves the least room.
    """
    groups: list[list[Branch]] = []
    left: list[tuple[int, int]] = []  # room and number of the groups that have some, sorted
    for branch in sorted(branches, key=tree.size, reverse=True):
        size = tree.size(branch)
        place = bisect.bisect_left(left, (size, -1))
        if place == len(left):
            bisect.insort(left, (room - size, len(groups)))
            groups.append([branch])
        else:
            free, number = left.pop(place)
            groups[number].append(branch)
            bisect.insort(left, (free - size, number))
    return groups


@dataclass(frozen=True, slots=True)
class PackedRow:
    """The tokens of one row."""

    tokens: NDArray[np.int64]
    """The tokens; those of a branch in depth-first order."""
    depths: NDArray[np.int64]
    """The position of each in its own text."""
    visible: NDArray[np.bool_] | None
    """Which tokens each one sees, ``(tokens, before + tokens)``: first those that precede the row. None if it sees all
    tokens before itself, as in any text; such a row is read alone.
    """
    paths: dict[int, NDArray[np.int64]]
    """For each sequence of the tree that ends here, the places in the row of its tokens from the depth at which it
    enters the row.
    """


def pack(tree: PrefixTree, branches: Sequence[Branch], before: int) -> PackedRow:
    """Pack branches of one trunk into a row."""
    import numpy as np

    size = sum(map(tree.size, branches))
    tokens, depths = np.zeros(size, np.int64), np.zeros(size, np.int64)
    visible = np.zeros((size, before + size), bool)
    paths: dict[int, NDArray[np.int64]] = {}
    end = 0
    for branch in branches:
        path = np.zeros(0, np.int64)
        for number in range(branch.start, branch.end):
            sequence = tree.sequences[number]
            known = branch.depth if number == branch.start else max(tree.shared[number], branch.depth)
            start, end = end, end + len(sequence) - known
            path = np.concatenate([path[: known - branch.depth], np.arange(start, end)])
            paths[number] = path
            tokens[start:end] = sequence[known:]
            depths[start:end] = np.arange(known, len(sequence))
            visible[start:end, : branch.depth] = True
            visible[start:end, before + path[: known - branch.depth]] = True
            visible[start:end, before + start : before + end] = np.tri(end - start, dtype=bool)
    return PackedRow(tokens, depths, visible, paths)


def packed_inputs(
    rows: Sequence[PackedRow], before: int, runner: ModelRunner, *, pad: int
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Return token ids ``(rows, longest)`` and the model's further inputs: positions and a mask.

    Padding is at the end of a row, and each padding token sees only itself. A row that needs no mask gets none, so that
    the model takes its fastest way.
    """
    import numpy as np
    import torch

    from harness.models.transformers.masks import attention_mask

    device = runner.model.device
    if rows[0].visible is None:
        [row] = rows
        return torch.from_numpy(row.tokens).to(device)[None], {
            "position_ids": torch.from_numpy(row.depths).to(device)[None]
        }
    width = max(len(row.tokens) for row in rows)
    tokens = np.full((len(rows), width), pad, np.int64)
    depths = np.zeros((len(rows), width), np.int64)
    visible = np.zeros((len(rows), width, before + width), bool)
    visible[:, np.arange(width), before + np.arange(width)] = True
    for number, row in enumerate(rows):
        size = len(row.tokens)
        tokens[number, :size], depths[number, :size] = row.tokens, row.depths
        visible[number, :size, : before + size] = row.visible
    return torch.from_numpy(tokens).to(device), {
        "position_ids": torch.from_numpy(depths).to(device),
        "attention_mask": attention_mask(torch.from_numpy(visible).to(device)[:, None], runner.mask_dtype),
    }


def read_rows(
    runner: ModelRunner,
    packed: Sequence[PackedRow],
    before: KeyValues | None,
    places: Sequence[tuple[int, int]],
    *,
    layers: int,
    pad: int,
    keep: bool = False,
) -> tuple[torch.Tensor, KeyValues | None]:
    """Read packed rows on top of kept tokens.

    Args:
        runner: Runs the model.
        packed: The rows.
        before: The keys and values of their trunk.
        places: Row and position of each token whose logits are wanted.
        layers: The model's number of layers.
        pad: Any valid token.
        keep: True to return the new keys and values.

    Returns:
        Logits ``(places, vocabulary)``, and the rows' keys and values.

    Raises:
        NotShareable: The model cannot read packed rows.
    """
    import torch

    from harness.models.transformers.key_values import OnTop

    length = 0 if before is None else before.length
    tokens, inputs = packed_inputs(packed, length, runner, pad=pad)
    cache = OnTop(before, layers, keep_new=keep)
    where = torch.tensor(places, dtype=torch.long, device=tokens.device).reshape(-1, 2).T
    with refusals():
        logits, _ = runner.logits_at(tokens, where[0], where[1], past_key_values=cache, use_cache=True, **inputs)
    return logits, cache.new() if keep else None
