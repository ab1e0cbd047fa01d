"""The nouns that every stage of a run speaks, and what each kind of plugin promises.

Scenario → Instance → Perturbation → Instance → Adapter → Request → Model → Response → Example → Metric → Stat.
Nothing here imports another module of the harness.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Literal, Protocol


class Split(StrEnum):
    """The part of a data set that an instance belongs to."""

    TRAIN = "train"
    VALID = "valid"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Reference:
    """One possible answer.

    Attributes:
        text: The answer as the data set gives it.
        correct: Whether it is right.
        relevance: Graded relevance for ranking scenarios (0 is irrelevant); None elsewhere.
    """

    text: str
    correct: bool = False
    relevance: int | None = None


@dataclass(frozen=True, slots=True)
class Instance:
    """One question of a scenario.

    Attributes:
        id: Stable: a re-run, another machine and another order give the same id.
        input: The text that is put to the model, without any prompt format.
        references: Possible answers, correct and wrong; empty for open generation and language modelling.
        split: The part of the data set that it belongs to.
        perturbation: Name of the perturbation that changed it; the id stays that of the original.
        meta: What a scenario wants its adapters and metrics to see (group labels, unit tests); JSON values only.
    """

    id: str
    input: str
    references: tuple[Reference, ...] = ()
    split: Split = Split.TEST
    perturbation: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def correct(self) -> tuple[Reference, ...]:
        """The references that are right, in the scenario's order."""
        return tuple(reference for reference in self.references if reference.correct)

    def replace(self, **changes: Any) -> Instance:
        """Return a copy with the given fields changed."""
        return replace(self, **changes)


# ---------------------------------------------------------------------------------------------------------------
# What a model is asked, and what it answers


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


Prompt = str | tuple[Message, ...]
"""Plain text, or a conversation that the model puts through its own chat template."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request comes from. It is no part of the question, and no part of the response cache's key.

    Attributes:
        instance: The instance's id.
        perturbation: The instance's perturbation.
        trial: The train trial, from 0.
        reference: Index of the reference that is scored, where each reference has a request of its own.
        role: What the answer is for: ``original`` everywhere but for an adapter's auxiliary questions.
        scenario: The scenario with its parameters, ``mmlu:subject=anatomy``; adapters leave it to the pipeline.
    """

    instance: str
    perturbation: str | None = None
    trial: int = 0
    reference: int | None = None
    role: str = "original"
    scenario: str = ""


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """Continue a prompt.

    Attributes:
        prompt: Text or conversation.
        max_tokens: Most tokens to generate for each completion.
        temperature: 0 is greedy decoding.
        stop: Strings that end a completion; the completion does not contain them.
        completions: How many completions to draw.
        seed: Seeds sampling when the temperature is above 0.
        top_logprobs: How many of the likeliest tokens to report at each generated position; 0 for none.
        origin: Where the request comes from.
    """

    kind: ClassVar[Literal["generate"]] = "generate"
    prompt: Prompt
    max_tokens: int
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    completions: int = 1
    seed: int = 0
    top_logprobs: int = 0
    origin: Origin | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """Log-likelihood of a continuation given a context.

    Context and continuation are tokenized together and split at the context's length, as
    lm-evaluation-harness does: whitespace at the end of the context moves to the continuation first. An empty
    context stands for the model's beginning-of-text token. A continuation longer than the model's window is scored
    in consecutive windows, each with as much of the preceding text as fits (rolling log-likelihood); a context too
    long to fit beside its continuation loses its beginning.
    """

    kind: ClassVar[Literal["score"]] = "score"
    context: Prompt
    continuation: str
    origin: Origin | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SequenceRequest:
    """Log-likelihood of text segments, each tokenized once by itself, joined in a given order after one BOS token.

    Attributes:
        segments: The texts; requests that only differ in order share this tuple.
        order: A permutation of ``range(len(segments))``.
        origin: Where the request comes from.
    """

    kind: ClassVar[Literal["score"]] = "score"
    segments: tuple[str, ...]
    order: tuple[int, ...]
    origin: Origin | None = field(default=None, compare=False)


Request = GenerateRequest | ScoreRequest | SequenceRequest


