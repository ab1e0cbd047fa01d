"""The prompt policy: all settings of a prompt's text, in one frozen object.

The settings and their defaults are those of HELM's adapter specs and of the factories that its run specs use (Liang et
al. 2022, section 7; ``helm.benchmark.adaptation``). Each method's ``Params`` extends the policy with its own settings
and replaces the defaults where HELM's factory for the method does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


def _check_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return pattern


def _check_substitution(pair: tuple[str, str]) -> tuple[str, str]:
    pattern, replacement = pair
    try:
        re.sub(pattern, replacement, "")
        re.compile(pattern).sub(replacement, pattern)
    except (re.error, IndexError) as error:
        raise ValueError(f"not a pattern and its replacement: {error}") from None
    return pair


Pattern = Annotated[str, AfterValidator(_check_pattern)]
"""A regular expression in Python's syntax."""

Substitution = Annotated[tuple[str, str], AfterValidator(_check_substitution)]
"""A regular expression and the replacement of its matches."""


StopSequence = Annotated[str, Field(min_length=1)]
"""A text that ends the output; it must not be empty."""


class ExampleFormat(BaseModel):
    """How an input and its answer become text: ``input_prefix + input + input_suffix + output_prefix + answer + …``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suffix_without_noun: ClassVar[str] = "\n"
    """The input suffix for ``input_noun: null``."""

    input_noun: str | None = Field(default=None, exclude=True, repr=False)
    r"""Shorthand: ``Passage`` sets ``input_prefix: "Passage: "`` and ``input_suffix: "\n"``; ``null`` an empty prefix.

    Explicit affixes take precedence. Resolved settings contain only the affixes.
    """

    output_noun: str | None = Field(default=None, exclude=True, repr=False)
    """Shorthand: ``Answer`` sets ``output_prefix: "Answer: "``; ``null`` an empty prefix."""

    input_prefix: str = "Input: "
    """Before each input."""

    input_suffix: str = "\n"
    """After each input."""

    output_prefix: str = "Output: "
    """Before each output."""

    output_suffix: str = "\n"
    """After each example's output."""

    @model_validator(mode="before")
    @classmethod
    def _write_out_nouns(cls, settings: Any) -> Any:
        if not isinstance(settings, Mapping):
            return settings
        resolved = dict(settings)
        if isinstance(noun := resolved.get("input_noun", 0), str | None):
            resolved.pop("input_noun")
            resolved.setdefault("input_prefix", "" if noun is None else f"{noun}: ")
            resolved.setdefault("input_suffix", cls.suffix_without_noun if noun is None else "\n")
        if isinstance(noun := resolved.get("output_noun", 0), str | None):
            resolved.pop("output_noun")
            resolved.setdefault("output_prefix", "" if noun is None else f"{noun}: ")
        return resolved

    @property
    def question_end(self) -> str:
        """The end of the question: the output prefix without its trailing whitespace."""
        return self.output_prefix.rstrip()

    @property
    def answer_gap(self) -> str:
        """The trailing whitespace of the output prefix, with which a scored answer begins."""
        return self.output_prefix[len(self.question_end) :]


class PromptPolicy(ExampleFormat):
    r"""How instructions, examples and the question become one prompt.

    ``prompt = global_prefix + instance_prefix.join([instructions, examples…, question]) + global_suffix``, without
    empty instructions; then the substitutions are applied in order. An example is ``input_prefix + input + input_suffix
    + output_prefix + answer + output_suffix``. The question ends with ``output_prefix`` without its trailing
    whitespace, so that the model's first token may begin with a space.
    """

    global_prefix: str = ""
    """At the start of the prompt."""

    global_suffix: str = ""
    """At the end of the prompt, before the answer that is generated or scored."""

    instructions: str = ""
    r"""The task in words, used verbatim; HELM's end in ``\n``, so that a blank line follows."""

    instance_prefix: str = "\n"
    """Between instructions, examples and question."""

    substitutions: tuple[Substitution, ...] = ()
    """Pairs of a regular expression and its replacement, applied to the whole prompt in order."""

    max_train_instances: int = Field(default=5, ge=0)
    """Number of train instances in a prompt; fewer if they do not fit or there are not as many."""

    train_trials: int = Field(default=1, ge=1)
    """How many times the evaluation is repeated, each time with other examples; 1 if none are shown."""

    sample_train: bool = True
    """Sample examples, balanced by label, instead of taking them in the scenario's order."""

    example_selection: Literal["shared", "lm_eval", "lm_eval_excluding"] = "shared"
    """Which examples each question shows. ``shared``: all questions of a trial show the same. ``lm_eval``: those that
    lm-evaluation-harness shows, drawn anew for each question from all train instances; with ``sample_train: false``,
    the first ones. ``lm_eval_excluding``: as lm-evaluation-harness does for a task without a test split: it draws one
    more and leaves out the question itself, or else the last. Seed 0 draws as its default seed, 1234, does. With
    ``lm_eval`` and ``lm_eval_excluding``, ``max_eval_instances`` takes the first instances, like ``--limit``.
    """

    system_prompt: str = ""
    """System message for a chat model; an error for a model without a chat template, which would never see it."""

    examples_as_turns: bool = False
    """Show each example to a chat model as a user turn and an assistant turn, instead of all in one user turn.

    The instructions then follow ``system_prompt`` or, without one, begin the first user turn. An error for a model
    without a chat template.
    """

    @model_validator(mode="after")
    def _no_trials_without_examples(self) -> PromptPolicy:
        if self.max_train_instances == 0 and self.train_trials > 1:
            object.__setattr__(self, "train_trials", 1)  # frozen; all trials would be the same
        return self
