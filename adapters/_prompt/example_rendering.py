"""An example of a data set as text: as its authors published it, or as a prompt with its answer."""

from __future__ import annotations

from typing import Literal

from adapters._prompt.lettered_options import LetteredOptions, lettered_question, option_letters
from adapters._prompt.prompt import gold_answer, plain_question
from adapters._prompt.prompt_policy import ExampleFormat, PromptPolicy
from harness import HarnessError, Instance

Rendering = Literal["published", "prompt", "lettered_prompt"]
"""``published``: verbatim. ``prompt``: the input and the correct reference, in the scenario's format.
``lettered_prompt``: the input, all references by letter, and the letter of the correct one."""


def rendered(instance: Instance, rendering: Rendering, affixes: ExampleFormat) -> str:
    """Return an example's text, its answer included.

    Raises:
        HarnessError: The scenario does not say how the example was published, so that its order need not be the
            published one and no rendering can be tested; or it has no options to be listed by letter.
    """
    if not instance.published:
        raise HarnessError(
            f"instance {instance.id!r} has no published text, so that there is no published order to test: "
            "its scenario draws, shuffles or computes its instances. Test the data's own file with "
            "published_file:path=FILE, or add the key `published` to the scenario's file."
        )
    if rendering == "published":
        return instance.published
    settings = affixes.model_dump(include=set(ExampleFormat.model_fields))
    if rendering == "prompt":
        policy = PromptPolicy(**settings)
        question = plain_question(instance, policy)
        answers = [reference.text for reference in instance.references]
    else:
        lettered = LetteredOptions(**settings)
        policy = lettered
        letters = option_letters(instance, lettered)
        question, answers = lettered_question(instance, letters, lettered), list(letters)
    answer = gold_answer(instance, answers, multi_label=False) if answers else ""
    return f"{question}{policy.output_prefix}{answer}{policy.output_suffix}"