@dataclass(frozen=True, slots=True)
class Completion:
    """One generated text.

    Attributes:
        text: Decoded text, without stop string, end-of-text token and prompt.
        logprob: Sum of the generated tokens' natural log-probabilities; None when the model gives none.
        tokens: Number of generated tokens; None when unknown.
        finish_reason: ``stop`` (stop string or end of text), ``length`` (max_tokens reached), or ``unknown``.
        top_logprobs: For each generated position the likeliest tokens' texts and natural log-probabilities, as many
            as were asked for, likeliest first; empty when none were asked for.
    """

    text: str
    logprob: float | None = None
    tokens: int | None = None
    finish_reason: Literal["stop", "length", "unknown"] = "unknown"
    top_logprobs: tuple[Mapping[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Response:
    """A model's answer to one request.

    Attributes:
        completions: For a GenerateRequest, as many as were asked for.
        logprobs: For a scored continuation or sequence, each token's natural log-probability in reading order.
        segment_tokens: For a SequenceRequest, the number of tokens of each segment, in the order asked for.
        greedy: For a ScoreRequest, whether every token of the continuation was the model's first choice.
        prompt_tokens: Tokens of the prompt or context, as the model counts; None when unknown.
        completion_tokens: Tokens generated, or scored; None when unknown.
        seconds: This request's share of the model's wall time when it was answered, in seconds; 0.0 when unknown.
        truncated: Whether the model had to cut the request to fit its window.
        cached: Whether it came from the response cache.
        error: Why there is no answer; then completions and logprobs are empty.
    """

    completions: tuple[Completion, ...] = ()
    logprobs: tuple[float, ...] | None = None
    segment_tokens: tuple[int, ...] = ()
    greedy: bool | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    truncated: bool = False
    cached: bool = False
    error: str | None = None


class Tokenization(Protocol):
    """What an adapter may know of a model: how long a prompt is to it, and how to make one shorter."""

    @property
    def window(self) -> int | None:
        """Most tokens of prompt and completion together; None when unlimited or unknown."""

    @property
    def chat(self) -> bool:
        """Whether the model takes conversations (it has a chat template)."""

    def count_tokens(self, prompt: Prompt) -> int:
        """Return the number of tokens of a prompt, special tokens and chat template included."""

    def truncate(self, text: str, tokens: int) -> str:
        """Return the longest beginning of the text that has at most that many tokens."""


class AskedModel(Tokenization, Protocol):
    """A model as it is to a judge that puts questions of its own: they go through the response cache like a run's.

    It is loaded when more is asked of it than which questions it can answer.
    """

    @property
    def answers(self) -> frozenset[str]:
        """Which questions it can answer, ``generate`` and ``score``."""

    def fingerprint(self) -> Mapping[str, Any]:
        """Return its name and everything of it that changes an answer.

        Raises:
            HarnessError: There is no such model.
        """

    def ask(self, requests: Sequence[Request]) -> list[Response]:
        """Return the responses in the order of the requests; one without an answer has an ``error``.

        Raises:
            HarnessError: The model cannot be loaded, or the response cache cannot be used.
        """


ModelFinder = Callable[[str | Mapping[str, Any]], AskedModel]
"""Gives the model that is written as ``backend:identifier``, or as a mapping with that ``name`` and its arguments."""


class Model(ABC):
    """A model that answers requests; a backend is a subclass, one file each, registered with ``@backend``.

    The constructor takes the identifier after the ``backend:`` prefix and keyword parameters, and is cheap: it reads
    what tokenization and the fingerprint need; weights are loaded at the first :meth:`answer`.

    Attributes:
        answers: Which questions the model can answer, ``generate`` and ``score``.
        cacheable: Whether its responses belong in the response cache; False where they are read from a file anyway.
    """

    answers: ClassVar[frozenset[str]]
    cacheable: ClassVar[bool] = True

    @property
    def window(self) -> int | None:
        """Most tokens of prompt and completion together; None when unlimited or unknown."""
        return None

    @property
    def chat(self) -> bool:
        """Whether prompts may be conversations."""
        return False

    @abstractmethod
    def fingerprint(self) -> Mapping[str, Any]:
        """Return, as JSON values, everything of the model that changes an answer (weights' hash, revision, dtype).

        It must not load the weights into memory. Batch sizes, devices and other things that change only speed are
        left out.
        """

    def description(self) -> Mapping[str, Any]:
        """Return, as JSON values, what people want to know of the model (parameters, architecture, vocabulary)."""
        return {}

    @abstractmethod
    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        """Yield ``(index, response)`` once for each request, as soon as each is known, in any order.

        Raises:
            ModelError: The model cannot be loaded, or cannot answer at all. What concerns one request only is that
                response's ``error``.
        """

    def count_tokens(self, prompt: Prompt) -> int:
        """Return the number of tokens of a prompt; 0 for a model that does not say."""
        return 0

    def truncate(self, text: str, tokens: int) -> str:
        """Return the longest beginning of the text that has at most that many tokens."""
        return text

    def close(self) -> None:  # noqa: B027 - most models hold nothing that must be freed
        """Free the memory that the model holds; it is not used afterwards."""


# ---------------------------------------------------------------------------------------------------------------
# From instances to requests and back


@dataclass(frozen=True, slots=True)
class Adapted:
    """The requests that one instance becomes, and what is needed to read the answers.

    Attributes:
        instance: The instance, or for a method that asks about many at once, one made to stand for them.
        requests: What to ask.
        labels: For methods that show answer options by letter, the letter of each reference, in order.
        train_instances: Ids of the few-shot examples that are in the prompt, in order.
        dropped_examples: How many few-shot examples were left out because the prompt was too long.
        truncated: Whether the instance's own input was cut.
        trial: The train trial, from 0.
    """

    instance: Instance
    requests: tuple[Request, ...]
    labels: tuple[str, ...] = ()
    train_instances: tuple[str, ...] = ()
    dropped_examples: int = 0
    truncated: bool = False
    trial: int = 0


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model said, read back into the scenario's terms.

    Attributes:
        text: The predicted text; for multiple choice the text of the chosen reference.
        texts: The text of every completion, the first one's included, mapped like ``text``.
        choice: For multiple choice the index of the chosen reference; None if the answer is none of them.
        choice_scores: For methods that score each reference, the scores compared, in the references' order.
        probability: The model's probability of its own prediction (HELM's ``max_prob``); None when unknown.
    """

    text: str
    texts: tuple[str, ...] = ()
    choice: int | None = None
    choice_scores: tuple[float, ...] | None = None
    probability: float | None = None


class Adapter(ABC):
    """An adaptation method: instances become requests, and responses predictions.

    A subclass registered with ``@adapter`` names its settings as a pydantic model ``Params`` and is given them checked.

    Attributes:
        asks: Which questions the method puts to a model: ``generate``, ``score`` or both.
    """

    asks: ClassVar[frozenset[str]]

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
    """One instance with everything that was asked, answered and predicted: what a metric sees.

    Attributes:
        instance: The instance.
        requests: What was asked.
        responses: The answers, in the order of the requests.
        prediction: The predicted text; for multiple choice the text of the chosen reference.
        predictions: The text of every completion.
        choice: For multiple choice the index of the chosen reference.
        choice_scores: The scores of the references, where each was scored.
        probability: The model's probability of its own prediction.
        labels: For methods that show answer options by letter, the letters.
        trial: The train trial, from 0.
        train_instances: Ids of the few-shot examples in the prompt.
        dropped_examples: Few-shot examples left out because the prompt was too long.
        truncated: Whether the input was cut.
    """

    instance: Instance
    requests: tuple[Request, ...] = ()
    responses: tuple[Response, ...] = ()
    prediction: str = ""
    predictions: tuple[str, ...] = ()
    choice: int | None = None
    choice_scores: tuple[float, ...] | None = None
    probability: float | None = None
    labels: tuple[str, ...] = ()
    trial: int = 0
    train_instances: tuple[str, ...] = ()
    dropped_examples: int = 0
    truncated: bool = False

    @property
    def references(self) -> tuple[Reference, ...]:
        """The instance's references."""
        return self.instance.references

    @property
    def correct(self) -> tuple[Reference, ...]:
        """The instance's correct references."""
        return self.instance.correct


# ---------------------------------------------------------------------------------------------------------------
# From examples to numbers


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number about many examples, with its uncertainty.

    Attributes:
        value: The number.
        count: How many instances it is about.
        stderr: Standard error; None when it has none, or one cannot be known from so few.
        low: Lower end of the 95 % interval; None with stderr.
        high: Upper end of the 95 % interval.
        min: Smallest value of a single instance, where that means something.
        max: Largest value of a single instance.
        missing: Examples that should be in it and have no value.
    """

    value: float
    count: int
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    min: float | None = None
    max: float | None = None
    missing: int = 0


class RunMetric(ABC):
    """A metric that is not a mean of instance scores: it sees every example of a group once, then summarises.

    A fresh object is made for each group (split and perturbation). Registered with ``@metric`` on the class.
    """

    @abstractmethod
    def add(self, example: Example) -> None:
        """Take one example into account; keep what the statistic needs, not the example."""

    @abstractmethod
    def estimates(self) -> Mapping[str, Estimate]:
        """Return the numbers by name. A name that cannot be computed from what was seen is left out."""

    def details(self) -> Mapping[str, Any]:
        """Return, as JSON values, what a diagram needs beside the numbers; it goes into run.json."""
        return {}


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Stands for the probability of a text that a judge could not judge.

    Attributes:
        reason: Why, in words that are the same for all texts of which it is true; they are counted.
        answer: What the judge got instead of a judgement.
    """

    reason: str
    answer: str = ""


class Judge(ABC):
    """Says of texts how probable it is that a reader finds them toxic; registered with ``@judge``, one file each.

    The constructor takes keyword-only parameters and is cheap: models are loaded at the first :meth:`probabilities`.
    With ``@judge(…, models=True)`` it is given a :data:`ModelFinder` first.
    """

    def ready(self) -> None:  # noqa: B027 - most judges need nothing but themselves
        """Refuse where the judge could not judge here; it is called before a run asks its model anything.

        Raises:
            HarnessError: What is missing.
        """

    @abstractmethod
    def fingerprint(self) -> Mapping[str, Any]:
        """Return, as JSON values, all that changes a judgement: version, revision, the hash of weights or scores."""

    @abstractmethod
    def probabilities(self, texts: Sequence[str]) -> Sequence[float | Unjudged]:
        """Return each text's probability, between 0 and 1, in order; it depends on that text alone.

        Raises:
            HarnessError: The judge cannot be loaded, or cannot go on. What concerns one text only may be
                :class:`Unjudged`: it enters no number, and is counted.
        """


JudgeFinder = Callable[[str | Mapping[str, Any]], Judge]
"""Gives the judge that is written as its name, or as a mapping with ``name`` and its parameters."""


@dataclass(frozen=True, slots=True)
class Stat:
    """One line of a run's statistics; the fields are those of :class:`Estimate`, and what it is about.

    Attributes:
        metric: The name of the score.
        category: The metric's; of perturbed copies the perturbation's; of groups ``fairness``.
        split: The split of the instances.
        perturbation: The perturbation, or the category that stands for all of its perturbations; None without one.
        count: How many instances it is about.
        mean: The number.
        stderr: Standard error.
        ci95: The 95 % interval.
        min: Smallest value of a single instance; for a gap between groups the smallest group's mean.
        max: Largest value of a single instance; for a gap the largest group's mean.
        higher_is_better: Which way is better; None for neither.
        missing: Examples without a value; where instances are compared, instances without one of the values.
        computed_on: ``original`` instances; ``perturbed`` copies; ``worst``, the worst of an instance and its copies;
            or ``drop``, how much worse a copy is than its original.
        group: ``key=value`` for the instances whose meta data say so, ``key: gap`` for the difference between the
            largest and the smallest group's mean; None for all instances.
    """

    metric: str
    category: str
    split: str
    perturbation: str | None
    count: int
    mean: float
    stderr: float | None
    ci95: tuple[float, float] | None
    min: float | None
    max: float | None
    higher_is_better: bool | None = None
    missing: int = 0
    computed_on: Literal["original", "perturbed", "worst", "drop"] = "original"
    group: str | None = None

    @property
    def overall(self) -> bool:
        """Whether it is about all unperturbed instances: what a score is when nothing more is said."""
        return self.perturbation is None and self.computed_on == "original" and self.group is None
