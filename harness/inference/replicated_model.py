"""A model whose weights are in replicas: what is known without them is asked here, requests are answered there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.contracts import Determinism, Model, Prompt, Request, Response
from harness.contracts.messages import Tool
from harness.contracts.specs import Component
from harness.costs.graphics_cards import visible_devices
from harness.errors import ModelError, shown
from harness.inference.model_pool import load_model
from harness.inference.parts import BLOCK
from harness.inference.process_replica import local_replica
from harness.inference.replica_pool import ReplicaPool
from harness.inference.replicas import Facts, Launch, ModelSource
from harness.plugins.registry import Registry

_EXACT = "float32"
"""The precision in which another kind of graphics card gives the same answers up to rounding of the last digits."""


def replicated(
    component: Component, registry: Registry, replicas: int, gpus: int = 0, plugins: Sequence[Path] = ()
) -> ReplicatedModel:
    """Return a model with replicas in processes of this machine, each with graphics cards of its own.

    Args:
        component: The model's name and arguments.
        registry: Knows the backends.
        replicas: Number of replicas, at least 1.
        gpus: Graphics cards of each replica; 0 for all to see what this process sees.
        plugins: Plugin files beyond those of installed packages.

    Raises:
        ModelError: There are too few graphics cards, or the model is not one for replicas.
        HarnessError: There is no such backend or model.
    """
    head = load_model(component, registry)
    cards = visible_devices()
    if gpus and replicas * gpus > len(cards):
        raise ModelError(
            f"{component.name}: {replicas} replicas with {gpus} GPUs each need {replicas * gpus}, but this machine has "
            f"{len(cards)}."
        )
    threads = str(max(1, int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1) // replicas))
    source = ModelSource(component, tuple(plugins), {"OMP_NUM_THREADS": threads})
    launches = []
    for number in range(replicas):
        own = ",".join(cards[number * gpus : (number + 1) * gpus])
        chosen = {"CUDA_VISIBLE_DEVICES": own} if gpus else {}
        label = f"GPU {own}" if gpus else f"process {number}"
        launches.append(local_replica(replace(source, environment={**source.environment, **chosen}), label))
    return ReplicatedModel(head, component.name, launches)


class ReplicatedModel(Model):
    """A model that is answered by replicas.

    Attributes:
        pool: The replicas; they may join and leave at any time.

    Args:
        head: The model, opened here; its weights are never loaded.
        name: Its name, for messages.
        launches: What starts each replica.
        elsewhere: True if replicas may have other graphics cards than this process.

    Raises:
        ModelError: The model is not one for replicas.
    """

    look_ahead = BLOCK

    def __init__(self, head: Model, name: str, launches: Iterable[Launch], *, elsewhere: bool = False) -> None:
        if type(head).keep_spending is not Model.keep_spending:
            raise ModelError(f"{name} is answered by a server, which has replicas of its own; remove `replicas`.")
        self.pool = ReplicaPool(name, launches, check=self._difference)
        self._head, self._name, self._elsewhere = head, name, elsewhere
        self._fingerprint: Mapping[str, Any] | None = None
        # Facts of its class, which differ from model to model.
        vars(self).update(
            {key: getattr(head, key) for key in ("answers", "gives_logprobs", "operational", "cacheable")}
        )
        self.honours = head.honours

    @property
    def capacity(self) -> int:
        return self.pool.room

    @property
    def window(self) -> int | None:
        return self._head.window

    @property
    def chat(self) -> bool:
        return self._head.chat

    @property
    def tools(self) -> bool:
        return self._head.tools

    @property
    def determinism(self) -> Determinism:
        return self._head.determinism

    @property
    def continues(self) -> bool:
        return self._head.continues

    @property
    def scores(self) -> bool:
        return self._head.scores

    def obstacle(self, asks: frozenset[str]) -> str | None:
        return self._head.obstacle(asks)

    def fingerprint(self) -> Mapping[str, Any]:
        if self._fingerprint is None:
            known = _as_json(self._head.fingerprint())
            # In 16 bits the kind of card decides answers, and only a replica knows its own.
            if self._elsewhere and known.get("dtype", _EXACT) != _EXACT:
                known = _as_json(self.pool.ready().fingerprint)
            self._fingerprint = known
        return self._fingerprint

    def description(self) -> Mapping[str, Any]:
        known = dict(self._head.description())
        facts = self.pool.facts()
        if not facts:
            return known
        described = [one.description for one in facts]
        known = {**known, **described[0]}
        if devices := sorted({str(one["device"]) for one in described if "device" in one}):
            known["device"] = ", ".join(devices)
        if any("devices" in one for one in described):
            known["devices"] = sum(one.get("devices", 1) for one in described)
        known["workers"] = self.pool.workers()
        return known

    def gpu_joules(self) -> float | None:
        if not self._elsewhere:
            return None  # this process sees the same cards
        joules = self.pool.joules()
        if joules is None and self.pool.facts():
            raise LookupError("no replica can measure energy")
        return joules or 0.0

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        return self.pool.answer(requests)

    def most_generated(self, max_tokens: int) -> int:
        return self._head.most_generated(max_tokens)

    def rendered(self, prompt: Prompt, tools: tuple[Tool, ...] = ()) -> str | None:
        return self._head.rendered(prompt, tools)

    def count_tokens(self, prompt: Prompt) -> int:
        return self._head.count_tokens(prompt)

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        return self._head.count_segments(segments)

    def truncate(self, text: str, tokens: int) -> str:
        return self._head.truncate(text, tokens)

    def close(self) -> None:
        self.pool.close()
        self._head.close()

    def _difference(self, facts: Facts) -> str | None:
        """Return how a replica's model differs from this one; None if it does not."""
        ours, theirs = self._fingerprint or _as_json(self._head.fingerprint()), _as_json(facts.fingerprint)
        ignored = {"gpu"} if self._elsewhere and self._fingerprint is None else set()
        for key in sorted((ours.keys() | theirs.keys()) - ignored):
            if ours.get(key) != theirs.get(key):
                return f"{key} is {shown(theirs.get(key))} there and {shown(ours.get(key))} here."
        return None


def _as_json(value: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(dict(value)))
    return found
