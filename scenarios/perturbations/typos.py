"""Typos: letters replaced by neighbours on the keyboard."""

from __future__ import annotations

from random import Random

from harness import Instance, perturbation
from scenarios.perturbations._words.changes import Probability, with_matches_replaced

# Neighbours on a QWERTY keyboard: stanford-crfm/helm, augmentations/typos_perturbation.py (Apache-2.0), which takes the
# distances from NL-Augmenter's butter_fingers_perturbation.
_NEIGHBOURS = {
    "q": "was", "w": "qesad", "e": "wsdfr", "r": "edfgt", "t": "rfghy",
    "y": "tghju", "u": "yhjki", "i": "ujklo", "o": "iklp", "p": "ol",
    "a": "qwsz", "s": "weadzx", "d": "erfcxs", "f": "rtgvcd", "g": "tyhbvf",
    "h": "yujnbg", "j": "uikmnh", "k": "iolmj", "l": "opk",
    "z": "asx", "x": "sdcz", "c": "dfvx", "v": "fgbc", "b": "ghnv", "n": "hjmb", "m": "jkn",
}  # fmt: skip


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

    return with_matches_replaced(instance, r"\S+", lambda word: "".join(map(typed, word)))
