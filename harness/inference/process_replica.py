"""Replicas as processes of this machine, each with a pipe."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.util import Finalize
from typing import Any

from harness.contracts.specs import Component
from harness.inference.replica_pool import ReplicaPool
from harness.inference.replica_server import Outbox, ReplicaServer
from harness.inference.replicas import Dead, Launch, ModelSource, Numbered, Pong, Post, Replica

ANSWER_SECONDS = 3.0
"""Seconds for a model to give its next answer before its process is ended all the same."""

CLOSE_SECONDS = 5.0
"""Seconds for a process to end after each signal."""


def local_replica(source: ModelSource, label: str) -> Launch:
    """Return a function that starts a replica in a new process.

    Args:
        source: The model.
        label: What messages call it, such as ``cuda:1``.
    """
    return lambda post: ProcessReplica(source, label, post)


def local_pool(
    name: str, model: str, places: Mapping[str, Mapping[str, Any]], *, threads: int, advice: str = ""
) -> ReplicaPool:
    """Return a pool of replicas in processes of this machine.

    Args:
        name: What messages call the model.
        model: ``backend:identifier``, of an installed backend.
        places: For each replica what messages call it, such as ``cuda:1``, and the arguments of its model.
        threads: Processor threads of each.
        advice: What to try when processes die.
    """
    environment = {"OMP_NUM_THREADS": str(threads)}
    launches = [
        local_replica(ModelSource(Component(name=model, arguments=dict(arguments)), (), environment), label)
        for label, arguments in places.items()
    ]
    return ReplicaPool(name, launches, advice=advice)


class ProcessReplica:
    """A replica in a process of this machine.

    Args:
        source: The model.
        label: What messages call it.
        post: Takes its events.
    """

    def __init__(self, source: ModelSource, label: str, post: Post) -> None:
        self.label = label
        self._post = post
        self._closed = False
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        # Not a daemon: those may not have processes of their own, which some engines need.
        self.process = context.Process(target=_serve, args=(source, theirs), daemon=False, name=f"replica on {label}")
        self.process.start()
        theirs.close()
        self._outgoing: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._send_all, name=f"to {label}", daemon=True).start()
        threading.Thread(target=self._receive, name=f"from {label}", daemon=True).start()
        # Without it an interpreter that ends without close() would wait for the process, which waits for it.
        self._finalize = Finalize(self, _end, args=(self._connection, self.process), exitpriority=10)

    def send(self, part: int, requests: Sequence[Numbered]) -> None:
        self._outgoing.put((part, list(requests)))

    def stored(self, answers: int) -> None:
        self._outgoing.put(answers)

    def ping(self) -> None:
        self._outgoing.put("ping")

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._outgoing.put(None)

    def join(self, seconds: float) -> None:
        self.process.join(seconds)
        _end(self._connection, self.process)
        self._finalize.cancel()

    def _send_all(self) -> None:
        with contextlib.suppress(OSError):  # a process that is gone is noticed by who reads
            while (message := self._outgoing.get()) is not None:
                self._connection.send(message)
            self._connection.send("close")

    def _receive(self) -> None:
        try:
            while True:
                for event in self._connection.recv():
                    self._post(event)
        except (EOFError, OSError, TypeError):  # TypeError: closed while it was read
            pass
        self.process.join(CLOSE_SECONDS)
        if not self._closed:
            self._post(Dead(_how_it_ended(self.process.exitcode)))


def _how_it_ended(code: int | None) -> str:
    if code is None:
        return "closed its pipe"
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def _end(connection: Connection, process: Any) -> None:
    """End a process, by force if need be."""
    for end in (process.terminate, process.kill):
        if process.is_alive():
            end()
            process.join(CLOSE_SECONDS)
    connection.close()


def _serve(source: ModelSource, connection: Connection) -> None:
    """Runs in the process: answer parts until the other side says so, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process hears it, and ends this one
    server = ReplicaServer(source)
    threading.Thread(target=_listen, args=(server, connection), name="requests", daemon=True).start()
    speaker = threading.Thread(target=_speak, args=(server.outbox, connection), name="answers", daemon=True)
    speaker.start()
    server.run()
    server.outbox.close()
    speaker.join(CLOSE_SECONDS)


def _listen(server: ReplicaServer, connection: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        while (message := connection.recv()) != "close":
            if message == "ping":
                server.outbox.put(Pong())
            elif isinstance(message, int):
                server.outbox.stored(message)
            else:
                server.take(*message)
    server.close()
    if not server.ended.wait(ANSWER_SECONDS):
        os._exit(1)


def _speak(outbox: Outbox, connection: Connection) -> None:
    with contextlib.suppress(OSError):
        while events := outbox.take():
            connection.send(events)
            outbox.sent()


_: type[Replica] = ProcessReplica
