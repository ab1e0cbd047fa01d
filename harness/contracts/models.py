"""The interface of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from harness.contracts.determinism import Determinism
from harness.contracts.messages import Prompt, Tool
from harness.contracts.requests import Request, Response

IN_MEMORY = "live"
"""The backend, in the names of models, of those that a program holds in memory; no plugin can load them."""


class Tokenization(Protocol):
    """What an adapter may know about a model: how many tokens a prompt has, and how to shorten it."""

    @property
    def window(self) -> int | None:
        """Maximum number of tokens of prompt and completion together; None if unlimited or unknown."""

    @property
    def chat(self) -> bool:
        """True if the model takes conversations (it has a chat template)."""

    @property
    def tools(self) -> bool:
        """True if requests may offer tools."""

    @property
    def continues(self) -> bool:
        """True if the model continues a plain text; False if it only answers messages."""

    def most_generated(self, max_tokens: int) -> int:
        """Return the most tokens that are generated for a task's ``max_tokens``, which the model's entry may bound."""

    def count_tokens(self, prompt: Prompt) -> int:
        """Return the number of tokens of a prompt, including special tokens and chat template."""

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        """Return the number of tokens of each text, tokenized by itself without special tokens; None if unknown."""

    def truncate(self, text: str, tokens: int) -> str:
        """Return the longest beginning of the text that has at most that many tokens."""


class JudgeModel(Tokenization, Protocol):
    """A model for a judge that asks questions of its own; they go through the response cache like a run's.

    It is loaded at the first use of anything but ``answers``.
    """

    @property
    def answers(self) -> frozenset[str]:
        """The kinds of requests that it can answer: ``generate``, ``score`` or both."""

    def fingerprint(self) -> Mapping[str, Any]:
        """Return its name and everything about it that changes an answer.

        Raises:
            HarnessError: There is no such model.
        """

    def ready(self) -> None:
        """Ask the model a short question, so that a missing server is noticed before a run; needs ``generate``.

        A model that only replays recorded answers is not asked.

        Raises:
            HarnessError: It cannot be loaded, or cannot answer.
        """

    def ask(self, requests: Sequence[Request]) -> list[Response]:
        """Return the responses in the order of the requests; a failed one has an ``error``.

        Raises:
            HarnessError: The model cannot be loaded, or the response cache cannot be used.
        """


ModelFinder = Callable[[str | Mapping[str, Any]], JudgeModel]
"""Returns the model named ``backend:identifier``, or of a mapping with that ``name`` and its arguments."""


class Ledger(Protocol):
    """A persistent record of the tokens that models have used. It is used in one thread."""

    def add(self, account: str, prompt: int, completion: int) -> tuple[int, int]:
        """Add prompt and completion tokens to an account and return its totals; both may be negative.

        Raises:
            StorageError: It cannot be written.
        """

    def close(self) -> None:
        """Close it; it opens again when it is used."""


class NoticeBoard(Protocol):
    """Shows what a model waits for. Its methods are called on the thread that takes the answers."""

    detached: str
    """What goes on if this process is interrupted, and how to end that; empty if nothing does."""

    def tell(self, notice: str) -> None:
        """Show a sentence."""


class Model(ABC):
    """A model that answers requests; a backend is a subclass, one file each, registered with ``@backend``.

    The constructor takes the identifier after the ``backend:`` prefix and keyword parameters, and is cheap: it reads
    what tokenization and the fingerprint need; weights are loaded at the first :meth:`answer`::

        @backend("echo", source="This example")
        class Echo(Model):
            answers = frozenset({"generate"})

            def __init__(self, identifier): self._name = identifier
            def fingerprint(self): return {"backend": "echo", "name": self._name}
            def answer(self, requests):
                for index, request in enumerate(requests):
                    yield index, Response((Completion(str(request.prompt)),))

    What :class:`Tokenization` promises is asked on another thread while :meth:`answer` is going on: prompts of the next
    requests are made while these are answered. :meth:`answer` itself is always called on the same thread.
    """

    answers: ClassVar[frozenset[str]]
    """The kinds of requests that the model can answer: ``generate``, ``score`` or both."""
    gives_logprobs: ClassVar[bool] = True
    """True if it gives the log-probabilities of generated text; False only if it never does."""
    operational: ClassVar[frozenset[str]] = frozenset()
    """Names of the settings that change no answer, but only pace, cost, hardware or access: changing one neither makes
    another model nor runs anything again.
    """
    cacheable: ClassVar[bool] = True
    """True if its responses belong in the response cache; False if they are read from a file anyway."""
    honours: frozenset[str] = frozenset({"temperature", "max_tokens", "system_prompt", "reasoning", "reasoning.effort"})
    """Names of the keys of a model's entry that it applies to requests, from
    :class:`~harness.contracts.model_settings.ModelSettings`; a sweep that gives it others is refused. ``top_p``,
    ``top_k``, ``min_p``, ``repetition_penalty``, ``prefill`` and ``reasoning`` are fields of :class:`GenerateRequest`;
    marks of reasoning in the text of any backend are found by the engine.
    """
    look_ahead: ClassVar[int] = 1
    """How many requests it wants to choose from before it begins, to sort them or to put them into batches."""

    @property
    def capacity(self) -> int:
        """How many requests it may have at once, if more than the scheduler's 4,096: those of many replicas."""
        return 0

    @property
    def batched(self) -> bool:
        """True if it gathers the requests of many runs and answers them hours later, as batch interfaces do.

        Then as many runs are under way as there are, up to some hundreds, and judges and metrics cannot ask it.
        """
        return False

    @property
    def window(self) -> int | None:
        """Maximum number of tokens of prompt and completion together; None if unlimited or unknown."""
        return None

    @property
    def chat(self) -> bool:
        """True if prompts may be conversations."""
        return False

    @property
    def tools(self) -> bool:
        """True if requests may offer tools."""
        return False

    @property
    def determinism(self) -> Determinism:
        """What the same requests give when they are asked again."""
        return Determinism.UNKNOWN

    @property
    def continues(self) -> bool:
        """True if the model continues a plain text; False if a plain text becomes a message to it."""
        return True

    @property
    def scores(self) -> bool:
        """True if it answers requests to score; a model behind a server may have to ask the server."""
        return "score" in self.answers

    def obstacle(self, asks: frozenset[str]) -> str | None:
        """Return why the model cannot answer such requests, if that is known without asking; None if it may.

        Args:
            asks: What is asked: ``generate`` and ``score`` for requests, ``chat`` if the prompts are conversations.
        """
        return None

    @abstractmethod
    def fingerprint(self) -> Mapping[str, Any]:
        """Return, as JSON values, everything of the model that changes an answer (weights' hash, revision, dtype).

        It must not load the weights into memory. Batch sizes, devices and other things that change only speed are
        left out.
        """

    def description(self) -> Mapping[str, Any]:
        """Return, as JSON values, facts about the model for people (parameters, architecture, vocabulary)."""
        return {}

    def gpu_joules(self) -> float | None:
        """Return the joules that graphics cards elsewhere have used for it so far; None if it works in this process.

        Raises:
            LookupError: They cannot be measured there.
        """
        return None

    @abstractmethod
    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        """Yield ``(index, response)`` once for each request that is taken, as soon as each is known, in any order.

        A loop, ``for index, request in enumerate(requests)``, is enough: the model is called again when there is more.
        A model that works on several requests at once takes as many as it has room for, and tries to take more after
        each answer, and from time to time: ``requests`` never waits. It ends when there is nothing at the moment, and
        may give more later, since other runs go on and some requests depend on answers.

        Args:
            requests: What to answer; advance it on the thread on which the answers are taken.

        Raises:
            ModelError: The model cannot be loaded, or cannot answer at all. What concerns one request only is that
                response's ``error``.
        """

    def most_generated(self, max_tokens: int) -> int:
        """Return the most tokens that are generated where a task asks for that many."""
        return max_tokens

    def rendered(self, prompt: Prompt, tools: tuple[Tool, ...] = ()) -> str | None:
        """Return a prompt as the model reads it: with chat template, special tokens and tools; None if unknown."""
        return None

    def count_tokens(self, prompt: Prompt) -> int:
        """Return the number of tokens of a prompt; 0 if unknown."""
        return 0

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        """Return the number of tokens of each text, tokenized by itself without special tokens; None if unknown."""
        return None

    def truncate(self, text: str, tokens: int) -> str:
        """Return the longest beginning of the text that has at most that many tokens."""
        return text

    def keep_spending(self, ledger: Ledger) -> None:  # noqa: B027 - most models cost nothing
        """Record spent tokens in a ledger; called before the first :meth:`answer`."""

    def keep_batches(self, folder: Path | None) -> None:  # noqa: B027 - most models have none
        """Keep the record of batches in a folder; called before the first :meth:`answer`.

        Args:
            folder: The folder of the response cache; None if this process has none of its own on a local disk.
        """

    def keep_informed(self, notices: NoticeBoard) -> None:  # noqa: B027 - most models answer at once
        """Show on a board what the model waits for; called before the first :meth:`answer`."""

    def close(self) -> None:  # noqa: B027 - most models hold nothing that must be freed
        """Free the model's memory; it is not used afterwards."""
