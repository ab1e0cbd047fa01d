"""Making a perturbed copy of an instance, with a record of the changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field

from harness import Instance
from scenarios.perturbations._words.lexicon import Choose, Found, Lexicon, match_case

Probability = Annotated[float, Field(ge=0, le=1)]

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


def with_entries_replaced(
    instance: Instance, lexicon: Lexicon, choose: Choose, *, references: bool = False
) -> Instance:
    """Return a copy in which each entry of the lexicon becomes the chosen alternative (see :func:`rewritten`)."""

    def rewrite(text: str, note: Note) -> str:
        def noted(found: Found, others: Sequence[str]) -> str | None:
            chosen = choose(found, others)
            return None if chosen is None else note(found.words, match_case(found.words, chosen))

        return lexicon.substitute(text, noted)

    return rewritten(instance, rewrite, references=references)


def with_matches_replaced(instance: Instance, pattern: str, new: Callable[[str], str]) -> Instance:
    """Return a copy in which each match of a regular expression in the input becomes ``new(match)``."""
    return rewritten(instance, lambda text, note: re.sub(pattern, lambda match: note(match[0], new(match[0])), text))


def _marked(instance: Instance, pairs: list[tuple[str, str]]) -> Instance:
    return instance.replace(meta={**instance.meta, "perturbed": [list(pair) for pair in pairs]})
