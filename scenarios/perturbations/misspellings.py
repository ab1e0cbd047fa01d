"""Misspellings that are common among people."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Annotated

from pydantic import Field

from harness import Instance, perturbation
from scenarios.perturbations._words.changes import Note, rewritten
from scenarios.perturbations._words.lexicon import FOLDER, Found, Lexicon, match_case, read_alternatives

Probability = Annotated[float, Field(ge=0, le=1)]


@cache
def _misspellings() -> Lexicon:
    return Lexicon(read_alternatives(FOLDER / "misspellings.txt"))


@perturbation(
    "misspellings",
    category="robustness",
    source="Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110; "
    "Wikipedia, Lists of common misspellings",
)
def misspellings(instance: Instance, rng: Random, *, prob: Probability = 0.1) -> Instance:
    """Misspell each word of the input that is on the list, with probability ``prob``; references are not changed.

    One of the word's common misspellings is drawn uniformly; case is kept. HELM does not find words in capitals. If an
    entry begins with another, HELM finds the one that comes first in its list; here the longest is found.
    """

    def misspell(text: str, note: Note) -> str:
        def choose(found: Found, wrong: Sequence[str]) -> str | None:
            if rng.random() >= prob:
                return None
            return note(found.words, match_case(found.words, rng.choice(wrong)))

        return _misspellings().substitute(text, choose)

    return rewritten(instance, misspell)
