"""Lowercase: the model should not care about capital letters."""

from __future__ import annotations

from random import Random

from harness import Instance, perturbation


@perturbation("lowercase", source="Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110")
def lowercase(instance: Instance, rng: Random) -> Instance:
    """Make the input lower case throughout; references stay as they are."""
    return instance.replace(input=instance.input.lower())
