"""A model with its response cache: cached requests are not sent, and every new answer is checked and stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from harness.answers.check import misfit
from harness.answers.reasoning import with_reasoning_apart
from harness.contracts import Model, Request, Response
from harness.errors import ModelError
from harness.inference.cache import AnswerCache
from harness.inference.cache_entries import request_key


@dataclass(slots=True, eq=False)
class Question:
    """A request on its way to a model."""

    request: Request
    """The request."""
    key: bytes | None
    """Its key in the response cache; None for a model whose answers are not kept."""


QuestionT = TypeVar("QuestionT", bound=Question)


class CachingModel:
    """One model with its response cache; it lives as long as the model is loaded, over many runs.

    Attributes:
        model: The model.
        name: Its name, ``backend:identifier``.
        fingerprint: What decides its answers.

    Args:
        model: The model.
        name: Its name, ``backend:identifier``.
        cache: Where its answers are kept; None for nowhere.
    """

    def __init__(self, model: Model, name: str, cache: AnswerCache | None) -> None:
        self.model = model
        self.fingerprint = model.fingerprint()
        self.name = name
        self._known_as: bytes | None = None
        self._others: Sequence[tuple[bytes, str]] = ()
        self._cache = cache if model.cacheable else None
        if self._cache is not None:
            model.keep_spending(self._cache.ledger())
            model.keep_batches(self._cache.folder)

    def ask(self, requests: Sequence[Request]) -> list[Response]:
        """Return the responses in the order of the requests; equal ones are asked once.

        Raises:
            ModelError: The model cannot be loaded, or broke its contract.
            CacheError: The response cache cannot be read or written.
        """
        asked: list[Question] = []
        by_key: dict[bytes, Question] = {}
        for request in requests:
            question = Question(request, self.key(request))
            asked.append(question if question.key is None else by_key.setdefault(question.key, question))
        different = dict.fromkeys(asked)
        found = self.known(different)
        left = [question for question in different if question not in found]
        while left:
            answered = dict(self.answers(left))
            if not answered:
                raise ModelError("the model's backend answered none of its requests.")
            found |= answered
            left = [question for question in left if question not in answered]
        responses = []
        for question in asked:
            responses.append(found[question])
            if found[question].error is None and question.key is not None:
                found[question] = replace(found[question], cached=True)  # for equal ones that follow
        return responses

    def key(self, request: Request) -> bytes | None:
        """Return a key that equal requests share; None if each must be sent by itself."""
        return None if self._cache is None else request_key(self._digest(self._cache), request)

    def known(self, questions: Collection[QuestionT]) -> dict[QuestionT, Response]:
        """Return the cached answers; one that does not fit its request is left out.

        Raises:
            CacheError: The response cache cannot be read.
        """
        if self._cache is None:
            return {}
        found = self._cache.get([question.key for question in questions if question.key is not None])
        for model, gpu in self._others:
            keys = {
                request_key(model, question.request): question.key
                for question in questions
                if question.key is not None and question.key not in found
            }
            for key, answer in self._cache.get(list(keys)).items():
                found[keys[key]] = replace(answer, other_gpu=gpu)
        known: dict[QuestionT, Response] = {}
        for question in questions if found else ():
            response = None if question.key is None else found.get(question.key)
            if response is None or question.key is None:
                continue
            if (problem := misfit(question.request, response)) is not None:
                self._cache.note_unusable(question.key, problem)
            else:
                known[question] = response
        return known

    def answers(self, questions: Iterable[QuestionT]) -> Iterator[tuple[QuestionT, Response]]:
        """Let the model take questions as it has room, and yield each with its answer as it comes.

        Raises:
            ModelError: The model cannot be loaded, or broke its contract.
            CacheError: The response cache cannot be written.
        """
        taken = _Taken(questions)
        for index, response in self.model.answer(taken):
            question = taken.answered(index)
            if (problem := misfit(question.request, response)) is not None:
                error = f"{self.name}: the answer does not fit its request: {problem}"
                response = Response(error=error, seconds=response.seconds)
            response = with_reasoning_apart(question.request, response)
            if response.error is None and self._cache is not None and question.key is not None:
                # Each by itself, so that a kill at any moment loses no answer that was given.
                self._cache.put(self._digest(self._cache), [(question.key, response)])
            yield question, response
        if taken.open:
            raise ModelError(f"the model's backend answered {taken.count - len(taken.open)} of {taken.count} requests.")

    def _digest(self, cache: AnswerCache) -> bytes:
        if self._known_as is None:
            self._known_as = cache.asked(self.name, self.fingerprint)
            self._others = cache.of_other_gpus(self._known_as)
        return self._known_as


class _Taken(Iterator[Request], Generic[QuestionT]):
    """Requests as a model takes them, numbered; like what it takes them from, it may go on after it ended.

    Attributes:
        count: How many were taken.
        open: Those that are not answered, by number.
    """

    def __init__(self, questions: Iterable[QuestionT]) -> None:
        self._questions = iter(questions)
        self.count = 0
        self.open: dict[int, QuestionT] = {}

    @property
    def exhausted(self) -> bool:
        """True when no more will come before something is answered."""
        return bool(getattr(self._questions, "exhausted", True))

    def __next__(self) -> Request:
        question = next(self._questions)
        self.open[self.count] = question
        self.count += 1
        return question.request

    def answered(self, index: int) -> QuestionT:
        """Return the question of that number, and forget it."""
        if index not in self.open:
            raise ModelError(
                f"the model's backend answered request {index} of {self.count} twice, or before it was sent."
            )
        return self.open.pop(index)
