"""A model with its cache: what is known is not asked, equal questions are asked once, and every answer is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from harness import Completion, GenerateRequest, Model, ModelError, Request, Response
from harness.costs.usage import Usage
from harness.inference.cache import ResponseCache
from harness.inference.caching_model import CachingModel, Question


class Parrot(Model):
    """Repeats the prompt, last request first; keeps what it was asked."""

    answers = frozenset({"generate"})

    def __init__(self, fail: str = "", stop_after: int | None = None) -> None:
        self.asked: list[str] = []
        self._fail, self._stop_after = fail, stop_after

    def fingerprint(self) -> Mapping[str, Any]:
        return {"parrot": 1}

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        for index, request in reversed(list(enumerate(requests))):
            if not isinstance(request, GenerateRequest) or not isinstance(request.prompt, str):
                raise ModelError("a parrot only repeats text")
            if self._stop_after is not None and len(self.asked) >= self._stop_after:
                raise KeyboardInterrupt
            self.asked.append(request.prompt)
            failed = bool(self._fail) and self._fail in request.prompt
            yield index, Response(error="no") if failed else Response((Completion(request.prompt),), prompt_tokens=3)


def ask(*prompts: str) -> list[Request]:
    return [GenerateRequest(prompt, 5) for prompt in prompts]


def texts(responses: Sequence[Response]) -> list[str | None]:
    return [response.completions[0].text if response.completions else response.error for response in responses]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ResponseCache]:
    opened = ResponseCache(tmp_path / "responses.sqlite")
    yield opened
    opened.close()


def test_answers_come_in_the_order_of_the_questions(cache: ResponseCache) -> None:
    assert texts(CachingModel(Parrot(), "parrot", cache).ask(ask("a", "b", "c"))) == ["a", "b", "c"]


def test_equal_questions_are_asked_once_and_counted_as_cached(cache: ResponseCache) -> None:
    parrot = Parrot()
    requests = ask("a", "b", "a", "a")
    responses = CachingModel(parrot, "parrot", cache).ask(requests)
    assert texts(responses) == ["a", "b", "a", "a"]
    assert sorted(parrot.asked) == ["a", "b"]
    usage = Usage()
    for request, response in zip(requests, responses, strict=True):
        usage.add(request, response)
    assert (usage.queries, usage.cached, usage.prompt_tokens) == (4, 2, 12)


def test_a_model_that_ends_early_is_asked_for_the_rest(cache: ResponseCache) -> None:
    class Brief(Parrot):
        def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
            return super().answer(islice(requests, 2))

    class Idle(Parrot):
        def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
            return iter(())

    assert texts(CachingModel(Brief(), "parrot", cache).ask(ask("a", "b", "c", "a"))) == ["a", "b", "c", "a"]
    with pytest.raises(ModelError, match="answered none of its requests"):
        CachingModel(Idle(), "parrot", None).ask(ask("a"))


def test_what_another_client_asked_is_not_asked_again(cache: ResponseCache) -> None:
    CachingModel(Parrot(), "parrot", cache).ask(ask("a", "b"))
    second = Parrot()
    responses = CachingModel(second, "parrot", cache).ask(ask("b", "c"))
    assert texts(responses) == ["b", "c"]
    assert second.asked == ["c"]
    assert [response.cached for response in responses] == [True, False]


def test_an_interrupt_keeps_what_was_answered(cache: ResponseCache) -> None:
    with pytest.raises(KeyboardInterrupt):
        CachingModel(Parrot(stop_after=2), "parrot", cache).ask(ask("a", "b", "c"))
    second = Parrot()
    CachingModel(second, "parrot", cache).ask(ask("a", "b", "c"))
    assert second.asked == ["a"]


def test_a_failure_is_answered_but_not_kept(cache: ResponseCache) -> None:
    assert texts(CachingModel(Parrot(fail="b"), "parrot", cache).ask(ask("a", "b"))) == ["a", "no"]
    second = Parrot()
    assert texts(CachingModel(second, "parrot", cache).ask(ask("a", "b"))) == ["a", "b"]
    assert second.asked == ["b"]


def test_an_equal_question_that_fails_is_not_counted_as_cached(cache: ResponseCache) -> None:
    responses = CachingModel(Parrot(fail="b"), "parrot", cache).ask(ask("b", "b"))
    assert texts(responses) == ["no", "no"]
    assert [response.cached for response in responses] == [False, False]


class _Reader(Parrot):
    cacheable = False


def test_a_model_that_only_reads_a_file_is_asked_everything_and_nothing_is_kept(cache: ResponseCache) -> None:
    reader = _Reader()
    assert texts(CachingModel(reader, "reader", cache).ask(ask("a", "b", "a"))) == ["a", "b", "a"]
    assert sorted(reader.asked) == ["a", "a", "b"]
    assert len(cache) == 0


def test_a_model_that_takes_no_more_than_it_answers_leaves_the_rest(cache: ResponseCache) -> None:
    class Lazy(Parrot):
        def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
            yield from super().answer(islice(requests, 2))

    model = CachingModel(Lazy(), "parrot", cache)
    questions = iter([Question(request, model.key(request)) for request in ask("a", "b", "c")])
    assert [question.request for question, _ in model.answers(questions)] == ask("b", "a")
    assert [question.request for question, _ in model.answers(questions)] == ask("c")


class _Wrong(Parrot):
    def __init__(self, indices: Sequence[int]) -> None:
        super().__init__()
        self._indices = indices

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        list(requests)
        for index in self._indices:
            yield index, Response((Completion(""),))


@pytest.mark.parametrize("indices", [[0], [0, 0], [0, 1, 2]])
@pytest.mark.parametrize("cached", [True, False])
def test_a_backend_that_answers_too_little_or_twice_is_refused(
    cache: ResponseCache, cached: bool, indices: list[int]
) -> None:
    with pytest.raises(ModelError, match="backend answered"):
        CachingModel(_Wrong(indices), "wrong", cache if cached else None).ask(ask("a", "b"))
