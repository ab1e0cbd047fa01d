"""Filler words that people say while they speak: "uhm", "I think", "maybe"."""

from __future__ import annotations

import re
from random import Random
from typing import Annotated

from pydantic import Field

from harness import Instance, PluginError, perturbation
from scenarios.perturbations._words.changes import Note, Probability, rewritten

# Kovatchev et al. 2021, Vectors for Text Perturbations, by way of NL-Augmenter (filler_word_augmentation).
SPEAKER = (
    "I think", "I believe", "I mean", "I guess", "that is", "I assume", "I feel", "In my opinion", "I would say",
)  # fmt: skip
UNCERTAIN = ("maybe", "perhaps", "probably", "possibly", "most likely")
# Laserna et al. 2014, Um … Who Like Says You Know, Journal of Language and Social Psychology 33(3).
FILL = ("uhm", "umm", "ahh", "err", "actually", "obviously", "naturally", "like", "you know")

_WORD = re.compile(r"(?:\A|(?<= ))(?=\S)")


@perturbation(
    "filler_words",
    category="robustness",
    source="Liang et al. 2022, Holistic Evaluation of Language Models, D.1, arXiv:2211.09110; NL-Augmenter",
)
def filler_words(
    instance: Instance,
    rng: Random,
    *,
    insert_prob: Probability = 0.333,
    max_num_insert: Annotated[int, Field(ge=0)] | None = None,
    speaker_ph: bool = True,
    uncertain_ph: bool = True,
    fill_ph: bool = True,
) -> Instance:
    """Insert a filler word or phrase before each word of the input with probability ``insert_prob``.

    A word is at the start of the input or follows a space; at most ``max_num_insert`` fillers are inserted.
    ``speaker_ph``, ``uncertain_ph`` and ``fill_ph`` select the lists from which they are drawn uniformly. References
    are not changed. HELM also inserts fillers between two spaces.

    Raises:
        PluginError: All three lists are switched off.
    """
    fillers = (SPEAKER if speaker_ph else ()) + (UNCERTAIN if uncertain_ph else ()) + (FILL if fill_ph else ())
    if not fillers:
        raise PluginError("perturbation 'filler_words' needs speaker_ph, uncertain_ph or fill_ph to be true.")
    left = [max_num_insert]

    def fill(text: str, note: Note) -> str:
        def put(_: re.Match[str]) -> str:
            if left[0] == 0 or rng.random() >= insert_prob:
                return ""
            if left[0] is not None:
                left[0] -= 1
            return note("", rng.choice(fillers)) + " "

        return _WORD.sub(put, text)

    return rewritten(instance, fill)
