"""Lowercase: the model should not care about capital letters."""

from __future__ import annotations

from random import Random

from harness import Instance, perturbation
from scenarios.perturbations._words.changes import with_matches_replaced


@perturbation(
    "lowercase",
    category="robustness",
    source="Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110",
)
def lowercase(instance: Instance, rng: Random) -> Instance:
    """Convert the input to lower case; references are not changed."""
    return with_matches_replaced(instance, r"\S+", str.lower)
