"""Shared ending: one of several options fills a gap, and the text after the gap is scored after each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import Field

from adapters._prompt.fitting import PromptFitter
from adapters._prompt.prompt import Question, Shot, gold_answer
from adapters._prompt.scoring import choose, each_score, score_request
from adapters.multiple_choice_separate_original import SeparateAdapter, SeparatePolicy
from harness import Adapted, HarnessError, Instance, Prediction, Response, adapter


@adapter(
    "multiple_choice_shared_ending",
    title="Multiple choice (shared ending)",
    short="shared ending",
    source="Trinh and Le 2018, section 3 (partial scoring, arXiv:1806.02847)",
)
class MultipleChoiceSharedEnding(SeparateAdapter):
    """Each option fills the gap in the input; the option after which the rest of the input is likeliest wins.

    The options themselves are not scored, so that a common name has no advantage over a rare one. With the default
    settings, "Ann thanked Kim since _ had helped." is asked as "Ann thanked Kim since Ann" and "Ann thanked Kim since
    Kim", each followed by " had helped.", whose log-likelihood is the option's score. lm-evaluation-harness scores
    WinoGrande in this way. An example shows the input with its right option.
    """

    class Params(SeparatePolicy):
        """Settings of a shared ending; the defaults are those of HELM's separate factory, without examples."""

        gap: str = Field(default="_", min_length=1)
        """The mark in the input that the options replace; the first one if there are several."""

        output_prefix: str = " "
        """Between an option and the ending, instead of the whitespace after the gap. If it is empty, the ending is used
        as it is in the input, with its whitespace.
        """

    params: Params

    def shot(self, instance: Instance) -> Shot:
        option = gold_answer(
            instance, [reference.text for reference in instance.references], multi_label=self.params.multi_label
        )
        beginning, ending = self._parts(instance)
        return Shot(instance.id, ((self._filled(beginning, option), ending),))

    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        if not instance.references:
            raise HarnessError(f"instance {instance.id!r} has no references to choose from.")
        beginning, ending = self._parts(instance)
        scored = ending.lstrip() if prompts.chat else self.params.answer_gap + ending
        questions = [self._filled(beginning, reference.text) for reference in instance.references]
        fitted = prompts.fit(questions, answers=(scored,), instance=instance.id)
        requests = [
            score_request(prompt, scored, instance, trial, index) for index, prompt in enumerate(fitted.prompts)
        ]
        return fitted.adapted(instance, requests, trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Choose the reference after which the ending has the highest log-likelihood."""
        return choose(adapted, each_score(adapted, responses, math.fsum))

    def _filled(self, beginning: str, option: str) -> Question:
        return Question(self.params.input_prefix, beginning, option + self.params.input_suffix)

    def _parts(self, instance: Instance) -> tuple[str, str]:
        """Return the input's text before and after the gap.

        Raises:
            HarnessError: There is no gap, or nothing after it.
        """
        gap = self.params.gap
        beginning, found, ending = instance.input.partition(gap)
        if not found:
            raise HarnessError(
                f"the input of instance {instance.id!r} has no gap {gap!r} for the options to fill. Set gap to the "
                "mark that the data use, or choose another method."
            )
        if not ending.strip():
            raise HarnessError(
                f"nothing follows the gap {gap!r} in the input of instance {instance.id!r}, so that there is no ending "
                "to score. Use multiple_choice_separate_original, which scores the options."
            )
        return beginning, ending.strip() if self.params.output_prefix else ending
