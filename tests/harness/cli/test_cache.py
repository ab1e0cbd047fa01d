"""``harness cache``: what is shown, what is removed and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.cache import cache_command
from harness.contracts import Response
from harness.errors import DataError, StorageError
from harness.inference.cache import ResponseCache
from harness.inference.cache_entries import asked_model, pack_response
from harness.inference.cache_file import FILE_NAME
from harness.inference.segments import ANSWERS_FOLDER, Entry, SegmentWriter
from harness.runs.claims import Claims


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
    assert "3 answers of 1 model would be removed; use --yes" in said
    assert count(results) == 5
    assert "3 answers of 1 model removed." in call("prune", "--results-dir", results, "-m", "hf:*", "--yes")
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


# ---------------------------------------------------------------------------------------------------------------
# Segments


def leave_segments(results: Path) -> None:
    """Leave what two heads have answered of a model that the cache knows."""
    for head, numbers in (("a", range(4)), ("b", range(2, 6))):
        writer = SegmentWriter(results / ANSWERS_FOLDER, head, asked_model("fake:0", {"name": "fake:0"}))
        value = pack_response(Response(logprobs=(-2.0,)))
        writer.write([Entry(number.to_bytes(16, "big"), 0, value) for number in numbers])
        writer.close()


def test_merge_adds_what_heads_have_left(results: Path) -> None:
    assert "0 answers read from segments, 0 added to the cache; 0 segments" in call("merge", "--results-dir", results)
    leave_segments(results)
    told = "8 answers in 2 segments may be missing above; `harness cache merge` adds them."
    assert told in call("stats", "--results-dir", results)
    said = call("merge", "--results-dir", results)
    assert said == "8 answers read from segments, 6 added to the cache; 2 segments removed, 0 left.\n"
    assert count(results) == 11
    assert "missing above" not in call("stats", "--results-dir", results)


def test_a_cache_elsewhere_gets_a_copy(results: Path, tmp_path: Path) -> None:
    leave_segments(results)
    said = call("merge", "--results-dir", results, "--cache-dir", tmp_path)
    assert said == "8 answers read from segments, 6 added to the cache; 0 segments removed, 2 left.\n"
    assert count(tmp_path) == 6


def test_without_a_cache_it_is_said_that_answers_wait(results: Path) -> None:
    leave_segments(results)
    (results / FILE_NAME).unlink()
    with pytest.raises(DataError, match=r"2 segments of answers .* Run harness cache merge first"):
        call("stats", "--results-dir", results)
    call("merge", "--results-dir", results)
    assert count(results) == 6


@pytest.mark.parametrize("command", [("prune", "-m", "fake:*", "--yes"), ("export",)])
def test_what_is_removed_or_exported_is_merged_first(results: Path, command: tuple[str, ...]) -> None:
    leave_segments(results)
    said = call(*command, "--results-dir", results)
    call("merge", "--results-dir", results)
    if command[0] == "export":
        assert said.count('"response"') == 11
    else:
        assert "8 answers of 1 model removed." in said
        assert count(results) == 3


def test_another_process_that_merges_is_named(results: Path) -> None:
    leave_segments(results)
    with Claims(results) as other:
        other.acquire("merge")
        with pytest.raises(StorageError, match=r"process .* is merging the answers in .*; wait until it has finished"):
            call("merge", "--results-dir", results)
