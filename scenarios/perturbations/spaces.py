"""Spaces: the model should not care how many there are between words."""

from __future__ import annotations

import re
from random import Random
from typing import Annotated

from pydantic import Field

from harness import Instance, perturbation
from scenarios.perturbations._words.changes import Note, rewritten

_SOURCE = "Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110"
Count = Annotated[int, Field(ge=1)]


@perturbation("extra_space", category="robustness", source=_SOURCE)
def extra_space(instance: Instance, rng: Random, *, num_spaces: Count = 2) -> Instance:
    """Replace every space of the input by ``num_spaces`` spaces; line breaks are not changed."""

    def widen(text: str, note: Note) -> str:
        return re.sub(" +", lambda run: note(run.group(), run.group() * num_spaces), text)

    return rewritten(instance, widen)


@perturbation("space", category="robustness", source=_SOURCE)
def space(instance: Instance, rng: Random, *, max_spaces: Count = 3) -> Instance:
    """Replace each run of spaces of the input by 1 to ``max_spaces`` spaces, drawn uniformly."""

    def vary(text: str, note: Note) -> str:
        return re.sub(" +", lambda run: note(run.group(), " " * rng.randint(1, max_spaces)), text)

    return rewritten(instance, vary)
