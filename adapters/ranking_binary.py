"""Ranking, binary: for each passage the model says whether it answers the query, and how surely it says so ranks it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from adapters._prompt.few_shot import Label, correct_text
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


@adapter("ranking_binary", source="Nogueira and Cho 2019 (arXiv:1901.04085); Liang et al. 2022, section 7")
class RankingBinary(FewShotAdapter):
    """One question for each passage, "Does the passage answer the query?"; surest yes first, surest no last.

    Passages are ranked as in HELM: those with the answer yes by its probability, then those with no by its
    improbability, then all others by theirs. A passage's score p, 0 to 3, sorts them that way: 2 + p for yes, 2 - p for
    no and 1 - p for others, where p is the probability of the answer. An empty answer has no probability and scores 0.
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
        """How many train queries a prompt shows, each with a relevant and an irrelevant passage: twice as many blocks.

        HELM's factory is given the number of blocks, 4, and halves it.
        """

        max_tokens: int = Field(default=5, ge=1)
        """Most tokens that the model generates."""

        stop_sequences: tuple[StopSequence, ...] = ("\n",)
        """Texts that end the answer."""

    def __init__(self, params: Params) -> None:
        self.params: RankingBinary.Params = params

    @property
    def max_tokens(self) -> int:
        return self.params.max_tokens

    def label(self, instance: Instance) -> Label:
        return correct_text(instance)

    def candidates(self, train: Sequence[Instance]) -> Sequence[Instance]:
        """Return the train queries that have a passage of each kind, so that examples are balanced."""
        both = [instance for instance in train if len({reference.correct for reference in instance.references}) == 2]
        if train and not both:
            raise HarnessError(
                "no train instance has both a relevant and an irrelevant passage, as an example needs. "
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
            raise HarnessError(f"instance {instance.id!r} has no references, so that there is nothing to rank.")
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
        return Adapted(
            instance=instance,
            requests=tuple(requests),
            train_instances=fitted.train_instances,
            dropped_examples=fitted.dropped_examples,
            truncated=fitted.truncated,
            trial=trial,
        )

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Score each passage; the highest, the first of those that tie, is the choice.

        ``texts`` holds what the model said of each passage.
        """
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
        """Return a passage and the query; the passage is what may be cut, since the query says what is asked."""
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
