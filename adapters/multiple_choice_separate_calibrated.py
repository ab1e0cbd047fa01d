"""Multiple choice, separate and calibrated: each option's likelihood, given the question relative to without it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adapters._prompt.fitting import PromptFitter
from adapters._prompt.prompt import plain_question
from adapters._prompt.scoring import adapted_to_scores, choose, each_score, score_request
from adapters.multiple_choice_separate_original import SeparateAdapter, SeparatePolicy
from harness import Adapted, Instance, Prediction, Response, adapter

NO_QUESTION = "Answer:"
"""The input in the place of the question, after which an option's own likelihood is taken (Brown et al. 2020)."""


@adapter("multiple_choice_separate_calibrated", source="Brown et al. 2020, section 2.4 (arXiv:2005.14165)")
class MultipleChoiceSeparateCalibrated(SeparateAdapter):
    """Each option scored twice, after the question and after "Answer:" alone; the highest difference is chosen.

    The requests of a reference stand side by side, the question's first. Options that occur in many instances are asked
    about without the question each time, and answered once by the response cache.
    """

    class Params(SeparatePolicy):
        """Settings of calibrated multiple choice; the defaults are those of HELM's separate factory."""

    def __init__(self, params: Params) -> None:
        self.params: MultipleChoiceSeparateCalibrated.Params = params

    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        answers = self.answers(instance, prompts)
        fitted = prompts.fit([plain_question(instance, self.params)], answers=answers, instance=instance.id)
        unasked = prompts.without_examples(plain_question(instance.replace(input=NO_QUESTION), self.params))
        requests = [
            score_request(context, answer, instance, trial, index, role)
            for index, answer in enumerate(answers)
            for context, role in ((fitted.prompts[0], "original"), (unasked, "calibration"))
        ]
        return adapted_to_scores(instance, requests, fitted, trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Choose the reference whose log-likelihood the question raises most."""
        totals = each_score(adapted, responses, math.fsum)
        return choose(adapted, [given - alone for given, alone in zip(totals[::2], totals[1::2], strict=True)])
