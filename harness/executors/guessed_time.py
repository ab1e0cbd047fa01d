"""A guess how long runs take, where nothing has been measured yet; it decides when replicas start, and no answer."""

from __future__ import annotations

from harness.contracts.specs import RunSpec

LOADING_SECONDS = 60.0
"""Seconds until a replica gives its first answer: an 8B model from a fast disk, and a new process."""

INSTANCE_SECONDS = 0.05
"""Seconds for one instance on one replica: the scale of the guess; only its ratio to loading matters."""

DEFAULT_INSTANCES = 1000
"""Instances of a run that has no limit."""


def guessed_seconds(spec: RunSpec) -> float:
    """Return the seconds that one replica may take for a run."""
    copies = 1 + len(spec.perturbations)
    return (spec.max_eval_instances or DEFAULT_INSTANCES) * copies * INSTANCE_SECONDS
