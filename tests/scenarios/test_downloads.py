"""The files that scenarios can be downloaded as are those at hand, and all that their scenarios need."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness import Download
from harness.contracts.plugins import ScenarioDetails
from harness.plugins.registry import Registry
from tests.scenarios.conftest import read_from

ARGUMENTS: Mapping[str, Mapping[str, str]] = {"instruct": {"subset": "koala"}, "winobias": {"sentences": "type1"}}
"""Parameters without a default."""

NAMES = (
    "bold",
    "crows_pairs",
    "instruct",
    "lsat_qa",
    "mt_bench",
    "natural_qa_open_book",
    "nfcorpus",
    "winobias",
    "winogender",
    "xstest",
)


def content_at_hand(download: Download, data_dir: Path) -> bytes | None:
    """Return the content of a download from the folder of real data, wherever it is there."""
    names = {Path(download.file).name, Path(download.url).name}
    for path in data_dir.rglob("*"):
        if path.is_file() and path.stat().st_size <= download.bytes:
            content = path.read_bytes() if path.stat().st_size == download.bytes else b""
            if not content and path.suffix == ".gz" and path.stem in names:
                content = gzip.decompress(path.read_bytes())
            if hashlib.sha256(content).hexdigest() == download.sha256:
                return content
    return None


def test_the_scenarios_with_downloads_are_tested(built_in: Mapping[str, ScenarioDetails]) -> None:
    assert {name for name, details in built_in.items() if details.data.downloads} == set(NAMES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "nfcorpus" else name for name in NAMES]
)
def test_a_scenario_can_be_read_from_its_downloads_alone(
    name: str, built_in: Mapping[str, ScenarioDetails], registry: Registry, data_dir: Path, tmp_path: Path
) -> None:
    arguments = ARGUMENTS.get(name, {})
    for download in built_in[name].data.downloads:
        content = content_at_hand(download, data_dir)
        assert content is not None, f"{download.file} is not among the real data"
        assert (len(content), hashlib.sha256(content).hexdigest()) == (download.bytes, download.sha256)
        assert download.url.startswith("https://raw.githubusercontent.com/")
        place = tmp_path / download.file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    found = [instance.id for instance in read_from(registry, tmp_path, name, arguments)]
    assert found == [instance.id for instance in read_from(registry, data_dir, name, arguments)]
    assert found
