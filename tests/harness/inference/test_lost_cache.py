"""A response cache that disappears while it is in use, one on a network file system, and one elsewhere."""

from __future__ import annotations

import errno
import gzip
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness import Completion, Response
from harness.inference.cache import ResponseCache
from harness.inference.cache_file import FILE_NAME, CacheError, cache_file
from harness.storage.file_systems import NETWORK, file_system_type, network_file_system
from tests.harness.cli.conftest import Harness, folder, harness

__all__ = ["folder", "harness"]  # fixtures

MODEL = b"m" * 16


def answer(number: int) -> tuple[bytes, Response]:
    return f"key {number}".encode(), Response((Completion(f"answer {number}"),))


def keys(file: Path) -> set[bytes]:
    """Return what a process that comes later finds."""
    with closing(ResponseCache(file)) as again:
        return {found.key for found in again.answers()}


def delete(file: Path) -> None:
    file.unlink()


def delete_with_logs(file: Path) -> None:
    for one in file.parent.glob(f"{file.name}*"):
        one.unlink()


def delete_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def move_away(file: Path) -> None:
    file.rename(file.with_name("moved.sqlite"))


def replace_by_another(file: Path) -> None:
    delete_with_logs(file)
    with closing(ResponseCache(file)) as other:
        other.put(MODEL, [(b"of another", Response())])


def replace_by_no_database(file: Path) -> None:
    delete_with_logs(file)
    file.write_bytes(b"this is no database" * 1000)


LOSSES = [delete, delete_with_logs, delete_folder, move_away, replace_by_another, replace_by_no_database]


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("then", ["put", "close"])
def test_no_answer_is_lost_with_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, lose: Callable[[Path], None], then: str
) -> None:
    file = tmp_path / "results" / FILE_NAME
    cache = ResponseCache(file)
    cache.asked("fake:0", {"seed": "0"})
    cache.put(MODEL, [answer(number) for number in range(50)])
    lose(file)
    expected = {answer(number)[0] for number in range(50)}
    if then == "put":
        cache.put(MODEL, [answer(50)])
        expected.add(answer(50)[0])
        assert cache.get([answer(7)[0], answer(50)[0]]).keys() == {answer(7)[0], answer(50)[0]}
    cache.close()
    if lose is replace_by_another:
        expected.add(b"of another")
    assert keys(file) == expected
    with closing(ResponseCache(file)) as again:
        assert [model.name for model in again.models()] == ["fake:0"]
    what = "replaced" if lose in (replace_by_another, replace_by_no_database) else "deleted"
    told = [message for message in caplog.messages if "while it was in use" in message]
    assert told == [
        f"The response cache {file} was {what} while it was in use. Its 50 answers have been written again."
    ]


