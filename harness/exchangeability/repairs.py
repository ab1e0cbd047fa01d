"""Repairs for a data set whose order is not exchangeable: what may be permuted after all, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Repaired:
    """Texts whose orders may be compared, and what was done to them.

    Attributes:
        texts: What is permuted, in published order.
        kept: The position that each text had among the texts given.
        prefixes: What stays in place before the text at each position; empty strings where nothing does.
        groups: Positions that may be permuted among themselves; together they are all positions.
        done: What was done, in words.
    """

    texts: tuple[str, ...]
    kept: tuple[int, ...]
    prefixes: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    done: str

    def draw(self, rng: Random, start: int = 0, stop: int | None = None) -> list[int]:
        """Return a random order of the positions from ``start`` to ``stop``, permuted within the groups alone.

        Entry k says which text stands at position start + k.
        """
        raise NotImplementedError

    def arranged(self, order: Sequence[int], start: int = 0) -> list[str]:
        """Return the texts of an order as the model reads them, each behind the prefix of its new position."""
        raise NotImplementedError


def strip_ids(texts: Sequence[str]) -> Repaired:
    """Remove each example's leading number or identifier."""
    raise NotImplementedError


def permute_under_ids(texts: Sequence[str]) -> Repaired:
    """Hold each leading number or identifier in its place and permute the contents under them."""
    raise NotImplementedError


def collapse_near_duplicates(texts: Sequence[str], threshold: float = 0.9) -> Repaired:
    """Keep one example of each group of near duplicates."""
    raise NotImplementedError


def blocks(texts: Sequence[str], labels: Sequence[str]) -> Repaired:
    """Permute examples of one label or topic among themselves alone."""
    raise NotImplementedError
