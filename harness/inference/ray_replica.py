"""Replicas as actors of a Ray cluster, on any of its nodes.

::

    pool ── answer(part) ─► actor ─► model
         ◄─ take(number) ──          a block of events; asking for the next says that this one has come

A block that was not acknowledged is given again, so a call that is lost on its way loses no answer. ``take`` returns
at least once a second, which shows that the actor lives. An actor that dies is not restarted by Ray, whose calls to a
restarting actor may never return: the pool starts another.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from harness.inference.ray_deaths import death_reason, died_with_its_node
from harness.inference.replica_server import ReplicaServer
from harness.inference.replicas import (
    Dead,
    Event,
    Facts,
    Launch,
    ModelSource,
    Numbered,
    Pong,
    Post,
    Replica,
    Unavailable,
)

BEAT_SECONDS = 1.0
"""Seconds after which an actor with nothing to say returns from a call."""

SEND_SECONDS = 60.0
"""Seconds for a part to reach an actor."""

ANSWER_SECONDS = 3.0
"""Seconds for a model to give its next answer before its actor is ended all the same."""


def ray_replica(source: ModelSource, options: Mapping[str, Any] | None = None) -> Launch:
    """Return a function that starts a replica as an actor; Ray must be connected.

    Args:
        source: The model.
        options: Options of the actor, such as ``num_gpus`` or ``scheduling_strategy``.
    """
    return lambda post: RayReplica(source, options or {}, post)


class ReplicaActor:
    """The actor: it has the model, which works on a thread of its own.

    Args:
        source: How the model is opened.
    """

    def __init__(self, source: ModelSource) -> None:
        self._server = ReplicaServer(source)
        self._block: list[Event] = []
        self._number = 0
        self._model = threading.Thread(target=self._server.run, name="model", daemon=True)
        self._model.start()

    def take(self, number: int) -> list[Event]:
        """Return the block of events of that number; the one before has come. Empty if there is nothing to say."""
        if number != self._number:
            self._server.outbox.sent()
            self._block, self._number = self._server.outbox.take(BEAT_SECONDS), number
        elif not self._block:
            self._block = self._server.outbox.take(BEAT_SECONDS)
        return self._block

    def answer(self, part: int, requests: Sequence[Numbered]) -> None:
        """Take a part to answer."""
        self._server.take(part, list(requests))

    def stored(self, answers: int) -> None:
        """Note that the pool's side has stored that many more answers."""
        self._server.outbox.stored(answers)

    def close(self) -> None:
        """Close the model, and end the process."""
        import ray

        self._server.close()
        if self._server.ended.wait(ANSWER_SECONDS):
            self._model.join()
        leave: Any = ray.actor.exit_actor
        leave()


class RayReplica:
    """A replica in an actor.

    Args:
        source: The model.
        options: Options of the actor.
        post: Takes its events.
    """

    def __init__(self, source: ModelSource, options: Mapping[str, Any], post: Post) -> None:
        import ray

        self.label = "a Ray actor that has not started"
        self._post, self._closed = post, False
        # Each group has a thread of its own in the actor, so that no call waits for another.
        groups = {"events": 1, "parts": 1}
        fixed = {"max_restarts": 0, "max_task_retries": 0, "concurrency_groups": groups}
        remote: Any = ray.remote
        self.actor: Any = remote(**{"num_cpus": 1, **options, **fixed})(ReplicaActor).remote(source)
        self._outgoing: queue.SimpleQueue[tuple[int, list[Numbered]] | int | None] = queue.SimpleQueue()
        threading.Thread(target=self._send_all, name="to an actor", daemon=True).start()
        threading.Thread(target=self._receive, name="from an actor", daemon=True).start()

    def send(self, part: int, requests: Sequence[Numbered]) -> None:
        self._outgoing.put((part, list(requests)))

    def stored(self, answers: int) -> None:
        self._outgoing.put(answers)

    def ping(self) -> None:
        pass  # it says every second that it lives

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._outgoing.put(None)

    def join(self, seconds: float) -> None:
        import ray

        with suppress(Exception):  # it has ended, or Ray has
            ray.get(self.actor.close.remote(), timeout=seconds)
        with suppress(Exception):
            ray.kill(self.actor)

    def _send_all(self) -> None:
        import ray
        from ray.exceptions import ActorUnavailableError, GetTimeoutError, RayError

        answer = self.actor.answer.options(concurrency_group="parts")
        stored = self.actor.stored.options(concurrency_group="parts")
        while (message := self._outgoing.get()) is not None:
            sent = stored.remote(message) if isinstance(message, int) else answer.remote(*message)
            try:
                ray.get(sent, timeout=SEND_SECONDS)
            except (ActorUnavailableError, GetTimeoutError) as error:
                self._post(Unavailable(death_reason(error)))
                if isinstance(message, int):  # without it the actor would wait for ever
                    self._outgoing.put(message)
                    time.sleep(BEAT_SECONDS)
            except RayError:  # it has died, as who receives will notice
                return

    def _receive(self) -> None:
        import ray
        from ray.exceptions import ActorDiedError, ActorUnavailableError, GetTimeoutError

        take = self.actor.take.options(concurrency_group="events")
        number = 1
        block = take.remote(number)
        while not self._closed:
            try:
                events = ray.get(block, timeout=BEAT_SECONDS)
            except GetTimeoutError:
                continue
            except ActorUnavailableError as error:
                self._post(Unavailable(death_reason(error)))
                time.sleep(BEAT_SECONDS)
                block = take.remote(number)  # the same again
                continue
            except ActorDiedError as error:
                self._end(Dead(f"died: {death_reason(error)}", blameless=died_with_its_node(error)))
                return
            except Exception as error:
                self._end(Dead(f"failed: {death_reason(error)}"))
                return
            number += 1
            block = take.remote(number)
            for event in events or [Pong()]:
                if isinstance(event, Facts):
                    self.label = _label(event.worker)
                self._post(event)

    def _end(self, event: Dead) -> None:
        if not self._closed:
            self._post(event)


def _label(worker: Mapping[str, Any]) -> str:
    cards = worker.get("visible_devices")
    return f"{worker['host']}, GPU {cards}" if cards else f"{worker['host']}, process {worker['pid']}"


_: type[Replica] = RayReplica
