"""What a model promises to those who ask it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from harness.contracts.requests import Prompt, Request, Response


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

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        """Return the number of tokens of each text, tokenized by itself without special tokens; None when unknown."""

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


class Ledger(Protocol):
    """Keeps what models have spent, longer than a process lives. It is used in one thread."""

    def add(self, account: str, prompt: int, completion: int) -> tuple[int, int]:
        """Add tokens of prompts and of completions to an account's, and return its totals; both may be negative.

        Raises:
            StorageError: It cannot be written.
        """

    def close(self) -> None:
        """Close it; it opens again when it is used."""


class Model(ABC):
    """A model that answers requests; a backend is a subclass, one file each, registered with ``@backend``.

    The constructor takes the identifier after the ``backend:`` prefix and keyword parameters, and is cheap: it reads
    what tokenization and the fingerprint need; weights are loaded at the first :meth:`answer`.

    What :class:`Tokenization` promises is asked on another thread while :meth:`answer` is going on: prompts of the next
    requests are made while these are answered. :meth:`answer` itself is always called on the same thread.
    """

    answers: ClassVar[frozenset[str]]
    """Which questions the model can answer, ``generate`` and ``score``."""
    gives_logprobs: ClassVar[bool] = True
    """Whether it gives the log-probabilities of what it generates; False only where it never does."""
    operational: ClassVar[frozenset[str]] = frozenset()
    """Names of the settings that change no answer, but only pace, cost, hardware or access: changing one neither makes
    another model nor runs anything again.
    """
    cacheable: ClassVar[bool] = True
    """Whether its responses belong in the response cache; False where they are read from a file anyway."""

    @property
    def window(self) -> int | None:
        """Most tokens of prompt and completion together; None when unlimited or unknown."""
        return None

    @property
    def chat(self) -> bool:
        """Whether prompts may be conversations."""
        return False

    def obstacle(self, asks: frozenset[str]) -> str | None:
        """Return why the model cannot answer such questions, as far as that is known without asking; None if it may."""
        return None

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

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        """Return the number of tokens of each text, tokenized by itself without special tokens; None when unknown."""
        return None

    def truncate(self, text: str, tokens: int) -> str:
        """Return the longest beginning of the text that has at most that many tokens."""
        return text

    def keep_spending(self, ledger: Ledger) -> None:  # noqa: B027 - most models cost nothing
        """Use a ledger for what is spent, which is called before the first :meth:`answer`."""

    def close(self) -> None:  # noqa: B027 - most models hold nothing that must be freed
        """Free the memory that the model holds; it is not used afterwards."""
