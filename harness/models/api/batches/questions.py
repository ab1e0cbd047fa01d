"""Questions that are asked in batches, and when there are no more to gather."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Protocol

from harness import Request, Response
from harness.backends import NoticeBoard
from harness.models.api.event_loop import LoopThread, answer_at_once


@dataclass(slots=True, eq=False)
class Question:
    """A request of the harness on its way."""

    request: Request
    """The request."""
    items: list[str] = field(default_factory=list)
    """The requests of batches that it became."""
    waiting: int = 0
    """How many of these it waits for now."""


CURRENT: ContextVar[Question] = ContextVar("question")
"""The question that this task works on."""


class Gathering(Protocol):
    """Collects questions into batches; all but ``most``, ``notice`` and ``going_on`` is for the event loop."""

    most: int
    """Most questions under way at once."""

    @property
    def notice(self) -> str:
        """Progress of the batches, for people; empty if there are none."""

    @property
    def going_on(self) -> str:
        """Which batches continue when this process ends, and how to cancel them; empty if there are none."""

    def release(self, under_way: int, full: bool) -> None:
        """Submit the gathered requests if no more can come: all questions under way wait for a batch."""

    def settle(self, question: Question) -> None:
        """Forget a question whose answer is in the response cache."""


def answer_in_batches(
    thread: LoopThread,
    requests: Iterable[Request],
    ask: Callable[[Request], Awaitable[Response]],
    gathering: Gathering,
    notices: NoticeBoard | None,
) -> Iterator[tuple[int, Response]]:
    """Yield each request's index and response once, as batches end.

    Requests are taken until there are no more for now, or as many as are allowed are under way; then what is gathered
    is submitted. Answers that came earlier are yielded first, because their follow-up questions belong into the same
    batch.

    Args:
        thread: The thread of the calls.
        requests: The requests.
        ask: Asks one.
        gathering: Gathers what they become.
        notices: Shows the progress of the batches; None to show none.

    Raises:
        ModelError: No request can be answered.
    """
    questions, answered, told = _Questions(requests), 0, ""

    async def asked(question: Question) -> Response:
        CURRENT.set(question)
        return await ask(question.request)

    def paused() -> None:
        nonlocal told
        under_way = len(questions.open)
        full = under_way >= gathering.most
        if full or questions.exhausted:
            thread.loop.call_soon_threadsafe(gathering.release, under_way, full)
        if notices is not None:
            notices.detached = gathering.going_on
            if (notice := gathering.notice) and notice != told:
                told = notice
                notices.tell(notice)

    try:
        for index, response in answer_at_once(thread, questions, asked, lambda: gathering.most, paused):
            question = questions.open.pop(index)
            answered += 1
            # The time that a batch takes says nothing about the model.
            yield index, replace(response, seconds=0.0, batched=True) if question.items else response
            thread.loop.call_soon_threadsafe(gathering.settle, question)  # it is in the response cache now
    finally:
        if notices is not None:
            notices.detached = gathering.going_on


class _Questions(Iterator[Question]):
    """Questions as they are taken; it may go on after it has ended.

    Attributes:
        open: Those that are not answered, by index.
    """

    def __init__(self, requests: Iterable[Request]) -> None:
        self._requests, self._source = iter(requests), requests
        self._count, self._dry = 0, False
        self.open: dict[int, Question] = {}

    @property
    def exhausted(self) -> bool:
        """True when no more will come before something is answered."""
        return self._dry and bool(getattr(self._source, "exhausted", True))

    def __next__(self) -> Question:
        try:
            request = next(self._requests)
        except StopIteration:
            self._dry = True
            raise
        self._dry = False
        question = self.open[self._count] = Question(request)
        self._count += 1
        return question
