"""Lowercase: the model should not care about capital letters."""

from __future__ import annotations

import re
from random import Random

from harness import Instance, perturbation
from scenarios.perturbations._words.changes import Note, rewritten

_WORD = re.compile(r"\S+")


@perturbation(
    "lowercase",
    category="robustness",
    source="Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110",
)
def lowercase(instance: Instance, rng: Random) -> Instance:
    """Convert the input to lower case; references are not changed."""

    def lower(text: str, note: Note) -> str:
        return _WORD.sub(lambda word: note(word.group(), word.group().lower()), text)

    return rewritten(instance, lower)
