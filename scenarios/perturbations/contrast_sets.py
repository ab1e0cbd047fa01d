"""Contrast sets: inputs that people edited minimally to change the right answer."""

from __future__ import annotations

from random import Random

from harness import DataError, Instance, perturbation
from scenarios.perturbations._words.changes import Note, rewritten


@perturbation(
    "contrast_sets",
    category="robustness",
    source="Gardner et al. 2020, Evaluating Models' Local Decision Boundaries via Contrast Sets, arXiv:2004.02709",
)
def contrast_sets(instance: Instance, rng: Random) -> Instance | None:
    """Replace the input by one of its contrast inputs, drawn uniformly, and mark its right answer as correct.

    Scenarios provide them in ``meta.contrast``, a list of ``{input, answer}`` (for example with
    ``boolq:only_contrast=true`` and ``imdb:only_contrast=true``). An instance without contrast inputs has no copy and
    does not count in stats on copies. The references and their order are kept, while HELM gives the copy only the right
    answer. ``meta.perturbed`` tells which input was drawn, as ``["original", "contrast 1"]``.

    Raises:
        DataError: The answer of a contrast input is not one of the references.
    """
    contrast = instance.meta.get("contrast") or ()
    if not contrast:
        return None
    drawn = rng.randrange(len(contrast))
    text: str = contrast[drawn]["input"]
    answer: str = contrast[drawn]["answer"]
    if answer not in [reference.text for reference in instance.references]:
        raise DataError(f"instance {instance.id!r}: the answer {answer!r} of a contrast input is not a reference.")
    marked = tuple(
        type(reference)(reference.text, reference.text == answer, reference.relevance)
        for reference in instance.references
    )

    def edited(_: str, note: Note) -> str:
        note("original", f"contrast {drawn + 1}")
        return text

    return rewritten(instance.replace(references=marked), edited)
