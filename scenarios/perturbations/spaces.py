"""Spaces: the model should not care how many there are between words."""

from __future__ import annotations

from random import Random
from typing import Annotated

from pydantic import Field

from harness import Instance, perturbation
from scenarios.perturbations._words.changes import with_matches_replaced

_SOURCE = "Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110"
Count = Annotated[int, Field(ge=1)]


@perturbation("extra_space", title="Extra spaces", category="robustness", source=_SOURCE)
def extra_space(instance: Instance, rng: Random, *, num_spaces: Count = 2) -> Instance:
    """Replace every space of the input by ``num_spaces`` spaces; line breaks are not changed."""
    return with_matches_replaced(instance, " +", lambda run: run * num_spaces)


@perturbation("space", title="Spaces", category="robustness", source=_SOURCE)
def space(instance: Instance, rng: Random, *, max_spaces: Count = 3) -> Instance:
    """Replace each run of spaces of the input by 1 to ``max_spaces`` spaces, drawn uniformly."""
    return with_matches_replaced(instance, " +", lambda _: " " * rng.randint(1, max_spaces))
