"""Dialect: the model should understand African American English as well as Standard American English."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from harness import Instance, perturbation
from scenarios.perturbations._words.changes import Probability, with_entries_replaced
from scenarios.perturbations._words.lexicon import FOLDER, Found, read_lexicon


@perturbation(
    "dialect",
    title="Dialect (AAE)",
    short="Dialect",
    category="fairness",
    source="Liang et al. 2022, Holistic Evaluation of Language Models, D.2, arXiv:2211.09110; words of Ziems et al. "
    "2022, arXiv:2204.03031",
)
def dialect(instance: Instance, rng: Random, *, prob: Probability = 1.0, mapping_file: str | None = None) -> Instance:
    """Replace words in input and references by African American English, each word with probability ``prob``.

    Of several alternatives one is drawn uniformly, the same for all occurrences of a word in the instance; case is
    kept. A word next to a hyphen is part of another word. ``mapping_file`` names another list: lines ``word:
    alternative, alternative``, or a JSON object of lists as in HELM.

    Answers in either dialect are right: if all references are correct, as for an open question, the original ones are
    kept along with the changed ones. Options are changed in place. "Yes" and "no" are not on the list.

    If the input has no word of the list, the references are not changed either; HELM changes them. HELM requires a
    character on both sides of a word, so that it misses the first and the last word of a text and every second one of
    adjacent words; it also draws anew for each occurrence, so that a reference may no longer occur in its passage.

    Raises:
        PluginError: ``mapping_file`` cannot be read.
    """
    lexicon = read_lexicon(Path(mapping_file) if mapping_file else FOLDER / "dialect_sae_to_aae.txt")
    drawn: dict[str, str | None] = {}

    def choose(found: Found, others: Sequence[str]) -> str | None:
        if "-" in (found.before, found.after):
            return None
        word = found.words.lower()
        if word not in drawn:
            drawn[word] = rng.choice(others) if rng.random() < prob else None
        return drawn[word]

    copy = with_entries_replaced(instance, lexicon, choose, references=True)
    if not all(reference.correct for reference in instance.references):
        return copy
    changed = {reference.text for reference in copy.references}
    return copy.replace(references=copy.references + tuple(r for r in instance.references if r.text not in changed))
