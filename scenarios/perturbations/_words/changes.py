"""Making a perturbed copy of an instance, with a record of the changes."""

from __future__ import annotations

from collections.abc import Callable

from harness import Instance

Note = Callable[[str, str], str]
"""Notes that an old text became a new one, and returns the new one."""


def rewritten(instance: Instance, rewrite: Callable[[str, Note], str], *, references: bool = False) -> Instance:
    """Return a copy of an instance with rewritten texts.

    ``meta["perturbed"]`` of the copy lists the changes: pairs ``[old, new]``, each once, in order of first occurrence,
    after those of an earlier perturbation; empty if there are none.

    If the references are rewritten too (their flags are kept), the instance is not changed if two different references
    would become equal, since a right and a wrong answer could then not be told apart, or if nothing in its input
    changes, since the same question has the same answers.

    Args:
        instance: The instance.
        rewrite: Returns the new text, and notes each change.
        references: Rewrite the references as well, after the input.
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
