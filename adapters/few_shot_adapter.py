"""What the methods that show few-shot examples share: one set of examples a trial, and prompts that fit."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from adapters.few_shot import Label, select_examples
from adapters.fitting import PromptFitter
from adapters.prompt import PromptWriter, Shot
from adapters.prompt_policy import PromptPolicy
from harness import Adapted, Adapter, Completion, HarnessError, Instance, ModelError, Origin, Response, Tokenization


class FewShotAdapter(Adapter):
    """An adaptation method whose prompts show train instances as examples.

    A subclass says how an instance looks as an example, what examples are balanced by, and what is asked of an
    evaluation instance.
    """

    params: PromptPolicy

    @property
    def train_trials(self) -> int:
        """How many times the evaluation is repeated; without examples every time would be the same."""
        return self.params.train_trials if self.params.max_train_instances else 1

    @property
    def max_tokens(self) -> int:
        """How many tokens the model may generate; 0 for methods that only score."""
        return 0

    @abstractmethod
    def label(self, instance: Instance) -> Label:
        """Return what examples are balanced by."""

    @abstractmethod
    def shot(self, instance: Instance) -> Shot:
        """Return a train instance as prompts show it."""

    @abstractmethod
    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        """Return the requests for one evaluation instance."""

    def candidates(self, train: Sequence[Instance]) -> Sequence[Instance]:
        """Return the train instances that can be examples."""
        return train

    def adapt(
        self,
        instances: Iterable[Instance],
        train: Sequence[Instance],
        tokenization: Tokenization,
        *,
        trial: int,
        seed: int,
    ) -> Iterator[Adapted]:
        _check_chat(self.params, tokenization)
        candidates = self.candidates(train) if self.params.max_train_instances else ()
        examples = select_examples(candidates, self.params, label=self.label, trial=trial, seed=seed)
        writer = PromptWriter(self.params, [self.shot(example) for example in examples], chat=tokenization.chat)
        prompts = PromptFitter(writer, tokenization, max_tokens=self.max_tokens)
        return (self.ask(instance, prompts, trial=trial, seed=seed) for instance in instances)


def origin_of(instance: Instance, trial: int, *, reference: int | None = None, role: str = "original") -> Origin:
    """Return where a request about an instance comes from."""
    return Origin(instance.id, instance.perturbation, trial, reference, role)


def completions_of(response: Response, instance: Instance) -> tuple[Completion, ...]:
    """Return a response's completions, at least one.

    Raises:
        ModelError: There is none.
    """
    if not response.completions:
        raise ModelError(f"the model gave no completion for instance {instance.id!r}.")
    return response.completions


def probability_of(completion: Completion) -> float | None:
    """Return the model's probability of a completion, at most 1; None if unknown, or undefined for an empty text."""
    if completion.logprob is None or math.isnan(completion.logprob):
        return None
    return math.exp(min(0.0, completion.logprob))


def _check_chat(policy: PromptPolicy, tokenization: Tokenization) -> None:
    if tokenization.chat:
        return
    for setting, instead in (("system_prompt", "Use instructions"), ("examples_as_turns", "Leave it out")):
        if getattr(policy, setting):
            raise HarnessError(
                f"{setting} is set, but the model has no chat template, so nothing would come of it. "
                f"{instead}, or take a chat model."
            )
