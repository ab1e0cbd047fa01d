"""How many insertions, deletions and replacements make one sequence the other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Return the Levenshtein distance of two sequences.

    Bit-parallel (Myers 1999 in Hyyrö's 2003 form), a bit for each element of one sequence: a thousand by a thousand
    elements take about a millisecond, where the table takes a second.
    """
    if not first:
        return len(second)
    places: dict[Hashable, int] = {}
    for index, element in enumerate(first):
        places[element] = places.get(element, 0) | 1 << index
    everywhere, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    rises, falls, distance = everywhere, 0, len(first)
    for element in second:
        here = places.get(element, 0)
        diagonal = (((here & rises) + rises) ^ rises) | here | falls
        up = falls | (everywhere & ~(diagonal | rises))
        down = rises & diagonal
        distance += bool(up & last) - bool(down & last)
        up, down = (up << 1) | 1, down << 1
        rises = (down | ~(diagonal | up)) & everywhere
        falls = up & diagonal & everywhere
    return distance
