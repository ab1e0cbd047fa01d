"""Binary ranking: the model says of each passage whether it answers the query; its confidence ranks the passages."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from adapters._prompt.few_shot_adapter import FewShotAdapter, completions_of, origin_of, probability_of
from adapters._prompt.fitting import PromptFitter
from adapters._prompt.prompt import Question, Shot
from adapters._prompt.prompt_policy import PromptPolicy, StopSequence
from harness import (
    Adapted,
    Completion,
    GenerateRequest,
    HarnessError,
    Instance,
    ModelError,
    Prediction,
    Reference,
    Response,
    adapter,
)

RELEVANT = "Yes"
IRRELEVANT = "No"


@adapter(
    "ranking_binary",
    title="Ranking (yes or no)",
    short="ranking",
    source="Nogueira and Cho 2019 (arXiv:1901.04085); Liang et al. 2022, section 7",
)
class RankingBinary(FewShotAdapter):
    """One question for each passage, "Does the passage answer the query?", ranked from the most certain yes to no.

    Passages are ranked as in HELM: first those answered with yes, the most probable yes first; then those answered with
    no, the least probable no first; then all others. The score expresses this order: with p the probability of the
    answer it is 2 + p for yes, 2 − p for no and 1 − p for other answers. An empty answer has no probability and
    scores 0.
    """

    asks = frozenset({"generate"})
    needs_logprobs = True

    class Params(PromptPolicy):
        """Settings of binary ranking; the defaults are those of HELM's ranking factory and of its MS MARCO runs."""

        reference_prefix: str = "Passage: "
        """Before each passage."""

        reference_suffix: str = "\n"
        """After each passage."""

        input_prefix: str = "Query: "
        """Before each query."""

        output_prefix: str = "Does the passage answer the query?\nAnswer: "
        """The question about each passage."""

        max_train_instances: int = Field(default=2, ge=0)
        """Number of train queries in a prompt, each with a relevant and an irrelevant passage.

        HELM's factory takes the number of passages, 4, and halves it.
        """

        max_tokens: int = Field(default=5, ge=1)
        """Maximum number of tokens that the model generates."""

        stop_sequences: tuple[StopSequence, ...] = ("\n",)
        """Texts that end the answer."""

    params: Params

    def candidates(self, train: Sequence[Instance]) -> Sequence[Instance]:
        """Return the train queries with both a relevant and an irrelevant passage, so that examples are balanced."""
        both = [instance for instance in train if len({reference.correct for reference in instance.references}) == 2]
        if train and not both:
            raise HarnessError(
                "no train instance has both a relevant and an irrelevant passage, which an example needs. "
                "Set max_train_instances: 0."
            )
        return both

    def shot(self, instance: Instance) -> Shot:
        """Return the query with its first relevant and its first irrelevant passage, in the scenario's order."""
        kinds = [reference.correct for reference in instance.references]
        shown = [instance.references[index] for index in sorted((kinds.index(True), kinds.index(False)))]
        turns = [(self._question(instance, one), RELEVANT if one.correct else IRRELEVANT) for one in shown]
        return Shot(instance.id, tuple(turns))

    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        if not instance.references:
            raise HarnessError(f"instance {instance.id!r} has no references to rank.")
        questions = [self._question(instance, reference) for reference in instance.references]
        fitted = prompts.fit(questions, instance=instance.id)
        requests = [
            GenerateRequest(
                prompt=prompt,
                max_tokens=self.params.max_tokens,
                stop=self.params.stop_sequences,
                origin=origin_of(instance, trial, reference=index),
            )
            for index, prompt in enumerate(fitted.prompts)
        ]
        return fitted.adapted(instance, requests, trial)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Score each passage and choose the highest, the first of a tie; ``texts`` are the model's answers."""
        completions = [completions_of(response, adapted.instance)[0] for response in responses]
        scores = [_score(completion, adapted.instance) for completion in completions]
        choice = scores.index(max(scores))
        return Prediction(
            text=adapted.instance.references[choice].text,
            texts=tuple(completion.text for completion in completions),
            choice=choice,
            choice_scores=tuple(scores),
        )

    def _question(self, instance: Instance, reference: Reference) -> Question:
        """Return a passage and the query; only the passage may be cut, since the query is the question."""
        policy = self.params
        query = f"{policy.reference_suffix}{policy.input_prefix}{instance.input}{policy.input_suffix}"
        return Question(policy.reference_prefix, reference.text, query)


def _score(completion: Completion, instance: Instance) -> float:
    probability = probability_of(completion)
    if probability is None and not completion.text:
        return 0.0
    if probability is None:
        raise ModelError(f"the model gave no log-probability for an answer about instance {instance.id!r}.")
    said = completion.text.strip().casefold()
    if said == RELEVANT.casefold():
        return 2.0 + probability
    return (2.0 if said == IRRELEVANT.casefold() else 1.0) - probability
