"""The base of the few-shot methods: one set of examples per trial, and prompts that fit the window."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from adapters._prompt.few_shot import Label, correct_text, drawn_examples, same_question, select_examples
from adapters._prompt.fitting import PromptFitter
from adapters._prompt.prompt import PromptWriter, Shot
from adapters._prompt.prompt_changes import changes_of_text
from adapters._prompt.prompt_policy import PromptPolicy
from harness import (
    Adapted,
    Adapter,
    Completion,
    HarnessError,
    Instance,
    ModelError,
    Origin,
    PromptChange,
    Response,
    Tokenization,
)


class FewShotAdapter(Adapter):
    """An adaptation method whose prompts show train instances as examples.

    A subclass defines how an example looks, by what label examples are balanced, and the requests for an evaluation
    instance.
    """

    params: PromptPolicy

    def __init__(self, params: PromptPolicy) -> None:
        self.params = params
        self.takes_first = params.example_selection != "shared"

    @classmethod
    def prompt_changes(cls, params: PromptPolicy) -> Mapping[str, Sequence[PromptChange]]:
        return changes_of_text(params)

    @property
    def train_trials(self) -> int:
        """How many times the evaluation is repeated, each time with other examples."""
        return self.params.train_trials

    @property
    def max_tokens(self) -> int:
        """Number of tokens that the model may generate; 0 for methods that only score."""
        return int(getattr(self.params, "max_tokens", 0))

    def label(self, instance: Instance) -> Label:
        """Return the label by which examples are balanced (default: the text of the first correct reference)."""
        return correct_text(instance)

    @abstractmethod
    def shot(self, instance: Instance) -> Shot:
        """Return a train instance as an example."""

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
        max_tokens = tokenization.most_generated(self.max_tokens) if self.max_tokens else 0

        def showing(chosen: Sequence[Instance]) -> PromptFitter:
            writer = PromptWriter(self.params, [self.shot(example) for example in chosen], chat=tokenization.chat)
            return PromptFitter(writer, tokenization, max_tokens=max_tokens)

        def choose(among: Sequence[Instance]) -> _Prompts:
            chosen = select_examples(among, self.params, label=self.label, trial=trial, seed=seed)
            return chosen, showing(chosen)

        if self.params.example_selection == "shared" or not self.params.max_train_instances:
            fitters = _fitters(instances, candidates, choose(candidates), choose)
        else:
            drawn = drawn_examples(candidates, self.params, instances, trial=trial, seed=seed)
            fitters = ((instance, showing(chosen)) for instance, chosen in drawn)
        return (self.ask(instance, prompts, trial=trial, seed=seed) for instance, prompts in fitters)


_Prompts = tuple[Sequence[Instance], PromptFitter]
"""Few-shot examples, and the writer of prompts that show them."""


def _fitters(
    instances: Iterable[Instance],
    candidates: Sequence[Instance],
    shared: _Prompts,
    choose: Callable[[Sequence[Instance]], _Prompts],
) -> Iterator[tuple[Instance, PromptFitter]]:
    """Yield each instance with its prompts' writer: of the shared examples, or of others if it is one of these.

    Perturbed copies follow their original and show the same examples.
    """
    (examples, prompts), last = shared, None
    for instance in instances:
        if instance.perturbation is None or instance.id != last:
            last, (_, prompts) = instance.id, shared
            if any(same_question(example, instance) for example in examples):
                others = [candidate for candidate in candidates if not same_question(candidate, instance)]
                if not others:
                    raise HarnessError(
                        f"instance {instance.id!r} has no few-shot examples: every train instance is the same "
                        "question. Set max_train_instances: 0."
                    )
                _, prompts = choose(others)
        yield instance, prompts


def origin_of(instance: Instance, trial: int, *, reference: int | None = None, role: str = "original") -> Origin:
    """Return the origin of a request about an instance."""
    return Origin(instance.id, instance.perturbation, trial, reference, role)


def completions_of(response: Response, instance: Instance) -> tuple[Completion, ...]:
    """Return a response's completions, at least one.

    Raises:
        ModelError: There are none.
    """
    if not response.completions:
        raise ModelError(f"the model gave no completion for instance {instance.id!r}.")
    return response.completions


def probability_of(completion: Completion) -> float | None:
    """Return the model's probability of a completion, at most 1; None if it is unknown or the text is empty."""
    if completion.logprob is None or math.isnan(completion.logprob):
        return None
    return math.exp(min(0.0, completion.logprob))


def _check_chat(policy: PromptPolicy, tokenization: Tokenization) -> None:
    if tokenization.chat:
        return
    for setting, instead in (("system_prompt", "Use instructions"), ("examples_as_turns", "Leave it out")):
        if getattr(policy, setting):
            raise HarnessError(
                f"{setting} is set, but the model has no chat template and would ignore it. "
                f"{instead}, or use a chat model."
            )
