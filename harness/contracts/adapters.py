"""From instances to requests, and from responses to predictions and examples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from harness.contracts.instances import Instance, Reference
from harness.contracts.messages import ToolCall
from harness.contracts.models import Tokenization
from harness.contracts.requests import Decline, Request, Response


@dataclass(frozen=True, slots=True)
class PromptChange:
    """A change to how a prompt is written, which leaves the task as it is."""

    description: str
    """The change in words, such as ``letters 1, 2, 3``; unique among the changes that a method offers."""
    settings: Mapping[str, Any]
    """The method's settings that it replaces, with their new values."""


@dataclass(frozen=True, slots=True)
class Adapted:
    """The requests that one instance becomes, and what is needed to read the answers."""

    instance: Instance
    """The instance, or for a method that asks about many at once, a stand-in for them."""
    requests: tuple[Request, ...]
    """The requests to send."""
    labels: tuple[str, ...] = ()
    """The letter of each reference, in order, for methods that show answer options by letter."""
    train_instances: tuple[str, ...] = ()
    """Ids of the few-shot examples that are in the prompt, in order."""
    dropped_examples: int = 0
    """Number of few-shot examples left out because the prompt was too long."""
    truncated: bool = False
    """True if the instance's own input was cut."""
    trial: int = 0
    """The train trial, from 0."""
    sample: int = 0
    """The sample, from 0, where each sample of an instance is a conversation of its own; set by the engine."""
    awaited: bool = False
    """True if the adapter needs these answers before it can yield more, as in a sequential test:
    :meth:`Adapter.predict` is then called with them first. Other runs go on meanwhile.
    """
    follow_ups: int = 0
    """Most requests that :meth:`Adapter.follow_up` may still add, as far as the adapter knows."""


LETTERS_JOINED_BY = ", "
"""Between the letters of several options."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A model's answer, in the scenario's terms."""

    text: str
    """The predicted text; for multiple choice the text of the chosen reference."""
    texts: tuple[str, ...] = ()
    """The text of every completion, including the first, mapped like ``text``."""
    choice: int | None = None
    """For multiple choice, the index of the chosen reference; None if the answer matches none of them."""
    choice_scores: tuple[float, ...] | None = None
    """For methods that score each reference, the scores compared, in the references' order."""
    probability: float | None = None
    """The model's probability of its own prediction (HELM's ``max_prob``); None when unknown."""
    choices: tuple[int, ...] | None = None
    """For methods that let several options be chosen, the indices of all that are; None for other methods."""
    unread: bool = False
    """True if the model wrote something, but no answer could be read from it; ``text`` is then empty."""
    readings: Mapping[str, str | None] = field(default_factory=dict)
    """What each reading of the setting ``answer`` read, by name, the prediction's first; of options their letters.

    Metrics of accuracy are computed for each reading. Empty for methods without the setting.
    """

    @classmethod
    def of_letters(
        cls,
        instance: Instance,
        labels: Sequence[str],
        read: str | None,
        *,
        several: bool = False,
        probability: float | None = None,
        readings: Mapping[str, str | None] | None = None,
    ) -> Prediction:
        """Return the prediction of the options whose letters were read.

        Args:
            instance: The instance.
            labels: The letter of each reference.
            read: The letter; with ``several``, letters joined by ", "; None if none was read.
            several: True if several options may be chosen together.
            probability: The model's probability of what it wrote.
            readings: The readings to record.
        """
        chosen = () if read is None else tuple(labels.index(letter) for letter in read.split(LETTERS_JOINED_BY))
        text = LETTERS_JOINED_BY.join(instance.references[index].text for index in chosen)
        return cls(
            text=text,
            texts=(text,),
            choice=chosen[0] if len(chosen) == 1 else None,
            choices=chosen if several else None,
            probability=probability,
            unread=read is None,
            readings=readings or {},
        )


