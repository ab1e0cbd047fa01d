"""Generation: the model continues the prompt; its output, or the answer read from it, is the prediction."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from adapters._prompt.few_shot_adapter import completions_of, probability_of
from adapters._prompt.fitting import PromptFitter
from adapters._prompt.generating import GeneratingAdapter, GeneratingPolicy
from adapters._prompt.prompt import Question, Shot, gold_answer, plain_question
from harness import Adapted, Instance, Prediction, Response, adapter
from harness.answers import read_answer


@adapter("generation", title="Generation", source="Liang et al. 2022, section 7 (arXiv:2211.09110)")
class Generation(GeneratingAdapter):
    """Few-shot prompting: examples of inputs with their outputs, then the input, whose output the model writes."""

    asks = frozenset({"generate"})

    class Params(GeneratingPolicy):
        """Settings of generation; the defaults are those of HELM's generation factory."""

        num_outputs: int = Field(default=1, ge=1)
        """Number of completions; the most likely one is the prediction, and metrics ``…@k`` see all of them."""

        input_tokens: int | None = Field(default=None, ge=1)
        """Cut the input of each question to exactly this many tokens of the model's own tokenizer.

        Special tokens do not count, examples stay as they are, and a shorter input is repeated; null leaves inputs as
        they are. Without a tokenizer, four characters are a token.
        """

        multi_label: bool = False
        """Show all correct references in an example, joined by ", ", instead of the first."""

    params: Params

    def shot(self, instance: Instance) -> Shot:
        texts = [reference.text for reference in instance.references]
        answer = gold_answer(instance, texts, multi_label=self.params.multi_label)
        return Shot(instance.id, ((plain_question(instance, self.params), self.shown_answer(instance, answer)),))

    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        fitted = prompts.fit([self.question(instance, prompts)], instance=instance.id)
        request = self.request(fitted.prompts[0], instance, trial, completions=self.params.num_outputs)
        return fitted.adapted(instance, [request], trial)

    def question(self, instance: Instance, prompts: PromptFitter) -> Question:
        """Return an instance's question, its input cut to ``input_tokens``."""
        question = plain_question(instance, self.params)
        if self.params.input_tokens is None:
            return question
        return question.cut_to(prompts.beginning(instance.input, self.params.input_tokens, instance=instance.id))

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Take the most likely completion, or the first if the model gives no log-probabilities (as in HELM).

        An empty completion has no probability, so it is never the most likely; in HELM it counts as certain.
        """
        completions = completions_of(responses[0], adapted.instance)
        written = [completion for completion in completions if completion.text or probability_of(completion)]
        known = written and all(probability_of(completion) is not None for completion in written)
        best = max(written, key=lambda completion: completion.logprob or 0.0) if known else completions[0]
        if self.params.answer is None:
            texts = tuple(completion.text for completion in completions)
            return Prediction(text=best.text, texts=texts, probability=probability_of(best))
        read = {text: read_answer(self.params.answer, text) for text in {one.text for one in completions}}
        (first, *_) = self.params.answer
        return Prediction(
            text=read[best.text][first] or "",
            texts=tuple(read[completion.text][first] or "" for completion in completions),
            probability=probability_of(best),
            unread=read[best.text][first] is None,
            readings=read[best.text],
        )
