"""Where a result comes from: versions, host and the code's state."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

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


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
