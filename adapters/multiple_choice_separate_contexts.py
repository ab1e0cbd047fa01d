"""Separate multiple choice by beginnings: the same ending is scored after each option."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adapters._prompt.few_shot import Label, correct_position
from adapters._prompt.few_shot_adapter import FewShotAdapter
from adapters._prompt.fitting import PromptFitter
from adapters._prompt.prompt import Question, Shot, gold_answer
from adapters._prompt.scoring import choose, each_score, score_request, scored_answers
from adapters.multiple_choice_separate_original import SeparatePolicy
from harness import Adapted, Instance, Prediction, Response, adapter


@adapter(
    "multiple_choice_separate_contexts",
    title="Multiple choice (separate contexts)",
    source="Trinh and Le 2018, section 3 (partial scoring, arXiv:1806.02847)",
)
class MultipleChoiceSeparateContexts(FewShotAdapter):
    """Each option is a beginning; the option after which the instance's input is most likely is chosen.

    The references are the beginnings, such as "The trophy does not fit because the trophy", and the input is what
    follows all of them, "is too large." An example shows its correct beginning and the input.
    """

    asks = frozenset({"score"})
    needs_options = True

    class Params(SeparatePolicy):
        """Settings of partial scoring: ``output_prefix`` is between beginning and input."""

    params: Params

    def label(self, instance: Instance) -> Label:
        return correct_position(instance)

    def shot(self, instance: Instance) -> Shot:
        beginning = gold_answer(instance, [reference.text for reference in instance.references], multi_label=False)
        return Shot(instance.id, ((self._question(beginning), instance.input),))

    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        questions = [self._question(reference.text) for reference in instance.references]
        gap = self.params.answer_gap
        answers = scored_answers(instance, [instance.input] * len(questions), gap, chat=prompts.chat)
        fitted = prompts.fit(questions, answers=answers, instance=instance.id)
        requests = [
            score_request(prompt, answer, instance, trial, index)
            for index, (prompt, answer) in enumerate(zip(fitted.prompts, answers, strict=True))
        ]
        return fitted.adapted(instance, requests, trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Choose the beginning after which the input has the highest log-likelihood, summed over its tokens."""
        return choose(adapted, each_score(adapted, responses, math.fsum))

    def _question(self, beginning: str) -> Question:
        return Question(self.params.input_prefix, beginning, self.params.input_suffix)
