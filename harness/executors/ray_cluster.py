"""The Ray executor: each model of a sweep gets a head, which runs its runs, and replicas where its weights are.

::

    this process ── starts, watches, restarts ──► head of model A (CPU) ─── parts ──► replica (GPUs, any node)
        ▲                                            │        └───────── parts ──► replica
        └── job folder: reports, progress ◄──────────┴─ head of model B, which needs no GPU: in the head itself

Nothing is known here that is not on disk as well. If a head dies, another continues with what is left; if this process
dies, Ray ends all that it started, and the same command continues. No call to Ray waits without a limit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, StorageError
from harness.executors.following import Following
from harness.executors.job import Job, discard_job, write_job
from harness.executors.job_order import run_seconds
from harness.executors.own_caches import own_caches
from harness.executors.ray_connection import connected
from harness.executors.ray_nodes import (
    Node,
    amount,
    check_nodes,
    check_room,
    living_nodes,
    may_grow,
    what_there_is,
)
from harness.executors.ray_work import MOST_REPLICAS, Head, ModelWork, next_replica, work_of
from harness.inference.ray_deaths import death_reason
from harness.inference.replica_pool import START_SECONDS
from harness.inference.replicas import ModelSource
from harness.plugins.registry import Registry
from harness.runs.sweep_state import SweepState
from harness.storage.results import RunRecord
from harness.sweeps.executor_keys import RayKeys

POLL_SECONDS = 0.5
NODES_SECONDS = 5.0
"""Seconds between two looks at the cluster's nodes."""

PING_SECONDS, LOST_SECONDS = 10.0, 120.0
"""Seconds between two pings of a head, and without an answer after which it is replaced."""

BACK_OFF_SECONDS = (2.0, 60.0)
"""Seconds before a head that died is started again: the first time, and at most."""

MOST_DEATHS = 5
"""Deaths of a model's heads, without a run that ended between them, after which the sweep ends."""

MOST_IDLE = 6
"""Times in a row that a head may find nothing left to do, though results of runs cannot be seen here: with the waits
between, some two minutes, in which any network file system shows them."""

ALONE_SECONDS = 600.0
"""Seconds to wait for a node while no head can run, on a cluster that does not grow."""

REMIND_SECONDS = 60.0
"""Seconds after which a message says, once, that no node is free."""

STOP_SECONDS = 30.0
"""Seconds that heads have to stop cleanly."""

_LOG = logging.getLogger(__name__)


class RayExecutor:
    """Runs a job on a Ray cluster.

    Args:
        settings: Where the cluster is.
        registry: Knows the plugins of this process.
    """

    def __init__(self, settings: RayKeys, registry: Registry) -> None:
        self._settings, self._registry = settings, registry

    def run(self, job: Job, state: SweepState) -> Iterator[RunRecord]:
        with connected(self._settings.address):
            nodes = living_nodes()
            seconds = run_seconds(job.runs, self._registry, job.settings)
            models = work_of(job.runs, seconds, self._registry, gpus=any(node.gpus for node in nodes))
            grows = may_grow()
            check_room([one.demand for one in models], nodes, grows=grows)
            with own_caches(job) as own:
                file = write_job(own, self._registry, seconds)
                try:
                    check_nodes(nodes, file)
                    yield from _Cluster(own, file, state, models, grows=grows).records()
                finally:
                    discard_job(own)


