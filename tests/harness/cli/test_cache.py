"""``harness cache``: what is shown, what is removed and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.cache import cache_command
from harness.contracts import Response
from harness.errors import DataError, StorageError
from harness.inference.cache import FILE_NAME, ResponseCache


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder of results with answers of two models and no run."""
    cache = ResponseCache(tmp_path / "results" / FILE_NAME)
    for name, count in (("hf:abc", 3), ("fake:0", 2)):
        model = cache.asked(name, {"name": name})
        cache.put(model, [(f"{name}-{number}".encode(), Response(logprobs=(-1.0,))) for number in range(count)])
    cache.close()
    return tmp_path / "results"


def call(*arguments: str | Path) -> str:
    result = CliRunner().invoke(cache_command, list(map(str, arguments)), catch_exceptions=False, standalone_mode=False)
    return result.output


def count(folder: Path) -> int:
    cache = ResponseCache(folder / FILE_NAME)
    try:
        return len(cache)
    finally:
        cache.close()


def test_stats_show_each_model(results: Path) -> None:
    lines = call("stats", "--results-dir", results).splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["hf:abc", "3"], ["fake:0", "2"]]
    assert lines[-1].startswith(f"5 answers of 2 models; {results / FILE_NAME} has ")


def test_prune_removes_only_when_it_is_told_so(results: Path) -> None:
    said = call("prune", "--results-dir", results, "-m", "hf:*")
    assert "3 answers of 1 models would be removed; use --yes" in said
    assert count(results) == 5
    assert "3 answers of 1 models removed." in call("prune", "--results-dir", results, "-m", "hf:*", "--yes")
    assert count(results) == 2


def test_orphans_are_what_no_run_asked(results: Path) -> None:
    assert "5 answers of 2 models removed." in call("prune", "--results-dir", results, "--orphaned", "--yes")


def test_prune_wants_to_be_told_what(results: Path) -> None:
    result = CliRunner().invoke(cache_command, ["prune", "--results-dir", str(results)])
    assert result.exit_code == 2
    assert "say what to remove" in result.output


def test_an_export_is_imported_elsewhere(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    call("export", "--results-dir", results, "-o", file)
    assert file.read_text().strip() == call("export", "--results-dir", results).strip()
    said = call("import", "--results-dir", tmp_path / "elsewhere", file, results / FILE_NAME)
    assert said.splitlines() == [
        f"{file}: 5 answers added, 0 were already there.",
        f"{results / FILE_NAME}: 0 answers added, 5 were already there.",
    ]
    assert count(tmp_path / "elsewhere") == 5


def test_mistakes_are_messages(results: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no response cache .*nothing/responses\.sqlite"):
        call("stats", "--results-dir", tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(StorageError, match="cannot be written"):
        call("export", "--results-dir", results, "-o", tmp_path / "no" / "folder")
