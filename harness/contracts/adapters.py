"""From instances to requests, and from responses to predictions and examples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.contracts.instances import Instance, Reference
from harness.contracts.models import Tokenization
from harness.contracts.requests import Decline, Request, Response


@dataclass(frozen=True, slots=True)
class Adapted:
    """The requests that one instance becomes, and what is needed to read the answers."""

    instance: Instance
    """The instance, or for a method that asks about many at once, one made to stand for them."""
    requests: tuple[Request, ...]
    """What to ask."""
    labels: tuple[str, ...] = ()
    """For methods that show answer options by letter, the letter of each reference, in order."""
    train_instances: tuple[str, ...] = ()
    """Ids of the few-shot examples that are in the prompt, in order."""
    dropped_examples: int = 0
    """How many few-shot examples were left out because the prompt was too long."""
    truncated: bool = False
    """Whether the instance's own input was cut."""
    trial: int = 0
    """The train trial, from 0."""
    awaited: bool = False
    """Whether what the adapter yields next may depend on how :meth:`Adapter.predict` reads these answers, as in a
    sequential test: it is called with them before the adapter is asked for more.
    """


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model said, read back into the scenario's terms."""

    text: str
    """The predicted text; for multiple choice the text of the chosen reference."""
    texts: tuple[str, ...] = ()
    """The text of every completion, the first one's included, mapped like ``text``."""
    choice: int | None = None
    """For multiple choice the index of the chosen reference; None if the answer is none of them."""
    choice_scores: tuple[float, ...] | None = None
    """For methods that score each reference, the scores compared, in the references' order."""
    probability: float | None = None
    """The model's probability of its own prediction (HELM's ``max_prob``); None when unknown."""
    unread: bool = False
    """Whether the model wrote something from which no answer could be read; then ``text`` is empty."""


class Adapter(ABC):
    """An adaptation method: instances become requests, and responses predictions.

    A subclass registered with ``@adapter`` names its settings as a pydantic model ``Params`` and is given them checked.
    """

    asks: ClassVar[frozenset[str]]
    """Which questions the method puts to a model: ``generate``, ``score`` or both."""
    needs_logprobs: ClassVar[bool] = False
    """Whether it needs the log-probabilities of what a model generates."""
    needs_options: ClassVar[bool] = False
    """True if it lets the model choose between an instance's references, which then need wrong ones among them."""
    keeps_order: ClassVar[bool] = False
    """True if the method depends on the order of the data set: with ``max_eval_instances``, it is then given the first
    instances instead of a random sample.
    """

    @property
    def train_trials(self) -> int:
        """How many times the evaluation is repeated with other few-shot examples."""
        return 1

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
            tokenization: The model, as far as an adapter may know it.
            trial: The train trial, from 0.
            seed: The run's seed.

        Raises:
            HarnessError: The settings and the data or the model do not fit each other.
        """

    @abstractmethod
    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Read the responses, in the order of ``adapted.requests``; none of them has an error.

        Raises:
            ModelError: The model gave no log-probabilities where the method needs them.
        """


@dataclass(frozen=True, slots=True)
class Example:
    """One instance with everything that was asked, answered and predicted: what a metric sees."""

    instance: Instance
    """The instance."""
    requests: tuple[Request, ...] = ()
    """What was asked."""
    responses: tuple[Response, ...] = ()
    """The answers, in the order of the requests."""
    prediction: str = ""
    """The predicted text; for multiple choice the text of the chosen reference."""
    predictions: tuple[str, ...] = ()
    """The text of every completion."""
    choice: int | None = None
    """For multiple choice the index of the chosen reference."""
    choice_scores: tuple[float, ...] | None = None
    """The scores of the references, where each was scored."""
    probability: float | None = None
    """The model's probability of its own prediction."""
    unread: bool = False
    """Whether the model wrote something from which no answer could be read."""
    labels: tuple[str, ...] = ()
    """For methods that show answer options by letter, the letters."""
    trial: int = 0
    """The train trial, from 0."""
    train_instances: tuple[str, ...] = ()
    """Ids of the few-shot examples in the prompt."""
    dropped_examples: int = 0
    """Few-shot examples left out because the prompt was too long."""
    truncated: bool = False
    """Whether the input was cut."""

    @property
    def declined(self) -> Decline | None:
        """Why the model or its provider gave no answer to one of the requests; None where all of them are answered."""
        return next((kind for response in self.responses if (kind := response.declined)), None)

    @property
    def references(self) -> tuple[Reference, ...]:
        """The instance's references."""
        return self.instance.references

    @property
    def correct(self) -> tuple[Reference, ...]:
        """The instance's correct references."""
        return self.instance.correct
