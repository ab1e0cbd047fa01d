"""Spaces: the model should not care how many there are between words."""

from __future__ import annotations

import re
from random import Random
from typing import Annotated

from pydantic import Field

from harness import Instance, perturbation

_SOURCE = "Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110"
Count = Annotated[int, Field(ge=1)]


@perturbation("extra_space", source=_SOURCE)
def extra_space(instance: Instance, rng: Random, *, num_spaces: Count = 2) -> Instance:
    """Turn every space of the input into ``num_spaces`` spaces; line breaks stay."""
    return instance.replace(input=instance.input.replace(" ", " " * num_spaces))


@perturbation("space", source=_SOURCE)
def space(instance: Instance, rng: Random, *, max_spaces: Count = 3) -> Instance:
    """Turn each run of spaces of the input into 1 to ``max_spaces`` spaces, drawn uniformly."""
    changed = re.sub(" +", lambda _: " " * rng.randint(1, max_spaces), instance.input)
    return instance.replace(input=changed)
