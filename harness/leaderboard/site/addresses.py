"""Addresses of models, runs and scenarios, safe as file names and parts of links: readable, and unique."""

from __future__ import annotations

import hashlib
import re

from harness.contracts.specs import Component
from harness.leaderboard.columns import canonical
from harness.storage.results import RunRecord

READABLE_CHARACTERS = 40
"""Characters of the readable beginning."""


def address(name: str, identity: str | None = None) -> str:
    """Return a name as ``[a-z0-9.-]`` that ends in a hash, so that the addresses of any two names differ.

    It has no character with a meaning to a file system or a browser: no separator, no leading dot.

    Args:
        name: The name, of which the readable part is made.
        identity: The text to hash, if the name alone does not identify it.
    """
    readable = re.sub(r"[^a-z0-9.]+", "-", name[:400].lower())
    readable = re.sub(r"\.{2,}", ".", readable)[:READABLE_CHARACTERS].strip("-.")
    digest = hashlib.blake2b(
        (name if identity is None else identity).encode("utf-8", "surrogatepass"), digest_size=5
    ).hexdigest()
    return f"{readable}-{digest}" if readable else digest


def run_address(suite: str, name: str) -> str:
    """Return the address of a run from its suite and name."""
    return address(f"{name}/{suite}")


def address_of(run: RunRecord) -> str:
    """Return the address of a run."""
    return run_address(run.directory.parent.name, run.directory.name)


def model_address(model: Component) -> str:
    """Return the address of a model with its arguments."""
    name, _, rest = model.name.rpartition("/")
    return address(rest or name, canonical(model.model_dump(mode="json")))


def scenario_address(scenario: Component | str) -> str:
    """Return the address of a scenario, the same for all of its parameters."""
    return address(scenario if isinstance(scenario, str) else scenario.name)


def instance_key(instance: str, trial: int) -> str:
    """Return twelve hexadecimal digits for an instance, and after a dot the trial if it is not 0.

    The key is equal in all runs that asked about the instance in that trial.
    """
    digest = hashlib.blake2b(instance.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{digest}.{trial}" if trial else digest
