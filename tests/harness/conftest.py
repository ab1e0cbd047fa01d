"""A registry of toy plugins, sweeps loaded with it, and a browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from harness.plugins.registry import Registry
from harness.sweeps.load import Sweep, load_sweep

CHROMIUM = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, one for all tests of a process: Playwright can be started only once in it."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def toy_plugins() -> Path:
    """The file with one plugin of each kind."""
    return Path(__file__).with_name("toy_plugins.py")


@pytest.fixture
def toy_registry(toy_plugins: Path) -> Registry:
    """A registry that knows the toy plugins and nothing else."""
    registry = Registry()
    registry.load_path(toy_plugins)
    registry.load_path(toy_plugins.with_name("toy_sets.yaml"))
    assert registry.problems == []
    return registry


@pytest.fixture
def load(tmp_path: Path, toy_registry: Registry) -> Callable[..., Sweep]:
    """Load a sweep from its text, indented or not, as the file ``sweep.yaml`` of the test's folder."""

    def _load(text: str, **overrides: Any) -> Sweep:
        path = tmp_path / "sweep.yaml"
        path.write_text(dedent(text), encoding="utf-8")
        return load_sweep(path, registry=toy_registry, **overrides)[0]

    return _load
