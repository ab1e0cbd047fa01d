"""Sets of metrics and perturbations in YAML files."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.contracts.plugins import Kind
from harness.errors import PluginError, SpecError
from harness.plugins.index import read_yaml
from harness.plugins.registry import Registry, default_registry
from harness.plugins.set_file import load_set_file

SETS = """\
source: Somebody 2020
perturbation_sets:
  noisy: {members: ["typos:prob=0.5", lowercase], doc: Typos and lower case.}
metric_sets:
  short: {members: [exact_match], doc: One metric., source: Somebody else 2021}
"""


def _file(folder: Path, text: str) -> Path:
    path = folder / "sets.yaml"
    path.write_text(text)
    return path


def test_sets_of_a_file_can_be_used_like_built_in_ones(tmp_path: Path) -> None:
    registry = default_registry([_file(tmp_path, SETS)])
    assert registry.expand(Kind.PERTURBATION, "noisy") == ["typos", "lowercase"]
    noisy, short = registry.get(Kind.PERTURBATION, "noisy"), registry.get(Kind.METRIC, "short")
    assert (noisy.members, noisy.doc, noisy.source) == (
        ("typos:prob=0.5", "lowercase"),
        "Typos and lower case.",
        "Somebody 2020",
    )
    assert (short.target, short.members, short.source) == (None, ("exact_match",), "Somebody else 2021")
    assert registry.summaries(Kind.METRIC)["short"] == "= exact_match"


def test_the_index_reads_them_without_loading_them(tmp_path: Path) -> None:
    listings = read_yaml(SETS.encode())
    assert listings is not None
    assert [(one.kind, one.name, one.summary) for one in listings] == [
        (Kind.METRIC, "short", "= exact_match"),
        (Kind.PERTURBATION, "noisy", "= typos:prob=0.5, lowercase"),
    ]


@pytest.mark.parametrize(
    ("wrong", "line", "words"),
    [
        ("metric_sets:\n  short: {members: [], doc: None.}\n", 2, "members"),
        ("metric_sets:\n  short:\n    members: [exact_match]\n", 2, "doc"),
        ("metric_sets:\n  short:\n    doc: x\n    members: [exact_match]\n    meta: 1\n", 5, "meta"),
        ("perturbation_sets: 7\n", 1, "perturbation_sets"),
    ],
)
def test_errors_have_file_and_line(tmp_path: Path, wrong: str, line: int, words: str) -> None:
    path = _file(tmp_path, wrong)
    with pytest.raises(SpecError) as caught:
        load_set_file(path)
    assert f"{path}:{line}:" in str(caught.value)
    assert words in str(caught.value)
    registry = Registry()
    registry.load_path(path)
    assert [f"{path}:{line}:" in problem.reason for problem in registry.problems] == [True]
    with pytest.raises(PluginError):
        registry.get(Kind.METRIC, "short")
