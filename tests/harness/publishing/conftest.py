"""A Hub on loopback that can be written to, the command line with a token for it, and results to publish."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest

from tests.harness.cli.conftest import SCENARIO, Harness, folder, harness
from tests.harness.exports.conftest import finished, results
from tests.hub_server import serve
from tests.hub_writes import WritableHub

__all__ = ["finished", "folder", "harness", "results"]

TOKEN = "hf_made_up_token_of_ada"  # noqa: S105 - of the loopback server

HUB = 'hub: {path: "made-up/quiz", revision: "%s", splits: {train: train, valid: validation}}' % ("a" * 40)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[WritableHub]:
    """The Hub, where the token belongs to ada."""
    with serve(WritableHub(owners={TOKEN: "ada"})) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.endpoint)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        # The library's newer way of uploading large files needs a server of its own.
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
        yield served


@pytest.fixture
def command(hub: WritableHub, harness: Harness, results: Path) -> Harness:
    """The command line in a folder with ``results`` and a scenario file that names a data set on the Hub."""
    Path("on_hub.yaml").write_text(
        SCENARIO.replace("source: {", f"source: {{{HUB}, ").replace("name: quiz", "name: quiz")
    )
    assert results == Path.cwd() / "results"
    return harness
