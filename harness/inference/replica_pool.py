"""A model in several replicas: one that has room takes the next part of the requests.

::

    requests ─► parts (512 at most) ─┬─► replica 1 ─┐
                                     ├─► replica 2 ─┼─► answers, as they come
                                     └─► replica 3 ─┘

- A replica has two parts at most, and gets the second when half of the first is answered: so it never idles, and the
  last parts go to whoever is free.
- When a replica dies, its unanswered requests are asked again and another takes its place. What two replicas have died
  of is answered with an error; a place whose replicas die one after the other before they answer anything is given up.
- One that cannot be reached is left alone for 3 to 60 seconds, and one that says nothing for 6 seconds, not even to a
  ping, gives its parts back; this counts against nobody. If it answers all the same, the first answer stays.
- Replicas may join and leave at any time.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.contracts import Request, Response
from harness.errors import ModelError
from harness.inference.parts import BLOCK, LARGEST, Part, Parts
from harness.inference.replicas import (
    MOST_ANSWERS,
    Answers,
    Begun,
    Dead,
    Done,
    Event,
    Facts,
    Failed,
    Launch,
    Pong,
    Refused,
    Replica,
    Unavailable,
    Used,
)

logger = logging.getLogger(__name__)

MOST_DEATHS = 2
"""Deaths of replicas on the same part after which its requests fail, in places that have answered before. A part that
went on well after a death was hardly its cause, so only those count between which it got a block of answers at most.
"""

MOST_STARTS = 3
"""Deaths in a row after which a place is given up."""

MOST_PARTS = 2
"""Parts that a replica has at once."""

PING_SECONDS, SILENT_SECONDS, LOST_SECONDS = 3.0, 6.0, 120.0
"""Seconds without a word after which a replica with parts is pinged, gives them back, and is replaced."""

BACK_OFF_SECONDS = (3.0, 60.0)
"""Seconds for which a replica that cannot be reached is left alone: at first, and at most."""

START_SECONDS = 1800.0
"""Seconds to wait for a first replica: on a cluster, until a machine is free."""

REMIND_SECONDS = 60.0
"""Seconds after which a message says that no replica has started yet."""

POLL_SECONDS, IDLE_POLL_SECONDS = 0.5, 0.05
"""Seconds of one wait, and of one while a replica has room: then new requests are looked for."""

CLOSE_SECONDS = 30.0
"""Seconds for all replicas to end; those that take longer are killed."""

Check = Callable[[Facts], str | None]
"""Returns why a replica must not answer, from what it says of itself; None if it may."""


@dataclass(slots=True, eq=False)
class _Place:
    """A replica, or those that follow each other in its place."""

    launch: Launch
    called: str = "one that was never started"
    """The label of its last replica."""
    replica: Replica | None = None
    """None before it is started, and between a death and the next start."""
    generation: int = 0
    """Number of replicas so far: events of those that were replaced are ignored."""
    facts: Facts | None = None
    """What the replica said of itself; None until it is ready."""
    parts: dict[int, Part] = field(default_factory=dict)
    """What it has, by number."""
    begun: set[int] = field(default_factory=set)
    """The parts that its model has begun."""
    deaths: int = 0
    """Replicas that died here since the last answer."""
    answered: bool = False
    """True if it has ever answered."""
    launched: float = 0.0
    """When it was last started."""
    heard: float = 0.0
    """When it last said something."""
    pinged: float | None = None
    """When it was pinged, if it has said nothing since."""
    silent: bool = False
    """True after its parts were taken back, until it says something."""
    away_until: float = 0.0
    """Until when it is left alone."""
    back_off: float = 0.0
    """Seconds of the last time that it was left alone."""
    leaving: bool = False
    """True if it gets no more parts, and ends with its last one."""

    @property
    def unanswered(self) -> int:
        return sum(len(part.requests) for part in self.parts.values())

    @property
    def suspected(self) -> bool:
        """True if it has a part that a replica has died of."""
        return any(part.deaths for part in self.parts.values())

    @property
    def has_room(self) -> bool:
        """True if it can take another part."""
        ready = self.replica is not None and self.facts is not None and not (self.leaving or self.silent)
        return ready and len(self.parts) < MOST_PARTS and self.unanswered < LARGEST // 2

    @property
    def label(self) -> str:
        return self.called if self.replica is None else self.replica.label


class ReplicaPool:
    """Replicas of the same model.

    Args:
        name: The model's name, for messages.
        launches: What starts each replica; they are started by the first :meth:`answer` or :meth:`start`.
        check: Refuses a replica by what it says of itself.
        advice: What to try when replicas die, for messages.
    """

    def __init__(
        self, name: str, launches: Iterable[Launch], *, check: Check = lambda facts: None, advice: str = ""
    ) -> None:
        self._name, self._check, self._advice = name, check, f" {advice}" if advice else ""
        self._places = [_Place(launch) for launch in launches]
        self._changing = threading.RLock()  # guards the list of places, which others may change while it is used
        self._events: queue.SimpleQueue[tuple[_Place, int, Event]] = queue.SimpleQueue()
        self._started = self._answering = False
        self._given_up: list[_Place] = []
        self._why_given_up = ""
        self._ending: list[threading.Thread] = []
        self._next_part = 0
        self._joules: float | None = None
        self._workers: dict[str, Facts] = {}  # all that have ever answered
        self._counted: set[_Place] = set()  # those whose facts are among them

    # For everyone

    def start(self) -> None:
        """Start the replicas, if that has not been done."""
        with self._changing:
            self._started = True
            for place in self._places:
                if place.replica is None:
                    self._launch(place)

    def add(self, launch: Launch) -> None:
        """Add a replica, which takes parts as soon as it is ready; called on any thread."""
        with self._changing:
            self._places.append(_Place(launch))
            if self._started:
                self._launch(self._places[-1])

    def remove(self, label: str) -> bool:
        """Let the first replica with that label leave when it has answered what it has; called on any thread.

        Returns:
            True if there was one.
        """
        with self._changing:
            for place in self._places:
                if not place.leaving and place.label == label:
                    place.leaving = True
                    if not self._answering:
                        self._let_go(place)
                    return True
        return False

    def close(self) -> None:
        """End all replicas; :meth:`answer` starts them again."""
        with self._changing:
            places = list(self._places)
            self._places = [_Place(place.launch) for place in (*places, *self._given_up) if not place.leaving]
            self._given_up, self._started = [], False
        for place in places:
            self._end(place)
        with self._changing:
            ending, self._ending = self._ending, []
        for thread in ending:
            thread.join()

    @property
    def running(self) -> list[Replica]:
        """The replicas that have been started and have not ended, ready or not."""
        with self._changing:
            return [place.replica for place in self._places if place.replica is not None]

    @property
    def unheard(self) -> bool:
        """True if replicas were started, and none has said anything: on a cluster, they wait for a machine."""
        with self._changing:
            return self._started and all(place.heard <= place.launched for place in self._places)

    @property
    def room(self) -> int:
        """How many requests it takes at once: those that it works on, and one block more."""
        with self._changing:
            return self.room_of(len(self._places))

    @staticmethod
    def room_of(replicas: int) -> int:
        """Return how many requests that many replicas work on at most, and one block more."""
        return MOST_PARTS * LARGEST * replicas + BLOCK

    def facts(self) -> list[Facts]:
        """Return what all replicas have said of themselves that have ever answered, each worker once."""
        with self._changing:
            return list(self._workers.values())

    def workers(self) -> list[dict[str, Any]]:
        """Return the machines and devices of :meth:`facts`, as JSON values in a fixed order."""
        found = [{key: value for key, value in one.worker.items() if key != "pid"} for one in self.facts()]
        return sorted(found, key=json.dumps)

    def joules(self) -> float | None:
        """Return the energy that the replicas' graphics cards have used for answers; None if none could measure it."""
        with self._changing:
            return self._joules

    def ready(self, seconds: float = START_SECONDS) -> Facts:
        """Start the replicas, and return what the first says of itself that is ready; not during :meth:`answer`.

        Raises:
            ModelError: The model cannot be opened, or no replica is ready in time.
        """
        self.start()
        parts, until = Parts((), self._next_part), time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                for place in self._places:
                    if place.facts is not None:
                        return place.facts
                for event in self._coming(POLL_SECONDS):
                    for _ in self._handle(*event, parts):
                        pass
            raise ModelError(f"{self._name}: no replica has started within {seconds:.0f} s.")
        except BaseException:
            self.close()
            raise

    # On the thread of the answers

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        """Yield each request's number with its response, as :meth:`harness.Model.answer` does.

        Raises:
            ModelError: The model cannot be loaded, or replicas die before they have answered anything.
            RuntimeError: The model raised something else.
        """
        self.start()
        parts, finished = Parts(requests, self._next_part), False
        failure: Exception | None = None
        self._answering = True
        ready_at = reminded = time.monotonic()
        try:
            while True:
                if failure is None:
                    self._deal(parts)
                if not (self._busy(parts) if failure else parts.open or parts.partial):
                    break
                if any(place.facts for place in self._places):
                    ready_at = time.monotonic()
                else:
                    reminded = self._check_start(ready_at, reminded)
                idle = not parts.waiting and any(place.has_room for place in self._places)
                for event in self._coming(IDLE_POLL_SECONDS if idle else POLL_SECONDS):
                    try:
                        yield from self._handle(*event, parts)
                    except (ModelError, RuntimeError) as error:
                        failure = failure or error  # what others are answering is not lost
                yield from self._watch(parts)
            finished = failure is None or isinstance(failure, RuntimeError)  # then the replicas can go on
            if failure is not None:
                raise failure
        finally:
            self._next_part, self._answering = parts.next, False
            if not finished:
                self.close()

    def _busy(self, parts: Parts) -> bool:
        """Return whether an answer can be expected."""
        return any(number in parts.open for place in self._places if not place.silent for number in place.parts)

    def _coming(self, seconds: float) -> Iterator[tuple[_Place, int, Event]]:
        """Yield the events that have come; wait for the first of them for some seconds."""
        try:
            yield self._events.get(timeout=seconds)
            while True:
                yield self._events.get_nowait()
        except queue.Empty:
            return

    def _deal(self, parts: Parts) -> None:
        """Give parts to the replicas that have room, and take more requests when all parts are given out."""
        now = time.monotonic()
        while True:
            if not parts.waiting:
                parts.take()
            given = len(parts.waiting)
            with self._changing:
                places = [place for place in self._places if place.has_room and now >= place.away_until]
                self._give_out(parts, places)
            if parts.waiting or not given:
                return

    def _give_out(self, parts: Parts, places: list[_Place]) -> None:
        for part in list(parts.waiting):
            # What a replica has died of is answered alone, so that it is known whose fault a second death is.
            free = [place for place in places if part.number not in place.parts and not place.suspected]
            alone = [place for place in free if not place.parts] if part.deaths else free
            if alone:
                place = min(alone, key=lambda one: one.unanswered)
                parts.waiting.remove(part)
                if not place.parts:
                    place.heard = time.monotonic()
                place.parts[part.number] = part
                if place.replica is not None:
                    place.replica.send(part.number, list(part.requests.items()))
                if not place.has_room:
                    places.remove(place)
            elif free:  # the first to be done with what it has
                places.remove(min(free, key=lambda one: one.unanswered))
            if not places:
                return

    def _handle(self, place: _Place, generation: int, event: Event, parts: Parts) -> Iterator[tuple[int, Response]]:
        if generation != place.generation:  # of a replica that was replaced
            if isinstance(event, Answers):
                yield from _new(event, parts)
            return
        match event:
            case Answers(part):
                place.deaths, place.back_off, place.answered = 0, 0.0, True
                self._count(place)
                yield from _new(event, parts)
                if generation == place.generation and place.replica is not None:
                    place.replica.stored(len(event.answers))
            case Begun(part):
                place.begun.add(part)
            case Used(joules):
                with self._changing:
                    self._joules = (self._joules or 0.0) + joules
            case Done(part):
                self._done(place, part, parts)
            case Facts():
                self._meet(place, event, parts)
            case Refused(message):
                self._refused(place, message, parts)
            case Failed(trace):
                self._drop(place)
                raise RuntimeError(f"{self._name}: a replica failed on {place.label}.\n{trace}")
            case Dead(reason, blameless):
                yield from self._replace(place, reason, blameless, parts)
            case Unavailable(reason):
                first, most = BACK_OFF_SECONDS
                place.back_off = min(most, max(first, 2 * place.back_off))
                place.away_until = time.monotonic() + place.back_off
                logger.warning("%s: %s cannot be reached: %s", self._name, place.label, reason)
                parts.again(self._drop(place))

    def _done(self, place: _Place, number: int, parts: Parts) -> None:
        place.begun.discard(number)
        part = place.parts.pop(number, None)
        if part is not None and part.requests and part.number in parts.open:
            raise ModelError(f"{self._name}: {len(part.requests)} requests of a part were not answered.")
        self._let_go(place)

    def _meet(self, place: _Place, facts: Facts, parts: Parts) -> None:
        """Take in what a replica says of itself."""
        problem = self._check(facts)
        if problem is not None:
            self._give_up(place)
            parts.again(self._drop(place))
            raise ModelError(f"{self._name}: the replica on {place.label} is another model: {problem}")
        place.facts = facts
        self._counted.discard(place)

    def _count(self, place: _Place) -> None:
        """Keep what a replica has said of itself, as it has answered."""
        if place not in self._counted and place.facts is not None:
            self._counted.add(place)
            with self._changing:
                self._workers[place.label] = place.facts

    def _refused(self, place: _Place, message: str, parts: Parts) -> None:
        """Give up a place where the model cannot be loaded, or fail."""
        others = any(one is not place and not one.leaving for one in self._places)
        left = self._drop(place)
        if place.answered or not others:
            if not place.answered:
                self._give_up(place)
            raise ModelError(message)
        self._give_up(place)
        self._why_given_up = message
        logger.warning("%s: %s is not used: %s", self._name, place.label, message)
        parts.again(left)

    def _replace(self, place: _Place, reason: str, blameless: bool, parts: Parts) -> Iterator[tuple[int, Response]]:
        """Start a replica in the place of one that died, unless its place has cost too many.

        What it had not answered is asked again, or answered with an error if it has cost too many replicas.

        Raises:
            ModelError: No place is left.
        """
        begun, label = set(place.begun), place.label
        left = [part for part in self._drop(place) if part.number in parts.open]
        place.deaths += not blameless
        for order, part in enumerate(left):  # the first is begun, even if that was not reported any more
            if (not order or part.number in begun) and place.answered and not blameless:
                went_on = part.left_at_death - len(part.requests) > MOST_ANSWERS
                part.deaths = 1 if went_on else part.deaths + 1
                part.left_at_death = len(part.requests)
        poisoned = [part for part in left if part.deaths >= MOST_DEATHS]
        given_up = place.deaths >= MOST_STARTS or place.leaving
        if given_up:
            self._why_given_up = (
                f"{place.deaths} processes in a row died on {label} before answering anything, and no other device is "
                f"left; the last one {reason}.{self._advice} All answers so far are kept; run the same command to "
                "continue."
            )
            self._give_up(place)
        if not self._places:
            raise ModelError(f"{self._name}: {self._why_given_up}")
        what_next = "this device is not used again" if given_up else "another takes its place"
        again = sum(len(part.requests) for part in left if part not in poisoned)
        logger.warning(
            "%s: the process on %s %s; %s, and its %d unanswered requests are asked again.%s",
            self._name, label, reason, what_next, again, self._advice,
        )  # fmt: skip
        parts.again(part for part in left if part not in poisoned)
        for part in poisoned:
            error = f"{self._name}: {part.deaths} processes died while they answered this request and others with it; "
            failed = list(part.requests)
            parts.close(part)
            yield from ((one, Response(error=f"{error}the last one {reason}.{self._advice}")) for one in failed)
        if not given_up:
            with self._changing:
                self._end(place)
                self._launch(place)

    def _watch(self, parts: Parts) -> Iterator[tuple[int, Response]]:
        """Ping replicas that are silent, take back what they have, and replace those that are silent for long."""
        now = time.monotonic()
        with self._changing:
            places = list(self._places)
        for place in places:
            self._let_go(place)
            if place.replica is None or not (place.parts or place.silent):
                continue
            silence = now - place.heard
            if place.pinged is not None and place.pinged <= place.heard:
                place.pinged, place.silent = None, False
            if place.pinged is None:
                if silence > PING_SECONDS:
                    place.pinged = now
                    place.replica.ping()
            elif silence > LOST_SECONDS:
                yield from self._replace(place, f"said nothing for {silence:.0f} s", False, parts)
            elif not place.silent and silence > SILENT_SECONDS and now - place.pinged > SILENT_SECONDS - PING_SECONDS:
                place.silent = True
                logger.warning("%s: %s is silent; others take over its requests.", self._name, place.label)
                parts.again(place.parts.values())

    def _check_start(self, since: float, reminded: float) -> float:
        """Say that no replica is ready, if it is so for long.

        Raises:
            ModelError: It is so for too long, or there is none to wait for.
        """
        now = time.monotonic()
        if self._why_given_up and not self._places:
            raise ModelError(f"{self._name}: {self._why_given_up}")
        if now - since > START_SECONDS:
            raise ModelError(f"{self._name}: no replica has started within {now - since:.0f} s.")
        if now - reminded <= REMIND_SECONDS:
            return reminded
        labels = ", ".join(sorted({place.label for place in self._places})) or "none was asked for"
        logger.warning("%s: no replica has started for %.0f s (%s).", self._name, now - since, labels)
        return now

    def _launch(self, place: _Place) -> None:
        place.generation += 1
        generation = place.generation

        def post(event: Event) -> None:
            if generation == place.generation:
                place.heard = time.monotonic()
            if not isinstance(event, Pong):
                self._events.put((place, generation, event))

        place.facts, place.pinged, place.silent = None, None, False
        place.launched = place.heard = time.monotonic()
        place.replica = place.launch(post)

    def _drop(self, place: _Place) -> list[Part]:
        """Return the parts of a replica, which has them no longer."""
        parts = list(place.parts.values())
        place.parts.clear()
        place.begun.clear()
        return parts

    def _give_up(self, place: _Place) -> None:
        with self._changing:
            if place in self._places:
                self._places.remove(place)
                self._given_up += [] if place.leaving else [place]
            self._end(place)

    def _let_go(self, place: _Place) -> None:
        """End a replica that is leaving and has nothing left to answer."""
        if place.leaving and not place.parts:
            self._give_up(place)

    def _end(self, place: _Place) -> None:
        """End a place's replica without waiting."""
        place.called, replica, place.replica = place.label, place.replica, None
        place.generation += 1
        if replica is not None:
            replica.close()
            seconds = 0.0 if place.silent else CLOSE_SECONDS  # it would not hear that it is to end
            thread = threading.Thread(target=replica.join, args=(seconds,), name="closing", daemon=True)
            thread.start()
            with self._changing:
                self._ending = [one for one in self._ending if one.is_alive()] + [thread]


def _new(event: Answers, parts: Parts) -> Iterator[tuple[int, Response]]:
    """Yield the answers that are the first to their requests."""
    for number, response in event.answers:
        if parts.answered(event.part, number):
            yield number, response
