"""Making a perturbed copy of an instance, and noting in it what was changed."""

from __future__ import annotations

from collections.abc import Callable

from harness import Instance

Note = Callable[[str, str], str]
"""Notes that an old text became a new one, and returns the new one."""


def rewritten(instance: Instance, rewrite: Callable[[str, Note], str], *, references: bool = False) -> Instance:
    """Return a copy whose texts were rewritten.

    ``meta["perturbed"]`` of the copy holds what was changed: a list of ``[old, new]``, each pair once, in the order of
    first occurrence, added to what an earlier perturbation noted; empty if nothing was.

    Where the references are rewritten too, which keeps their flags, the instance stays as it is if two that differ
    would become the same, since a right and a wrong answer could no longer be told apart, and if nothing of its input
    changes, since a question that is asked as before has the answers that it had.

    Args:
        instance: The instance.
        rewrite: Returns the new text, and notes each change.
        references: Whether the references are rewritten like the input; the input is the first.
    """
    pairs: dict[tuple[str, str], None] = dict.fromkeys((old, new) for old, new in instance.meta.get("perturbed", ()))
    before = list(pairs)

    def note(old: str, new: str) -> str:
        if old != new:
            pairs[old, new] = None
        return new

    text = rewrite(instance.input, note)
    answers = instance.references
    if references:
        # The same text becomes the same, whatever chance is drawn.
        texts = {answer.text: "" for answer in answers}
        texts = {old: rewrite(old, note) for old in texts}
        if text == instance.input or len(set(texts.values())) < len(texts):
            return _marked(instance, before)
        answers = tuple(type(answer)(texts[answer.text], answer.correct, answer.relevance) for answer in answers)
    return _marked(instance.replace(input=text, references=answers), list(pairs))


def _marked(instance: Instance, pairs: list[tuple[str, str]]) -> Instance:
    return instance.replace(meta={**instance.meta, "perturbed": [list(pair) for pair in pairs]})
