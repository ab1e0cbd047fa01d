"""Repairs for a data set whose order is not exchangeable: what may still be permuted, and how.

Shuffling the data set again is not a repair: it destroys the published order, which the test is about.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from random import Random

from harness.contamination.statistics.id_prefix import id_prefix, without_ids
from harness.contamination.statistics.tfidf import similarity_rows, tfidf
from harness.errors import DataError


@dataclass(frozen=True, slots=True)
class Repaired:
    """Texts whose orders may be compared, and a description of the repair."""

    texts: tuple[str, ...]
    """The texts to permute, in published order."""
    kept: tuple[int, ...]
    """Each text's position among the original texts."""
    prefixes: tuple[str, ...]
    """The text that stays in place before each position; empty if nothing does."""
    groups: tuple[tuple[int, ...], ...]
    """Sets of positions that may be permuted among themselves; together they are all positions."""
    done: str
    """A description of the repair, for people."""

    def draw(self, rng: Random, start: int = 0, stop: int | None = None) -> list[int]:
        """Return a random order of the positions from ``start`` to ``stop``, permuted within the groups alone.

        Entry k is the index of the text at position start + k. The orders that may be drawn are a subgroup of all
        permutations, so that a test that draws from it is exact under the weaker hypothesis that the published order is
        random within the groups.
        """
        stop = len(self.texts) if stop is None else stop
        order = list(range(start, stop))
        for group in self.groups:
            places = [position for position in group if start <= position < stop]
            for place, text in zip(places, rng.sample(places, len(places)), strict=True):
                order[place - start] = text
        return order


def strip_ids(texts: Sequence[str]) -> Repaired:
    """Remove each example's leading number, or the identifiers of a JSON record.

    A number or identifier that rises along the data set tells any model the published order.
    """
    stripped = [without_ids(text) for text in texts]
    changed = sum(old != new for old, new in zip(texts, stripped, strict=True))
    return _repaired(stripped, f"removed the ids of {changed} of {len(texts)} examples")


def permute_under_ids(texts: Sequence[str]) -> Repaired:
    """Keep each leading number or identifier in its place and permute the contents that follow them.

    The ids then rise in every order that is compared, published or shuffled.
    """
    prefixes = [id_prefix(text) for text in texts]
    contents = [text[len(prefix) :] for text, prefix in zip(texts, prefixes, strict=True)]
    held = sum(map(bool, prefixes))
    return _repaired(contents, f"held the ids of {held} of {len(texts)} examples in place", prefixes=prefixes)


def collapse_near_duplicates(texts: Sequence[str], threshold: float = 0.9, seed: int = 0) -> Repaired:
    """Keep one example of each group of near duplicates.

    Examples belong together where a chain of tf-idf cosines of at least ``threshold``, or of equal texts, joins them.
    A random one is kept, not the first: the first of two tends to come earlier than an example without a duplicate, so
    the order of those kept would not be random any more.

    Raises:
        DataError: Fewer than 2 examples are left.
    """
    rng = Random(seed)  # noqa: S311 - a reproducible draw, not secrets
    kept = sorted(rng.choice(cluster) for cluster in near_duplicates(texts, threshold))
    if len(kept) < 2:
        raise DataError(f"all {len(texts)} examples are near duplicates of each other: no order is left to test.")
    gone = len(texts) - len(kept)
    return _repaired([texts[index] for index in kept], f"left out {gone} near duplicates of {len(texts)}", kept=kept)


def near_duplicates(texts: Sequence[str], threshold: float = 0.9) -> list[list[int]]:
    """Return the groups of texts that a chain of tf-idf cosines of at least ``threshold``, or of equal texts, joins."""
    import numpy as np

    links: list[tuple[int, int]] = []
    first_seen: dict[str, int] = {}
    for index, text in enumerate(texts):
        links.append((first_seen.setdefault(text.strip().casefold(), index), index))
    for start, rows in similarity_rows(tfidf(texts)):
        ones, others = np.nonzero(rows >= threshold)
        links.extend(zip((ones + start).tolist(), others.tolist(), strict=True))
    return _joined(len(texts), links)


def blocks(texts: Sequence[str], labels: Sequence[Hashable]) -> Repaired:
    """Permute examples of one label or topic among themselves alone, for a data set that is sorted or dealt by it.

    Raises:
        ValueError: There are not as many labels as texts.
        DataError: No two examples have the same label.
    """
    if len(labels) != len(texts):
        raise ValueError(f"{len(labels)} labels for {len(texts)} texts")
    groups: dict[Hashable, list[int]] = {}
    for position, label in enumerate(labels):
        groups.setdefault(label, []).append(position)
    if len(groups) == len(texts):
        raise DataError("no two examples have the same label, so there is no order within labels to test.")
    done = f"permuted within {len(groups)} blocks of examples with one label"
    return _repaired(texts, done, groups=list(groups.values()))


def neighbourhoods(texts: Sequence[str], size: int) -> Repaired:
    """Permute examples among their neighbours alone, for a data set whose topics or lengths drift along the file."""
    groups = [range(start, min(start + size, len(texts))) for start in range(0, len(texts), size)]
    return _repaired(texts, f"permuted within {len(groups)} runs of {size} neighbours", groups=groups)


def length_classes(texts: Sequence[str], size: int) -> Repaired:
    """Permute examples of nearly one length among themselves alone, for a data set that is ordered by length.

    Classes are neighbours in the order of lengths, with ``size`` examples; equal lengths stay together.
    """
    lengths = [len(text) for text in texts]
    places = sorted(range(len(texts)), key=lambda place: lengths[place])
    groups: list[list[int]] = []
    for rank, place in enumerate(places):
        if not groups or (len(groups[-1]) >= size and lengths[place] != lengths[places[rank - 1]]):
            groups.append([])
        groups[-1].append(place)
    return _repaired(texts, f"permuted within {len(groups)} classes of length", groups=groups)


def _repaired(
    texts: Sequence[str],
    done: str,
    *,
    kept: Sequence[int] | None = None,
    prefixes: Sequence[str] | None = None,
    groups: Sequence[Sequence[int]] | None = None,
) -> Repaired:
    everything = range(len(texts))
    return Repaired(
        texts=tuple(texts),
        kept=tuple(everything if kept is None else kept),
        prefixes=tuple("" for _ in everything) if prefixes is None else tuple(prefixes),
        groups=tuple(tuple(group) for group in ([everything] if groups is None else groups)),
        done=done,
    )


def _joined(n: int, links: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components of a graph with n nodes, in the order of their first members."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix(([1] * len(links), tuple(zip(*links, strict=True))), shape=(n, n))
    components: dict[int, list[int]] = {}
    for node, component in enumerate(connected_components(graph, directed=False)[1].tolist()):
        components.setdefault(component, []).append(node)
    return list(components.values())
