"""Answer options listed by letter, for the joint methods of multiple choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator

from adapters._prompt.few_shot import Label, correct_position
from adapters._prompt.few_shot_adapter import FewShotAdapter
from adapters._prompt.prompt import Question, Shot, gold_answer
from adapters._prompt.prompt_changes import changes_of_options
from adapters._prompt.prompt_policy import PromptPolicy
from harness import HarnessError, Instance, PromptChange, derive_rng


def _characters(value: Any) -> Any:
    return tuple(value) if isinstance(value, str) else value


class LetteredOptions(PromptPolicy):
    r"""A prompt policy whose questions list the answer options by letter.

    Between input and output, each reference is written as ``reference_prefix + text + reference_suffix``, with its
    letter in the prefix. The output of an example is the letter of its correct reference.
    """

    suffix_without_noun: ClassVar[str] = ""

    reference_prefix: str = "A. "
    """Before each option; its first letter or digit is counted up from option to option."""

    reference_suffix: str = "\n"
    """After each option."""

    reference_prefix_characters: Annotated[tuple[str, ...], BeforeValidator(_characters)] | None = Field(default=None)
    """The letter of each option (``ABCDEFGHJK``), instead of counting up."""

    multi_label: bool = False
    """Show the letters of all correct references in an example, joined by ", ", instead of the first."""

    @field_validator("reference_prefix")
    @classmethod
    def _has_letter(cls, prefix: str) -> str:
        if not any(map(str.isalnum, prefix)):
            raise ValueError("it must contain a letter or a digit, like 'A. '")
        return prefix

    @field_validator("reference_prefix_characters")
    @classmethod
    def _differ(cls, characters: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for character in characters or ():
            if not character.strip():
                raise ValueError("a blank cannot be the letter of an option")
        if characters is not None and len(set(characters)) < len(characters):
            raise ValueError("two options would have the same letter")
        return characters


class OrderedOptions(LetteredOptions):
    """Lettered options whose order can be changed."""

    option_order: Literal["published", "reversed"] | Annotated[int, Field(ge=0)] = "published"
    """Order of the options: ``published``, as the scenario has them, ``reversed``, or a number, the seed by which those
    of each question are shuffled. The letters stay in place and the texts move, in examples too.
    """


class LetteredAdapter(FewShotAdapter):
    """A method that lists answer options by letter; the subclass makes the requests."""

    needs_options = True
    params: OrderedOptions

    @classmethod
    def prompt_changes(cls, params: PromptPolicy) -> Mapping[str, Sequence[PromptChange]]:
        return {**super().prompt_changes(params), **changes_of_options(params)}

    def label(self, instance: Instance) -> Label:
        return correct_position(instance)

    def shot(self, instance: Instance) -> Shot:
        letters = self.letters(instance)
        return Shot(instance.id, ((self.question(instance, letters), self.gold_letters(instance, letters)),))

    def letters(self, instance: Instance) -> tuple[str, ...]:
        """Return the letter of each reference, in the references' order, which may not be the order shown."""
        letters = option_letters(instance, self.params)
        if self.params.option_order == "published":
            return letters
        order = list(letters)
        if self.params.option_order == "reversed":
            order.reverse()
        else:
            derive_rng(self.params.option_order, f"option-order/{instance.split}/{instance.id}").shuffle(order)
        return tuple(order)

    def gold_letters(self, instance: Instance, letters: tuple[str, ...]) -> str:
        """Return the letters that an example shows as its answer, in the order shown."""
        shown, moved = self._as_shown(instance, letters)
        return gold_answer(moved, shown, multi_label=self.params.multi_label)

    def question(self, instance: Instance, letters: tuple[str, ...]) -> Question:
        """Return the input and the options below it, in the order of their letters."""
        shown, moved = self._as_shown(instance, letters)
        return lettered_question(moved, shown, self.params)

    def _as_shown(self, instance: Instance, letters: tuple[str, ...]) -> tuple[tuple[str, ...], Instance]:
        """Return the letters in the order shown, and the instance with its references in that order."""
        if self.params.option_order == "published":
            return letters, instance
        shown = option_letters(instance, self.params)
        references = tuple(instance.references[letters.index(letter)] for letter in shown)
        return shown, instance.replace(references=references)


def lettered_question(instance: Instance, letters: tuple[str, ...], policy: LetteredOptions) -> Question:
    """Return an instance's input and, below it, its options with their letters."""
    place = _letter_place(policy.reference_prefix)
    before, after = policy.reference_prefix[:place], policy.reference_prefix[place + 1 :]
    options = "".join(
        f"{before}{letter}{after}{reference.text}{policy.reference_suffix}"
        for letter, reference in zip(letters, instance.references, strict=True)
    )
    return Question(policy.input_prefix, instance.input, policy.input_suffix + options)


def option_letters(instance: Instance, policy: LetteredOptions) -> tuple[str, ...]:
    """Return the letter of each reference.

    Raises:
        HarnessError: The instance has no references, or too few letters for them.
    """
    count = len(instance.references)
    if not count:
        raise HarnessError(f"instance {instance.id!r} has no references to choose from.")
    given = policy.reference_prefix_characters
    letters = _count_up(policy.reference_prefix, count) if given is None else given
    if count > len(letters):
        setting = f"reference_prefix {policy.reference_prefix!r}" if given is None else "reference_prefix_characters"
        raise HarnessError(
            f"instance {instance.id!r} has {count} references, but {setting} gives letters for only {len(letters)}. "
            "Set reference_prefix_characters, one for each reference."
        )
    return letters[:count]


def _letter_place(prefix: str) -> int:
    return next(place for place, character in enumerate(prefix) if character.isalnum())


def _count_up(prefix: str, count: int) -> tuple[str, ...]:
    """Return ``count`` letters from the prefix's own on, or fewer if a character is not a letter or digit."""
    letters: list[str] = []
    code = ord(prefix[_letter_place(prefix)])
    while chr(code).isalnum() and len(letters) < count:
        letters.append(chr(code))
        code += 1
    return tuple(letters)
