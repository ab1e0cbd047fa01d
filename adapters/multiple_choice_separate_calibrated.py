"""Separate calibrated multiple choice: how much the question raises each option's likelihood."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adapters._prompt.fitting import PromptFitter
from adapters._prompt.prompt import plain_question
from adapters._prompt.scoring import choose, each_score, score_request
from adapters.multiple_choice_separate_original import SeparateAdapter, SeparatePolicy
from harness import Adapted, Instance, Prediction, Response, adapter

NO_QUESTION = "Answer:"
"""The input that replaces the question for an option's unconditional likelihood (Brown et al. 2020)."""


@adapter(
    "multiple_choice_separate_calibrated",
    title="Multiple choice (separate, calibrated)",
    short="calibrated",
    source="Brown et al. 2020, section 2.4 (arXiv:2005.14165)",
)
class MultipleChoiceSeparateCalibrated(SeparateAdapter):
    """Each option is scored after the question and after "Answer:" alone; the one with the largest difference wins.

    The two requests for a reference are adjacent, the one with the question first. Options that occur in many instances
    are requested without the question each time, but the response cache has the model answer only once.
    """

    class Params(SeparatePolicy):
        """Settings of calibrated multiple choice; the defaults are those of HELM's separate factory."""

    params: Params

    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        answers = self.answers(instance, prompts)
        fitted = prompts.fit([plain_question(instance, self.params)], answers=answers, instance=instance.id)
        unasked = prompts.without_examples(plain_question(instance.replace(input=NO_QUESTION), self.params))
        requests = [
            score_request(context, answer, instance, trial, index, role)
            for index, answer in enumerate(answers)
            for context, role in ((fitted.prompts[0], "original"), (unasked, "calibration"))
        ]
        return fitted.adapted(instance, requests, trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Choose the reference whose log-likelihood the question raises most."""
        totals = each_score(adapted, responses, math.fsum)
        return choose(adapted, [given - alone for given, alone in zip(totals[::2], totals[1::2], strict=True)])