class Adapter(ABC):
    """An adaptation method: instances become requests, and responses predictions.

    A subclass registered with ``@adapter`` declares its settings as a pydantic model ``Params``; its constructor gets
    them validated::

        @adapter("bare", source="This example")
        class Bare(Adapter):
            asks = frozenset({"generate"})

            def adapt(self, instances, train, tokenization, *, trial, seed):
                for instance in instances:
                    yield Adapted(instance, (GenerateRequest(instance.input, max_tokens=5),), trial=trial)

            def predict(self, adapted, responses):
                return Prediction(responses[0].completions[0].text.strip())
    """

    asks: ClassVar[frozenset[str]]
    """The kinds of requests that the method makes: ``generate``, ``score`` or both."""
    needs_logprobs: ClassVar[bool] = False
    """True if it needs the log-probabilities of generated text."""
    needs_chat: ClassVar[bool] = False
    """True if its prompts are conversations, which need a model with a chat template."""
    needs_options: ClassVar[bool] = False
    """True if it lets the model choose between an instance's references, which then need wrong ones among them."""
    keeps_order: ClassVar[bool] = False
    """True if the method depends on the order of the data set: with ``max_eval_instances``, it is then given the first
    instances instead of a random sample.
    """

    takes_first: bool = False
    """True if ``max_eval_instances`` gives the method the first instances instead of a random sample."""

    @property
    def train_trials(self) -> int:
        """Number of times the evaluation is repeated with other few-shot examples."""
        return 1

    @classmethod
    def prompt_changes(cls, params: Any) -> Mapping[str, Sequence[PromptChange]]:
        """Return ways to write the prompt of these settings differently, by what they change; none by default.

        A run with ``prompt_variants`` draws its prompts from them. It may take one of each kind, in the order of the
        mapping; the later ones are asked for again with the settings that the earlier ones give.

        Args:
            params: The method's ``Params``.
        """
        return {}

    @abstractmethod
    def adapt(
        self,
        instances: Iterable[Instance],
        train: Sequence[Instance],
        tokenization: Tokenization,
        *,
        trial: int,
        seed: int,
    ) -> Iterator[Adapted]:
        """Turn instances into requests, as a stream.

        Args:
            instances: Evaluation instances, originals and perturbed copies.
            train: All train instances of the scenario, in the scenario's order.
            tokenization: The model's window and token counts.
            trial: The train trial, from 0.
            seed: The run's seed.

        Raises:
            HarnessError: The settings do not fit the data or the model.
        """

    def follow_up(self, adapted: Adapted, responses: Sequence[Response]) -> Adapted | None:
        """Ask more about an instance, now that all that was asked about it is answered; None to ask nothing more.

        Instances go on independently of each other: the next request of one is sent while others are still at their
        first. An example ends without this call when a request of it failed, or was declined.

        Args:
            adapted: What was asked so far.
            responses: The answers to all its requests, in their order.

        Returns:
            ``adapted`` with more requests at the end. It is called again when they are answered.
        """
        return None

    @abstractmethod
    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Read the responses, which are in the order of ``adapted.requests`` and free of errors.

        Raises:
            ModelError: The method needs log-probabilities, and the model gave none.
        """


@dataclass(frozen=True, slots=True)
class Example:
    """One instance with its requests, responses and prediction: what a metric sees."""

    instance: Instance
    """The instance."""
    requests: tuple[Request, ...] = ()
    """The requests that were sent."""
    responses: tuple[Response, ...] = ()
    """The answers, in the order of the requests."""
    prediction: str = ""
    """The predicted text; for multiple choice the text of the chosen reference."""
    predictions: tuple[str, ...] = ()
    """The text of every completion."""
    choice: int | None = None
    """For multiple choice, the index of the chosen reference; None if the answer matches none."""
    choice_scores: tuple[float, ...] | None = None
    """The score of each reference, for methods that score them; None otherwise."""
    probability: float | None = None
    """The model's probability of its own prediction."""
    choices: tuple[int, ...] | None = None
    """For methods that let several options be chosen, the indices of all that are; None for other methods."""
    unread: bool = False
    """True if the model wrote something, but no answer could be read from it."""
    readings: Mapping[str, str | None] = field(default_factory=dict)
    """What each reading of the setting ``answer`` read, by name; the first is the prediction."""
    labels: tuple[str, ...] = ()
    """The letter of each reference, for methods that show answer options by letter."""
    trial: int = 0
    """The train trial, from 0."""
    sample: int = 0
    """The sample, from 0, where several answers are sampled for each prompt; each is an example of its own."""
    train_instances: tuple[str, ...] = ()
    """Ids of the few-shot examples in the prompt."""
    dropped_examples: int = 0
    """Number of few-shot examples left out because the prompt was too long."""
    truncated: bool = False
    """True if the input was cut."""
    model: str = ""
    """The model that answered, ``backend:identifier``; it is not stored with the example."""

    @property
    def declined(self) -> Decline | None:
        """Why the model or its provider declined one of the requests; None if all are answered."""
        return next((kind for response in self.responses if (kind := response.declined)), None)

    @property
    def turns(self) -> tuple[str, ...]:
        """The model's answer in each turn of a conversation; the first completion's, if there are several."""
        return tuple(response.completions[0].text for response in self.responses if response.completions)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools that the model called in its last answer; the first completion's, if there are several."""
        completions = self.responses[-1].completions if self.responses else ()
        return completions[0].tool_calls if completions else ()

    @property
    def unfinished_reasoning(self) -> bool:
        """True if the model ran out of tokens in one of its answers while it was still reasoning."""
        return any(one.unfinished_reasoning for response in self.responses for one in response.completions)

    @property
    def references(self) -> tuple[Reference, ...]:
        """The instance's references."""
        return self.instance.references

    @property
    def correct(self) -> tuple[Reference, ...]:
        """The instance's correct references."""
        return self.instance.correct

    @property
    def chose_correctly(self) -> bool:
        """True if the chosen option is correct; of several chosen options, if they are exactly the correct ones."""
        if self.choices is not None:
            correct = {index for index, reference in enumerate(self.references) if reference.correct}
            return bool(self.choices) and set(self.choices) == correct
        return self.choice is not None and self.references[self.choice].correct

    def predicted(self, prediction: Prediction) -> Example:
        """Return the example with a prediction."""
        return replace(
            self,
            prediction=prediction.text,
            predictions=prediction.texts,
            choice=prediction.choice,
            choices=prediction.choices,
            choice_scores=prediction.choice_scores,
            probability=prediction.probability,
            unread=prediction.unread,
            readings=prediction.readings,
        )

    def unread_for(self, stat: str) -> bool:
        """Return True if a stat's reading read nothing: ``flexible`` for ``f1_score (flexible)``."""
        suffixes = {name: f" ({name})" for name in tuple(self.readings)[1:]}
        reading = next((name for name, suffix in suffixes.items() if stat.endswith(suffix)), None)
        return self.unread if reading is None else self.readings[reading] is None

    def as_read(self, name: str) -> Example:
        """Return the example with another of its readings as the prediction."""
        read = self.readings[name]
        if self.labels:
            several = self.choices is not None
            prediction = Prediction.of_letters(self.instance, self.labels, read, several=several)
        else:
            prediction = Prediction(text=read or "", texts=(read or "",), unread=read is None)
        return self.predicted(replace(prediction, probability=self.probability, readings={name: read}))
