"""Common misspellings."""

from __future__ import annotations

from random import Random

from harness import Instance, perturbation
from scenarios.perturbations._words.changes import Probability, with_entries_replaced
from scenarios.perturbations._words.lexicon import FOLDER, read_lexicon


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
    lexicon = read_lexicon(FOLDER / "misspellings.txt")
    return with_entries_replaced(
        instance, lexicon, lambda found, wrong: rng.choice(wrong) if rng.random() < prob else None
    )