class _Cluster:
    """The heads of a job on a cluster, from the first to the last run."""

    def __init__(
        self, job: Job, file: Path, state: SweepState, models: Sequence[ModelWork], *, grows: bool = False
    ) -> None:
        self._job, self._file, self._models, self._grows = job, file, models, grows
        self._following = Following(job, state)
        self._heads = 0
        self._nodes: list[Node] = []
        self._nodes_at = -NODES_SECONDS
        self._alive_at, self._told = time.monotonic(), False

    def records(self) -> Iterator[RunRecord]:
        """Run everything, and yield the records as runs end.

        Raises:
            HarnessError: Nothing can go on.
        """
        try:
            while self._following.left:
                self._look_at_nodes()
                for work in self._models:
                    self._look_at_heads(work)
                self._begin()
                time.sleep(POLL_SECONDS)
                for record in self._following.look():
                    for work in self._models:
                        work.ended(record)
                    yield record
                self._check_alive()
        finally:
            self._stop()

    def _look_at_nodes(self) -> None:
        now = time.monotonic()
        if now - self._nodes_at >= NODES_SECONDS:
            self._nodes, self._nodes_at = living_nodes(), now

    def _begin(self) -> None:
        """Start heads and replicas on what is free, first for the model that needs it most."""
        cpus = sum(node.cpus for node in self._nodes) - sum(work.cpus for work in self._models)
        gpus = sum(node.gpus for node in self._nodes) - sum(work.gpus * work.replicas for work in self._models)
        for work in self._models:  # the longest first
            if work.heads or not work.left:
                continue
            # A cluster that grows does so for actors that wait, so they are started without a place for them.
            replicas = min(work.demand.replicas, MOST_REPLICAS if self._grows else 1)
            first = self._grows and not any(one.heads for one in self._models)
            if first or (work.gpus * replicas <= gpus and cpus >= 1 + replicas):
                self._start(work, replicas)
                cpus, gpus = cpus - 1 - replicas, gpus - work.gpus * replicas
        while cpus >= 1 and (more := next_replica(self._models, gpus)) is not None:
            self._add_replica(more)
            cpus, gpus = cpus - 1, gpus - more.gpus

    def _start(self, work: ModelWork, replicas: int) -> None:
        head = Head(self._heads, replicas)
        self._heads += 1
        work.heads.append(head)
        self._start_actor(work, head)

    def _start_actor(self, work: ModelWork, head: Head) -> None:
        import ray

        from harness.executors.ray_head import RayHead

        actor = ray.remote(RayHead).options(
            num_cpus=1, max_restarts=0, max_task_retries=0, max_concurrency=4, scheduling_strategy="SPREAD"
        )
        self._following.joined.pop(head.number, None)
        self._following.stopped.pop(head.number, None)
        source = ModelSource(work.component, tuple(self._job.plugins), directory=self._job.directory)
        head.actor = actor.remote(self._file, head.number, source, head.replicas, work.gpus)
        head.running, head.ping = head.actor.run.remote(), None
        head.heard, head.joined = time.monotonic(), False

    def _add_replica(self, work: ModelWork) -> None:
        head = min(work.heads, key=lambda one: one.replicas)
        if head.replicas >= MOST_REPLICAS and len(work.left) > len(work.heads):
            self._start(work, 1)
            return
        head.replicas += 1
        if head.actor is not None:
            head.actor.add_replica.remote()

    def _look_at_heads(self, work: ModelWork) -> None:
        """Take note of heads that have ended or died, and start those again that are due."""
        import ray

        now = time.monotonic()
        for head in list(work.heads):
            if head.actor is None:
                if not work.left:
                    work.heads.remove(head)
                elif now >= head.again_at:
                    self._start_actor(work, head)
            elif ray.wait([head.running], timeout=0)[0]:
                self._conclude(work, head, _how_it_ended(head.running))
            elif head.number in self._following.joined:
                if not head.joined:
                    head.joined, head.heard = True, now
                self._alive_at = now
                self._ping(work, head, now)

    def _ping(self, work: ModelWork, head: Head, now: float) -> None:
        """Ask a head for a sign of life; replace it if it has given none for long."""
        import ray

        if head.ping is not None and ray.wait([head.ping], timeout=0)[0]:
            self._note_places(work, head, head.ping)
            head.ping, head.heard = None, now
        if head.ping is None and now - head.heard > PING_SECONDS:
            head.ping = head.actor.ping.remote()
        elif now - head.heard > LOST_SECONDS:
            self._conclude(work, head, f"gave no sign of life for {now - head.heard:.0f} s")

    def _note_places(self, work: ModelWork, head: Head, ping: Any) -> None:
        """Log once that a head's replicas have waited for a place on the cluster for long."""
        import ray

        try:
            unplaced = ray.get(ping, timeout=POLL_SECONDS)
        except Exception as error:  # what it ended with is known soon
            _LOG.debug("%s", error)
            return
        now = time.monotonic()
        if not unplaced:
            head.unplaced_at, head.told = None, False
        elif head.unplaced_at is None:
            head.unplaced_at = now
        elif now - head.unplaced_at > REMIND_SECONDS and not head.told:
            head.told = True
            needs = f"{amount(work.gpus, 'GPU')} and 1 CPU on one node" if work.gpus else "1 CPU"
            has = what_there_is(self._nodes)
            _LOG.warning("%s waits for a place for its replicas: each needs %s; %s.", work.name, needs, has)

    def _conclude(self, work: ModelWork, head: Head, problem: str) -> None:
        """Let a head go that has ended; it is started again later if runs are left then.

        Raises:
            HarnessError: The disk failed, or too many heads have died.
        """
        _kill(head.actor)
        head.actor = head.running = head.ping = None
        first, most = BACK_OFF_SECONDS
        head.again_at = time.monotonic() + min(most, first * 2 ** (work.deaths + head.idle))
        stopped = self._following.stopped.get(head.number)
        if isinstance(stopped, StorageError):
            raise stopped
        if not problem:  # it found nothing left; what it reported last may not be visible here yet
            head.idle += 1
            if work.left and head.idle >= MOST_IDLE:
                raise HarnessError(
                    f"{work.name}: {len(work.left)} runs have ended, but their results are not in "
                    f"{self._job.settings.results_dir}; were they removed? The same command runs them again."
                )
            return
        work.deaths += 1
        if work.deaths >= MOST_DEATHS:
            raise stopped or HarnessError(
                f"{work.name}: {work.deaths} heads in a row ended before they finished a run; the last one {problem}. "
                "All answers so far are kept; the same command continues."
            )
        _LOG.warning("%s: head %d %s; another continues.", work.name, head.number, problem)

    def _check_alive(self) -> None:
        """Say so if no head can run; give up if that lasts.

        Raises:
            HarnessError: It has lasted too long.
        """
        alone = time.monotonic() - self._alive_at
        if alone > (START_SECONDS if self._grows else ALONE_SECONDS):
            raise HarnessError(
                f"no process has run on the Ray cluster for {alone:.0f} s; it may be busy: "
                f"{what_there_is(self._nodes)}. All answers so far "
                "are kept; the same command continues."
            )
        if alone < REMIND_SECONDS:
            self._told = False
        elif not self._told:
            self._told = True
            has = what_there_is(self._nodes)
            _LOG.warning("No process has started on the Ray cluster for %.0f s; it may be busy: %s.", alone, has)

    def _stop(self) -> None:
        """End all heads, which end their replicas; first in order, so that leases are given back."""
        import ray

        heads = [head for work in self._models for head in work.heads if head.actor is not None]
        for head in heads:
            head.actor.stop.remote()
        joined = [head.running for head in heads if head.joined]
        if joined:
            ray.wait(joined, num_returns=len(joined), timeout=STOP_SECONDS)
        for head in heads:
            _kill(head.actor)


def _how_it_ended(running: Any) -> str:
    """Return what happened to a head whose ``run`` has returned; empty if nothing was left for it."""
    import ray
    from ray.exceptions import RayActorError, RayTaskError

    try:
        refused = ray.get(running, timeout=POLL_SECONDS)
    except RayTaskError as error:
        return f"failed: {type(error.cause).__name__}: {error.cause} (a bug in the harness or in a plugin)"
    except RayActorError as error:
        return f"died ({death_reason(error)})"
    except Exception as error:  # Ray has many ways to say that an actor is gone
        return f"was lost ({type(error).__name__})"
    return f"stopped: {refused}" if refused else ""


def _kill(actor: Any) -> None:
    import ray

    if actor is None or not ray.is_initialized():  # Ray would start a cluster of its own on this machine
        return
    try:
        ray.kill(actor)
    except Exception as error:  # it is gone already
        _LOG.debug("%s", error)
