"""Mild mix: several small changes at once, which is HELM's robustness perturbation for every scenario."""

from __future__ import annotations

from random import Random

from harness import Instance, perturbation
from scenarios.perturbations.contractions import contraction
from scenarios.perturbations.lowercase import lowercase
from scenarios.perturbations.misspellings import misspellings
from scenarios.perturbations.spaces import space


@perturbation(
    "mild_mix",
    category="robustness",
    source="Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110",
)
def mild_mix(instance: Instance, rng: Random) -> Instance:
    """Lower case, contractions, misspellings with probability 0.1, and 1 to 3 spaces between words, in this order.

    References are not changed.
    """
    changed = misspellings(contraction(lowercase(instance, rng), rng), rng, prob=0.1)
    return space(changed, rng, max_spaces=3)
