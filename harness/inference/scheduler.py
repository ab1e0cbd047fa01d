"""The scheduler: the requests of many runs go to one model, continuously, and each different one is asked once.

The way of a request::

      prompt thread                            answer thread
    ┌───────────────┐             ┌──────────────────────────────────────────────┐
    run a ─ prompts ─┐            ┌─ in the cache? ──► known ────────────────────┐
    run b ─ prompts ─┼─► made ────┼─ asked already? ─► wait for the same answer ─┼─► to each run, in the run's order
    run c ─ prompts ─┘ (in turn)  └─ new ──► to ask ──► model ──► cache ─────────┘
         ▲                          ▲          └ as the model has room               │
         │                          └── what an adapter asks next about an instance ───┘
         └── an adapter that waits for an answer goes on when it has read it; all others go on without it

Example: run ``a`` asks *p*, *q*, *p* and run ``b`` asks *q*; *q* is in the cache. The model takes *p* alone. Run ``b``
ends at once, with the cached *q*; ``a`` ends when *p* is answered: both its requests for *p* get the answer, and the
second counts as cached.

A run may follow up on the answers to an example with more requests. They go before what waits to be asked, so that
examples are complete soon; meanwhile other examples are asked for the first time, so the model is never without work.

There are no windows: the model takes the next request whenever it has room, whichever run it belongs to, and a run ends
with its own last answer. What goes wrong with one run ends that run alone; if the model fails on some requests, they
are sent again run by run, so that only the run whose request it was fails.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol

from harness.contracts import Response
from harness.errors import ModelError, StorageError, reraise_interrupt
from harness.inference import prompt_thread
from harness.inference.caching_model import CachingModel, Question
from harness.inference.prompt_thread import Ask, AskerT, PromptThread, Stream

MOST_HELD = 16 * prompt_thread.MOST_UNANSWERED
"""Requests of examples that are not complete. Examples are concluded in their order, so that one late answer holds back
the answers that follow it; until it comes, no more than these are kept in memory.
"""

_POLL_SECONDS = 0.5
"""Seconds of one wait: an interrupt that another thread received is noticed only between two waits."""

_SHORT_WAIT_SECONDS = 0.1
"""Seconds without requests after which the model counts as idle."""


class Meter(Protocol):
    """Measures the time and energy of the model's work."""

    def working(self) -> None:
        """Called before answers are looked up or asked; often, so it must be cheap."""

    def leave_out(self, seconds: float) -> None:
        """Called with seconds in which the model waited for requests."""

    def idle(self) -> None:
        """Called when it is not known when the next requests come."""


