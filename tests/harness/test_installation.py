"""What is advised to be installed can be installed: the libraries themselves, as the package's metadata name them."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import shlex
import sys
import threading
import time
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from harness import install_advice
from harness.contracts.plugins import BackendDetails, Kind
from harness.installation import imported_module
from harness.plugins.registry import default_registry

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", ["hf", "hf-large", "hub", "openai", "anthropic", "vllm"])
def test_the_libraries_of_an_extra_are_named(extra: str) -> None:
    install_advice.cache_clear()
    pip, install, *wanted = shlex.split(install_advice(extra))
    assert (pip, install) == ("pip", "install")
    assert {one for one in EXTRAS[extra] if "[" not in one} <= set(wanted)
    assert not any(one.startswith("holistic-harness") for one in wanted)


def test_without_metadata_the_source_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", absent)
    install_advice.cache_clear()
    assert install_advice("hf") == "pip install -e '.[hf]' in the harness's source folder"
    install_advice.cache_clear()


def test_no_message_advises_the_harness_from_an_index() -> None:
    folders = ("harness", "metrics", "adapters", "scenarios")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    wrong = [str(file) for file in files if re.search(r"install[^\n]*holistic-harness\[", file.read_text())]
    assert not wrong
    registry = default_registry()
    for name in registry.names(Kind.BACKEND):
        details = registry.get(Kind.BACKEND, name).details
        assert isinstance(details, BackendDetails)
        assert "holistic-harness" not in details.install
        assert not details.needs or details.install.startswith("pip install ")


def test_a_module_that_a_thread_is_importing_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_to_import.py").write_text(
        "import threading\ngo_on = threading.Event()\ngo_on.wait(60)\nready = True\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert imported_module("slow_to_import") is None
    importing = threading.Thread(target=importlib.import_module, args=("slow_to_import",))
    importing.start()
    while (module := sys.modules.get("slow_to_import")) is None or not hasattr(module, "go_on"):
        time.sleep(0.001)
    try:
        assert imported_module("slow_to_import") is None
    finally:
        module.go_on.set()
        importing.join()
    assert imported_module("slow_to_import").ready
    del sys.modules["slow_to_import"]
