"""Separate multiple choice: each option is scored separately, as the continuation of the question."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from adapters._prompt.few_shot import Label, correct_position
from adapters._prompt.few_shot_adapter import FewShotAdapter
from adapters._prompt.fitting import PromptFitter
from adapters._prompt.prompt import Shot, gold_answer, plain_question
from adapters._prompt.prompt_policy import PromptPolicy
from adapters._prompt.scoring import choose, score_request, scored_answers, token_logprobs
from harness import Adapted, Instance, Prediction, Response, adapter

LENGTHS: Mapping[str, Callable[[Sequence[float], str], int]] = {
    "tokens": lambda logprobs, text: len(logprobs),
    "characters": lambda logprobs, text: len(text),
    "none": lambda logprobs, text: 1,
}


class SeparatePolicy(PromptPolicy):
    """A prompt policy of only the input and an option after it, as in HELM's separate factory."""

    input_prefix: str = ""
    """Before each input."""

    input_suffix: str = ""
    """After each input."""

    output_prefix: str = " "
    """Before each option; its trailing whitespace is scored with the option."""

    output_suffix: str = ""
    """After the option of an example; it is left out after a scored option, whose score it could not change."""

    max_train_instances: int = Field(default=0, ge=0)
    """Number of train instances in a prompt."""

    multi_label: bool = False
    """Show all correct references in an example, joined by ", ", instead of the first."""


class SeparateAdapter(FewShotAdapter):
    """A method that scores the text of each reference after the same prompt."""

    asks = frozenset({"score"})
    needs_options = True
    params: SeparatePolicy

    def label(self, instance: Instance) -> Label:
        return correct_position(instance)

    def shot(self, instance: Instance) -> Shot:
        texts = [reference.text for reference in instance.references]
        answer = gold_answer(instance, texts, multi_label=self.params.multi_label)
        return Shot(instance.id, ((plain_question(instance, self.params), answer),))

    def answers(self, instance: Instance, prompts: PromptFitter) -> tuple[str, ...]:
        """Return the text that is scored for each reference."""
        texts = [reference.text for reference in instance.references]
        return scored_answers(instance, texts, self.params.answer_gap, chat=prompts.chat)


@adapter(
    "multiple_choice_separate_original",
    title="Multiple choice (separate)",
    short="separate",
    source="Brown et al. 2020, section 2.4 (arXiv:2005.14165)",
)
class MultipleChoiceSeparateOriginal(SeparateAdapter):
    """Each option is scored as the continuation of the question; the highest mean log-probability per token wins.

    All options of an instance follow the same prompt; in HELM the number of examples that fit can differ between them.
    """

    class Params(SeparatePolicy):
        """Settings of separate multiple choice; the defaults are those of HELM's separate factory, without examples."""

        length_normalization: Literal["tokens", "characters", "none"] = "tokens"
        """Divide an option's log-likelihood by its number of tokens (as HELM), its number of characters (as
        lm-evaluation-harness's ``acc_norm``) or nothing (``acc``).
        """

    params: Params

    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        answers = self.answers(instance, prompts)
        fitted = prompts.fit([plain_question(instance, self.params)], answers=answers, instance=instance.id)
        requests = [
            score_request(fitted.prompts[0], answer, instance, trial, index) for index, answer in enumerate(answers)
        ]
        return fitted.adapted(instance, requests, trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Choose the reference with the highest log-likelihood for its length."""
        length = LENGTHS[self.params.length_normalization]
        scores = []
        for index, (reference, response) in enumerate(zip(adapted.instance.references, responses, strict=True)):
            logprobs = token_logprobs(response, adapted, index)
            scores.append(math.fsum(logprobs) / max(1, length(logprobs, reference.text)))
        return choose(adapted, scores)