def test_two_that_lose_the_same_file_end_with_all_answers(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    one, other = ResponseCache(file), ResponseCache(file)
    one.put(MODEL, [answer(1)])
    other.put(MODEL, [answer(2)])
    delete_with_logs(file)
    one.put(MODEL, [answer(3)])
    other.put(MODEL, [answer(4)])
    one.put(MODEL, [answer(5)])
    other.close()
    one.put(MODEL, [answer(6)])
    one.close()
    assert keys(file) == {answer(number)[0] for number in range(1, 7)}


def test_a_file_that_cannot_be_written_again_stops_the_sweep(harness: Harness, folder: Path) -> None:
    (folder / "deletes.py").write_text(
        '"""A metric that deletes the response cache and puts a folder in its place."""\n\n'
        "from pathlib import Path\n\nfrom harness import Example, metric\n\n\n"
        '@metric("deletes", category="accuracy", source="Made up.")\n'
        "def deletes(example: Example) -> float:\n"
        '    """Delete the response cache."""\n'
        f"    file = Path({str(folder / 'results' / FILE_NAME)!r})\n"
        "    if file.is_file():\n        file.unlink()\n        file.mkdir()\n    return 1.0\n"
    )
    entry = "{scenario: quiz, metrics: [exact_match, deletes]}"
    (folder / "sweep.yaml").write_text(
        f"suite: small\nplugins: [./quiz.yaml, ./deletes.py]\nmodels: ['fake:0']\nruns: [{entry}]\n"
    )
    said = harness("run", "sweep.yaml")
    assert said.code == 2
    assert "while it was in use, and cannot be written again" in said.err


# ---------------------------------------------------------------------------------------------------------------
# Where it came from


def test_a_run_says_how_many_of_its_answers_were_imported(harness: Harness, folder: Path) -> None:
    assert harness("run", "-r", "quiz", "-m", "fake:0", "--plugin", "quiz.yaml").code == 0
    harness("cache", "export", "-o", "answers.jsonl")
    forged = (folder / "answers.jsonl").read_text().replace('"text":"', '"text":"POISON ')
    (folder / "forged.jsonl").write_text(forged)
    said = harness("cache", "import", "forged.jsonl", "--results-dir", "second")
    assert "20 answers added" in said.out
    stats = harness("cache", "stats", "--results-dir", "second").out
    assert "20 answers imported from forged.jsonl on " in stats
    digest = stats.partition("SHA-256 ")[2][:64]
    assert harness("run", "-r", "quiz", "-m", "fake:0", "--plugin", "quiz.yaml", "--results-dir", "second").code == 0

    def provenance(results: str) -> object:
        (file,) = (folder / results).glob("*/*/run.json")
        return json.loads(file.read_text())["provenance"]["imported_answers"]

    assert provenance("results") == {}
    assert provenance("second") == {digest: 20}
    (file,) = (folder / "second").glob("*/*/examples.jsonl.gz")
    lines = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert {response["imported"] for line in lines for response in line["responses"]} == {digest}


# ---------------------------------------------------------------------------------------------------------------
# On a network


def test_local_file_systems_are_not_taken_for_networks(tmp_path: Path) -> None:
    assert network_file_system(tmp_path) is None
    assert network_file_system(tmp_path / "not" / "yet") is None


def test_on_a_network_file_system_there_is_no_write_ahead_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """This machine's own file system is counted as a network's; what follows from that is real."""
    kind = file_system_type(tmp_path)
    if kind is None:
        pytest.skip("only Linux says what kind of file system a path is on")
    file = tmp_path / FILE_NAME
    with closing(ResponseCache(file)) as before:
        before.put(MODEL, [answer(0)])
    assert caplog.messages == []
    monkeypatch.setitem(NETWORK, kind, "NFS")
    with closing(ResponseCache(file)) as one, closing(ResponseCache(file)) as other:
        for number in range(1, 10, 2):
            one.put(MODEL, [answer(number)])
            other.put(MODEL, [answer(number + 1)])
        assert one.ask("PRAGMA journal_mode") == [("delete",)]
        assert not list(tmp_path.glob("*-wal"))
        assert len(one) == len(other) == 11
    assert "is on a network file system (NFS)" in caplog.messages[0]
    assert "--cache-dir" in caplog.messages[0]
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


# ---------------------------------------------------------------------------------------------------------------
# In a folder of its own


def test_the_cache_has_a_folder_of_its_own_where_one_is_named(
    harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARNESS_CACHE_DIR", raising=False)
    assert cache_file(Path("results")) == Path("results") / FILE_NAME
    run = ("run", "-r", "quiz", "-m", "fake:0", "--plugin", "quiz.yaml")
    assert harness(*run, "--cache-dir", "local").code == 0
    assert (folder / "local" / FILE_NAME).is_file()
    assert not (folder / "results" / FILE_NAME).exists()
    assert "20 answers of 1 model; local/responses.sqlite has" in harness("cache", "stats", "--cache-dir", "local").out
    monkeypatch.setenv("HARNESS_CACHE_DIR", "local")
    assert cache_file(Path("results")) == Path("local") / FILE_NAME
    assert "20 answers" in harness("cache", "stats").out
    assert harness(*run, "--results-dir", "second").code == 0
    assert not (folder / "second" / FILE_NAME).exists()
    (file,) = (folder / "second").glob("*/*/run.json")
    assert json.loads(file.read_text())["efficiency"]["cached_queries"] == 20


def test_scoring_again_finds_a_judges_answers_in_the_named_folder(
    harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARNESS_CACHE_DIR", raising=False)
    (folder / "sweep.yaml").write_text(
        "suite: judged\nplugins: [./quiz.yaml]\nmodels: ['fake:0']\nruns: [{scenario: quiz, metrics: "
        "[exact_match, {name: toxicity, judge: {name: llm, model: {name: 'fake:1', log: asked}}}]}]\n"
    )
    said = harness("run", "sweep.yaml", "--cache-dir", "local")
    assert said.code == 0, said.err
    (run,) = (folder / "results" / "judged").iterdir()
    asked = (folder / "asked").read_text()
    assert harness("score", str(run), "--cache-dir", "local").code == 0
    assert (folder / "asked").read_text() == asked
    assert not (folder / "results" / FILE_NAME).exists()


def test_a_folder_that_may_not_be_written_is_not_taken_for_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))

    monkeypatch.setattr(Path, "mkdir", forbidden)
    with pytest.raises(CacheError, match=r"cannot be written \(.*Permission denied") as caught:
        ResponseCache(tmp_path / "results" / FILE_NAME)
    assert "disk is full" not in str(caught.value)
