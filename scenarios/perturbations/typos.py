"""Typos: letters hit beside the one that was meant."""

from __future__ import annotations

import re
from random import Random
from typing import Annotated

from pydantic import Field

from harness import Instance, perturbation
from scenarios.perturbations.changes import Note, rewritten

_WORD = re.compile(r"\S+")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def _neighbours() -> dict[str, str]:
    """Return, for each letter, the letters that touch its key on a QWERTY keyboard.

    Each row lies half a key to the right of the one above it, so a key touches two of the row above and two below.
    """
    place = {letter: (row, column) for row, letters in enumerate(_ROWS) for column, letter in enumerate(letters)}
    touching = {(0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0)}
    return {
        letter: "".join(
            other
            for other, (other_row, other_column) in place.items()
            if (other_row - row, other_column - column) in touching
        )
        for letter, (row, column) in place.items()
    }


_NEIGHBOURS = _neighbours()


Probability = Annotated[float, Field(ge=0, le=1)]


@perturbation(
    "typos",
    category="robustness",
    source="Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110",
)
def typos(instance: Instance, rng: Random, *, prob: Probability = 0.01) -> Instance:
    """Replace each letter of the input, with probability ``prob``, by a neighbour on the keyboard; case is kept."""

    def typed(letter: str) -> str:
        near = _NEIGHBOURS.get(letter.lower())
        if near is None or rng.random() >= prob:
            return letter
        other = rng.choice(near)
        return other.upper() if letter.isupper() else other

    def retype(text: str, note: Note) -> str:
        return _WORD.sub(lambda word: note(word.group(), "".join(map(typed, word.group()))), text)

    return rewritten(instance, retype)