class Scheduler(Generic[AskerT]):
    """Sends the requests of runs to their model.

    Args:
        model: The model.
        askers: The runs, in order: a later one is asked for requests when those before have none for now.
        meter: Measures the time and energy of the answers.
    """

    def __init__(self, model: CachingModel, askers: Iterable[AskerT], meter: Meter) -> None:
        self._model, self._meter = model, meter
        self._prompts: PromptThread[AskerT] = PromptThread(
            askers, prompt_thread.RUNS_IN_BATCHES if model.model.batched else prompt_thread.RUNS_AT_ONCE
        )
        self._to_ask = deque[_Ticket[AskerT]]()
        self._waiting_for: dict[bytes, _Ticket[AskerT]] = {}  # to be asked or in flight, by key
        self._known = deque[tuple[_Ticket[AskerT], Response]]()
        self._ended = deque[AskerT]()
        self._in_flight = 0
        self._unanswered = 0  # requests, with those that wait for the same answer, and known ones not yet given out
        self._held = 0  # requests of the asks that are not complete
        self._broken: BaseException | None = None

    def run(self) -> Iterator[AskerT]:
        """Yield each asker when it has ended, well or badly.

        Raises:
            StorageError: The response cache or the results cannot be written or read.
        """
        self._prompts.start()
        try:
            while self._collect():
                if self._known or self._ended:  # adapters that waited for these may have more to ask now
                    yield from self._give_out_known()
                else:
                    yield from self._ask(self._to_ask)
        except BaseException as error:
            for stream in self._prompts.close():
                stream.asker.end(error)
            raise
        finally:
            self._prompts.close()

    def _collect(self) -> bool:
        """Wait until the model or an asker has something to do; return False when all is done."""
        while True:
            self._take_in()
            self._check()
            if self._wanted(self._to_ask) and self._enough():
                return True
            if not self._to_ask and (self._known or self._ended):
                return True
            # In this order: what was made until the end is taken in by another round.
            if self._prompts.finished and not self._to_ask:
                return False
            started = time.perf_counter()
            if not self._prompts.wait(_SHORT_WAIT_SECONDS):
                self._meter.idle()
                self._prompts.wait(_POLL_SECONDS)
            self._meter.leave_out(time.perf_counter() - started)

    def _enough(self) -> bool:
        """Return whether the model has as many requests to choose from as it wants, or as there will be for now."""
        return len(self._to_ask) >= self._model.model.look_ahead or self._room() <= 0 or self._prompts.exhausted

    def _room(self) -> int:
        """Return how many more requests may be taken in."""
        most = max(prompt_thread.MOST_UNANSWERED, self._model.model.capacity)
        return min(most - self._unanswered, MOST_HELD // prompt_thread.MOST_UNANSWERED * most - self._held)

    def _take_in(self) -> None:
        """Take in what the askers have made; look up what is known, and put equal requests together."""
        fresh: list[_Ticket[AskerT]] = []
        for made in self._prompts.take(self._room()):
            stream, ask = made.stream, made.ask
            if stream.over:
                continue
            if made.error is not None:
                self._fail(stream, made.error)
                continue
            stream.last_made = made.last
            if ask is not None and self._begun(stream):
                self._enter(stream, ask, fresh)
            self._complete(stream)
        if fresh:
            self._meter.working()
            self._to_ask += self._unknown(fresh)

    def _unknown(self, fresh: Sequence[_Ticket[AskerT]]) -> list[_Ticket[AskerT]]:
        """Look up requests in the cache; return those that are not there."""
        known = self._model.known(fresh)
        unknown: list[_Ticket[AskerT]] = []
        for ticket in fresh:
            response = known.get(ticket)
            if response is None:
                unknown.append(ticket)
            else:
                self._forget(ticket)
                self._known.append((ticket, response))
        return unknown

    def _enter(self, stream: Stream[AskerT], ask: Ask, fresh: list[_Ticket[AskerT]], first: int = 0) -> None:
        """Take in what a stream asks; put it together with equal requests, and add the others to ``fresh``.

        Args:
            stream: The stream.
            ask: What it asks.
            fresh: Where different requests go.
            first: The number of the first request to take in; those before it are answered.
        """
        requests = ask.requests[first:]
        try:
            keys = [self._model.key(request) for request in requests]
        except BaseException as error:  # a plugin's request may hold what has no place in the cache
            del ask.requests[first:]  # they are not among those that are held
            self._caught(stream, error)
            return
        if not first:
            stream.asks.append(ask)
        self._unanswered += len(keys)
        self._held += len(keys)
        for number, (request, key) in enumerate(zip(requests, keys, strict=True), start=first):
            place = _Place(stream, ask, number)
            ticket = None if key is None else self._waiting_for.get(key)
            if ticket is not None:
                ticket.places.append(place)
                continue
            ticket = _Ticket(request, key, [place])
            if key is not None:
                self._waiting_for[key] = ticket
            fresh.append(ticket)

    def _begun(self, stream: Stream[AskerT]) -> bool:
        if not stream.begun:
            stream.begun = True
            try:
                stream.asker.begin()
            except BaseException as error:
                self._caught(stream, error)
        return not stream.over

    def _ask(self, tickets: deque[_Ticket[AskerT]], alone: Stream[AskerT] | None = None) -> Iterator[AskerT]:
        """Let the model take requests and answer them, as long as there are some.

        Args:
            tickets: Where requests are taken from.
            alone: The only run whose requests these are, when it is to be found out whose fault it was that a model
                could not go on; then no others are taken in.
        """
        requests = _Requests(self, tickets, alone is None)
        last: Stream[AskerT] | None = None
        try:
            for ticket, response in self._model.answers(requests):
                self._in_flight -= 1
                last = ticket.owner
                requests.open.pop(ticket, None)
                self._forget(ticket)
                self._deliver(ticket, response)
                yield from self._give_out_known()
                self._check()
                if self._in_flight:
                    self._meter.working()
            self._check()
            if not requests.any and tickets:
                raise ModelError("the model's backend answered none of its requests.")
        except StorageError:
            raise
        except BaseException as error:
            reraise_interrupt(error)
            self._check()
            failure = error
        else:
            if alone is not None:
                self._put_back(tickets)
            return
        self._in_flight = 0
        left = list(requests.open)
        if not requests.any or alone is not None:
            left += tickets
            tickets.clear()
        if not left and last is not None:  # it had answered all that it took, last a request of this run
            alone = last
        yield from self._find_fault(left, failure, alone)

    def _find_fault(
        self, left: Sequence[_Ticket[AskerT]], error: BaseException, alone: Stream[AskerT] | None
    ) -> Iterator[AskerT]:
        """Fail the run whose request made the model fail; answers so far are in the response cache."""
        owners = [alone] if alone else list(dict.fromkeys(filter(None, (ticket.owner for ticket in left))))
        if len(owners) == 1:
            self._fail(owners[0], error)
        else:
            for owner in owners:
                mine = deque(ticket for ticket in left if not ticket.settled and ticket.owner is owner)
                if mine:
                    yield from self._ask(mine, alone=owner)
        self._put_back(left)  # those that nobody wants any more, or that others want as well
        yield from self._give_out_known()

    def _put_back(self, tickets: Iterable[_Ticket[AskerT]]) -> None:
        """Let requests be asked next that have no answer, each once, even if several runs have put it back."""
        there = set(self._to_ask)
        again = [ticket for ticket in tickets if not ticket.settled and ticket not in there]
        self._to_ask.extendleft(reversed(again))

    def _next(self, tickets: deque[_Ticket[AskerT]], more: bool) -> _Ticket[AskerT] | None:
        """Return the next request for the model; None if there is none now."""
        if self._broken is None:
            if more and (not tickets or (not self._in_flight and len(tickets) < self._model.model.look_ahead)):
                try:
                    self._take_in()
                except StorageError as error:  # no backend is to take it for an error of its own
                    self._broken = error
                    return None
                if not self._in_flight and not self._enough():
                    return None
            if not self._wanted(tickets):
                return None
            self._in_flight += 1
            self._meter.working()
            return tickets.popleft()
        return None

    def _wanted(self, tickets: deque[_Ticket[AskerT]]) -> bool:
        """Drop requests whose answers nobody waits for any more; return whether one is left."""
        while tickets and (tickets[0].settled or tickets[0].owner is None):
            ticket = tickets.popleft()
            if not ticket.settled:
                ticket.settled = True
                self._forget(ticket)
                self._unanswered -= len(ticket.places)
        return bool(tickets)

    def _give_out_known(self) -> Iterator[AskerT]:
        """Give out what was in the cache, and yield the askers that have ended."""
        while self._known or self._ended:
            if self._ended:
                yield self._ended.popleft()
            else:
                ticket, response = self._known.popleft()
                self._deliver(ticket, response)

    def _deliver(self, ticket: _Ticket[AskerT], response: Response) -> None:
        """Give an answer to all that wait for it."""
        ticket.settled = True
        given, used = response, False
        for place in ticket.places:
            self._unanswered -= 1
            stream, ask = place.stream, place.ask
            if stream.over:
                continue
            if used and response.error is None and not given.cached:
                given = replace(response, cached=True)
            used = True
            ask.responses[place.number] = given
            ask.missing -= 1
            try:
                stream.asker.answered(ask, given)
                if not ask.missing:
                    self._follow_up(stream, ask)
            except BaseException as error:
                self._caught(stream, error)
            self._complete(stream)

    def _follow_up(self, stream: Stream[AskerT], ask: Ask) -> None:
        """Ask what a stream wants to know next, before what waits to be asked: examples are then complete soon."""
        more = stream.asker.follow_up(ask)
        if more:
            first, fresh = len(ask.requests), list[_Ticket[AskerT]]()
            ask.extend(more)
            self._enter(stream, ask, fresh, first)
            self._to_ask.extendleft(reversed(self._unknown(fresh)))

    def _complete(self, stream: Stream[AskerT]) -> None:
        """Conclude the asks at the head of a run's queue that have all their answers: examples keep their order."""
        while stream.asks and not stream.asks[0].missing and not stream.over:
            ask = stream.asks.popleft()
            self._held -= len(ask.requests)
            try:
                stream.asker.complete(ask)
            except BaseException as error:
                self._caught(stream, error)
            if ask.adapted.awaited:
                self._prompts.resume(stream)
        if stream.last_made and not stream.asks and not stream.over:
            self._end(stream, None)

    def _caught(self, stream: Stream[AskerT], error: BaseException) -> None:
        """End only the asker that raised an exception."""
        if isinstance(error, StorageError):
            raise error
        reraise_interrupt(error)
        self._fail(stream, error)

    def _fail(self, stream: Stream[AskerT], error: BaseException) -> None:
        if not stream.over:
            self._end(stream, error)

    def _end(self, stream: Stream[AskerT], error: BaseException | None) -> None:
        self._prompts.end(stream)
        self._ended.append(stream.asker)
        self._held -= sum(len(ask.requests) for ask in stream.asks)
        stream.asks.clear()
        stream.asker.end(error)

    def _forget(self, ticket: _Ticket[AskerT]) -> None:
        if ticket.key is not None:
            self._waiting_for.pop(ticket.key, None)

    def _check(self) -> None:
        if error := self._broken or self._prompts.broken:
            raise error


@dataclass(frozen=True, slots=True, eq=False)
class _Place(Generic[AskerT]):
    """Where an answer belongs."""

    stream: Stream[AskerT]
    ask: Ask
    number: int


@dataclass(slots=True, eq=False)
class _Ticket(Question, Generic[AskerT]):
    """A different request, and all the places that wait for its answer."""

    places: list[_Place[AskerT]]
    settled: bool = False
    """True when it is answered, or nobody wants the answer any more."""

    @property
    def owner(self) -> Stream[AskerT] | None:
        """The first stream that still wants the answer."""
        return next((place.stream for place in self.places if not place.stream.over), None)


class _Requests(Iterator["_Ticket[AskerT]"]):
    """What a model takes, as it has room: ends when there is nothing now, and may give more later.

    Attributes:
        any: True if anything was taken.
        open: What was taken and is not answered, in the order in which it was taken.
    """

    def __init__(self, scheduler: Scheduler[AskerT], tickets: deque[_Ticket[AskerT]], more: bool) -> None:
        self._scheduler, self._tickets, self._more = scheduler, tickets, more
        self.any = False
        self.open: dict[_Ticket[AskerT], None] = {}  # an ordered set; what is answered is let go, with its run

    @property
    def exhausted(self) -> bool:
        """True when no more will come before something is answered."""
        return not self._tickets and (not self._more or self._scheduler._prompts.exhausted)

    def __next__(self) -> _Ticket[AskerT]:
        ticket = self._scheduler._next(self._tickets, self._more)
        if ticket is None:
            raise StopIteration
        self.any = True
        self.open[ticket] = None
        return ticket
