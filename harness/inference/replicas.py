"""Replicas: copies of a model in other processes or on other machines, as a pool of them sees each.

A transport starts replicas and carries requests to them; there is one for processes of this machine
(:mod:`.process_replica`) and one for Ray (:mod:`.ray_replica`)::

    pool ── send(part) ──► replica          requests, 512 at most
         ◄── events ─────                   Facts; Begun, Answers (64 at most), Used, Done for each part; …

Nothing here waits: ``send``, ``ping`` and ``close`` return at once, and all that is to be known comes as an event.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from harness.contracts import Model, Request, Response
from harness.contracts.specs import Component

Numbered = tuple[int, Request]
"""A request with its number."""

MOST_ANSWERS = 64
"""Answers that a replica holds before it sends them: those are lost if it is killed."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """How a replica opens its model; it is pickled."""

    component: Component
    """The model's name and arguments."""
    plugins: tuple[Path, ...] = ()
    """Plugin files beyond those of installed packages."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set before the model is opened, such as ``CUDA_VISIBLE_DEVICES``."""
    directory: Path | None = None
    """The folder in which relative paths begin; None for that of the process."""

    def open(self) -> Model:
        """Return the model, its weights not loaded; sets the process's variables and folder.

        Raises:
            HarnessError: There is no such backend or model.
        """
        from harness.inference.model_pool import load_model
        from harness.plugins.registry import default_registry

        os.environ.update(self.environment)
        if self.directory is not None:
            os.chdir(self.directory)
        return load_model(self.component, default_registry(self.plugins))


@dataclass(frozen=True, slots=True)
class Facts:
    """The replica is ready for requests; sent again if its description changes when the weights are loaded."""

    fingerprint: Mapping[str, Any]
    """What decides the model's answers, where the replica is."""
    description: Mapping[str, Any]
    """What the model says of itself there."""
    worker: Mapping[str, Any]
    """The process and its machine, as JSON values: ``host``, ``pid``, ``device``, ``gpus``, ``driver``, …"""


@dataclass(frozen=True, slots=True)
class Begun:
    """The model has taken the first request of a part."""

    part: int
    """The part's number."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Some of a part's answers."""

    part: int
    """The part's number."""
    answers: Sequence[tuple[int, Response]]
    """Each with the number of its request."""


@dataclass(frozen=True, slots=True)
class Done:
    """A part is answered."""

    part: int
    """The part's number."""


@dataclass(frozen=True, slots=True)
class Used:
    """Energy that was used since the last such event, sent before the last answers of each part."""

    joules: float
    """Joules of the replica's graphics cards."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The model cannot be loaded, or cannot answer at all; the replica has dropped its parts."""

    message: str
    """What the ModelError said."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The model raised something else; the replica has dropped its parts."""

    trace: str
    """The traceback."""


@dataclass(frozen=True, slots=True)
class Dead:
    """The replica has ended and must be replaced."""

    reason: str
    """What happened to it, to follow its label: ``was killed by SIGKILL``."""
    blameless: bool = False
    """True if no request can be the cause, such as when a whole node is gone."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The replica cannot be reached now, perhaps later; its parts are lost."""

    reason: str
    """Why."""


@dataclass(frozen=True, slots=True)
class Pong:
    """The replica lives: the answer to a ping."""


Event = Facts | Begun | Answers | Used | Done | Refused | Failed | Dead | Unavailable | Pong
"""What a replica reports."""

Post = Callable[[Event], None]
"""Takes a replica's events, on any thread; it never waits. After ``Dead`` there are none."""


class Replica(Protocol):
    """A copy of the model that has been started, perhaps not ready yet."""

    @property
    def label(self) -> str:
        """What messages call it: the machine, if it is another one, and the device."""

    def send(self, part: int, requests: Sequence[Numbered]) -> None:
        """Let it answer a part; sent before :class:`Facts`, the part waits there."""

    def stored(self, answers: int) -> None:
        """Say that that many more of its answers have been taken in and stored; it may then have more on the way."""

    def ping(self) -> None:
        """Ask for a :class:`Pong`, which comes even while the model works."""

    def close(self) -> None:
        """End it; may be called more than once, also when it has died."""

    def join(self, seconds: float) -> None:
        """Wait until it has ended after :meth:`close`; if that takes longer than some seconds, kill it."""


Launch = Callable[[Post], Replica]
"""Starts a replica, or another one in its place, whose events go to the given function."""
