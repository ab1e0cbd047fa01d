"""Where a result comes from: versions, host and the code's state."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness.errors import PluginError
from harness.plugins import Kind
from harness.registry import Registry
from harness.specs import RunSpec

PACKAGES = ("holistic-harness", "torch", "transformers", "tokenizers", "datasets", "vllm", "numpy", "scipy", "pydantic")


def now() -> str:
    """Return the time in UTC, ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def environment() -> dict[str, Any]:
    """Return the versions of what takes part in a run, and the machine it runs on."""
    return {
        "versions": {"python": platform.python_version(), **_versions()},
        "host": {
            "name": platform.node(),
            "system": f"{platform.system()} {platform.release()}",
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
        },
        "command": [os.path.basename(sys.argv[0]), *sys.argv[1:]],
    }


def definitions(spec: RunSpec, registry: Registry) -> dict[str, str]:
    """Return the SHA-256 of the file that defines each plugin that a run uses; of a missing plugin, nothing."""
    used = [(Kind.SCENARIO, spec.scenario), (Kind.ADAPTER, spec.adapter)]
    used += [(Kind.PERTURBATION, part) for part in spec.perturbations]
    used += [(Kind.METRIC, part) for part in spec.metrics]
    found = {}
    for kind, part in used:
        try:
            file = registry.get(kind, part.name).file
        except PluginError:
            continue
        if file is not None and file.is_file():
            found[f"{kind} {part.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
