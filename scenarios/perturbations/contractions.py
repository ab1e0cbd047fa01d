"""Contractions and expansions: "it's" for "it is", and "it is" for "it's"."""

from __future__ import annotations

from functools import cache
from random import Random

from harness import Instance, perturbation
from scenarios.perturbations._words.changes import with_entries_replaced
from scenarios.perturbations._words.lexicon import FOLDER, Lexicon, read_alternatives, read_lexicon

_LIST = FOLDER / "contractions.txt"
_SOURCE = "Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110; table of NL-Augmenter"


@cache
def _contractions() -> Lexicon:
    # Of two contractions of the same words the later is meant: "isn't" rather than "ain't" for "is not".
    short = {
        long: [contraction] for contraction, (long,) in read_alternatives(_LIST).items() if contraction.count("'") == 1
    }
    return Lexicon(short)


@perturbation("contraction", title="Contractions", category="robustness", source=_SOURCE)
def contraction(instance: Instance, rng: Random) -> Instance:
    """Contract expressions in the input, such as "I am" and "does not"; references are not changed.

    As in HELM, only before a space, so that nothing is contracted at the end of a sentence ("I know who he is.").
    Nothing is contracted twice ("he'd've"). Case is kept.
    """
    return with_entries_replaced(
        instance, _contractions(), lambda found, short: short[0] if found.after == " " else None
    )


@perturbation("expansion", title="Expanded contractions", short="Expansions", category="robustness", source=_SOURCE)
def expansion(instance: Instance, rng: Random) -> Instance:
    """Expand contractions in the input, such as "I'm" and "doesn't"; references are not changed.

    As in HELM, an ambiguous contraction has one expansion: "he's" becomes "he is", "he'd" becomes "he would". Case is
    kept. HELM's "can't've" becomes "cannot've", since it finds the shorter entry first; here it becomes "cannot have".
    Curved apostrophes are recognised too.
    """
    return with_entries_replaced(instance, read_lexicon(_LIST), lambda found, long: long[0])
