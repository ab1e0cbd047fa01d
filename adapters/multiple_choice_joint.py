"""Joint multiple choice: the options are listed by letter in one prompt, and the model writes a letter."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import Field

from adapters._prompt.few_shot_adapter import completions_of, origin_of, probability_of
from adapters._prompt.fitting import PromptFitter
from adapters._prompt.lettered_options import LetteredAdapter, LetteredOptions, option_letters
from adapters._prompt.prompt_policy import Pattern
from harness import Adapted, GenerateRequest, Instance, Prediction, Response, adapter, read_option

TOP_LOGPROBS = 5
"""Number of most likely tokens reported for the letter (HELM's ``num_outputs`` of joint multiple choice)."""


@adapter("multiple_choice_joint", source="Hendrycks et al. 2021 (arXiv:2009.03300); Liang et al. 2022, section 7")
class MultipleChoiceJoint(LetteredAdapter):
    """The question and all options, listed by letter, in one prompt; the model answers with a letter.

    The letter may be alone or in a short answer, such as "B) Paris" or "I think it's B". An output that names no
    option, or several, chooses none; the prediction is then empty.
    """

    asks = frozenset({"generate"})
    needs_logprobs = True

    class Params(LetteredOptions):
        """Settings of joint multiple choice; the defaults are those of HELM's multiple-choice factory.

        As in HELM, decoding is greedy and there are no stop sequences.
        """

        max_tokens: int = Field(default=1, ge=1)
        """Maximum number of tokens that the model generates."""

        output_mapping_pattern: Pattern | None = None
        r"""Finds the letter in the output (``answer is \(?([A-J])``): the pattern's first group, else the whole match.

        An output without a match chooses no option.
        """

    params: Params

    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        letters = option_letters(instance, self.params)
        fitted = prompts.fit([self.question(instance, letters)], instance=instance.id)
        request = GenerateRequest(
            prompt=fitted.prompts[0],
            max_tokens=self.params.max_tokens,
            top_logprobs=TOP_LOGPROBS,
            origin=origin_of(instance, trial),
        )
        return fitted.adapted(instance, [request], trial, labels=letters)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Map the option that the output names to its reference."""
        completion = completions_of(responses[0], adapted.instance)[0]
        texts = [reference.text for reference in adapted.instance.references]
        choice = read_option(self._answer(completion.text), adapted.labels, texts)
        text = "" if choice is None else texts[choice]
        return Prediction(
            text=text,
            texts=(text,),
            choice=choice,
            probability=probability_of(completion),
            unread=choice is None,
        )

    def _answer(self, output: str) -> str:
        """Return the part of the output that names the option; empty if the pattern does not match."""
        if not self.params.output_mapping_pattern:
            return output
        match = re.search(self.params.output_mapping_pattern, output.strip())
        return "" if match is None else match[1 if match.re.groups else 0] or ""
