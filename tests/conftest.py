"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# On a busy machine a slow example is no failure. Where everyone's work waits for the tests, they try the same examples
# every time; elsewhere they look for new ones.
settings.register_profile("looking", deadline=None)
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same" if os.environ.get("CI") else "looking")

# What a shell starts in the background ignores interrupts, and so does all that it starts; tests interrupt theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests, and all processes that they start, a cache folder of their own."""
    if not hasattr(config, "workerinput"):  # the workers of xdist share the folder of the process that starts them
        folder = tempfile.TemporaryDirectory(prefix="harness-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ["XDG_CACHE_HOME"] = folder.name


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets in their official formats, where the machine has one."""
    return _folder("HARNESS_DATA_DIR", "real data sets")


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The folder of small real checkpoints, where the machine has one."""
    return _folder("HARNESS_MODELS_DIR", "real checkpoints")


def _folder(variable: str, what: str) -> Path:
    value = os.environ.get(variable)
    if not value or not Path(value).is_dir():
        pytest.skip(f"{variable} names no folder of {what}")
    return Path(value)
