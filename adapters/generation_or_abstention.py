"""Generation that also scores how likely the model finds it that there is no answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from adapters._prompt.fitting import PromptFitter
from adapters._prompt.scoring import score_request
from adapters.generation import Generation
from harness import Adapted, Instance, Prediction, Response, adapter


@adapter(
    "generation_or_abstention",
    title="Generation or abstention",
    short="or abstention",
    source="Rajpurkar et al. 2018, section 4 (arXiv:1806.03822)",
)
class GenerationOrAbstention(Generation):
    """Generation, and the log-likelihood of a text that says that there is no answer, after the same prompt.

    The prediction is the generated text. Metrics such as ``squad_best`` compare the log-likelihood with a threshold:
    above it, the model abstains. lm-evaluation-harness asks SQuAD 2.0 in this way. Needs a model that scores texts.
    """

    asks = frozenset({"generate", "score"})

    class Params(Generation.Params):
        """Settings of generation, and the text that is scored."""

        abstention: str = Field(default="unanswerable", min_length=1)
        """The text that says that there is no answer; it is scored as an answer is, after the output prefix."""

    params: Params

    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        fitted = prompts.fit([self.question(instance, prompts)], instance=instance.id)
        (prompt,) = fitted.prompts
        text = self.params.abstention if prompts.chat else self.params.answer_gap + self.params.abstention
        scored = score_request(prompt, text, instance, trial, None, "abstention")
        generated = self.request(prompt, instance, trial, completions=self.params.num_outputs)
        return fitted.adapted(instance, [generated, scored], trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Take the generated text."""
        return super().predict(replace(adapted, requests=adapted.requests[:1]), responses[:1])
