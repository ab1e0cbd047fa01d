"""Joint multiple choice by scores: each option's letter is scored as the continuation of the joint prompt."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adapters._prompt.fitting import PromptFitter
from adapters._prompt.lettered_options import LetteredAdapter, OrderedOptions
from adapters._prompt.scoring import choose, each_score, score_request, scored_answers
from harness import Adapted, Instance, Prediction, Response, adapter


@adapter(
    "multiple_choice_joint_scored",
    title="Multiple choice (joint, scored)",
    short="joint, scored",
    source="Gao et al., lm-evaluation-harness, task mmlu (Zenodo 10256836)",
)
class MultipleChoiceJointScored(LetteredAdapter):
    """The prompt of joint multiple choice; the option whose letter is most likely is chosen.

    Unlike with free output, the choice is always one of the options, and a model that can only score is enough. The
    letter is scored after the whitespace that ends the output prefix, as in lm-evaluation-harness.
    """

    asks = frozenset({"score"})

    class Params(OrderedOptions):
        """Settings of scored joint multiple choice; the defaults are those of joint multiple choice."""

    params: Params

    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        letters = self.letters(instance)
        answers = scored_answers(instance, letters, self.params.answer_gap, chat=prompts.chat)
        fitted = prompts.fit([self.question(instance, letters)], answers=answers, instance=instance.id)
        requests = [
            score_request(fitted.prompts[0], answer, instance, trial, index) for index, answer in enumerate(answers)
        ]
        return fitted.adapted(instance, requests, trial, labels=letters)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Choose the letter with the highest log-likelihood, summed over its tokens."""
        return choose(adapted, each_score(adapted, responses, math.fsum))
