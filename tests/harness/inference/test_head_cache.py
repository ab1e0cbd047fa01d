"""A head's cache: it knows what others answered before, and what it answers is in segments at once."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from harness import Completion, GenerateRequest, Request, Response
from harness.contracts import Model
from harness.inference import head_cache as head_cache_module
from harness.inference.cache import ResponseCache
from harness.inference.cache_file import FILE_NAME, CacheFile
from harness.inference.caching_model import CachingModel
from harness.inference.head_cache import HeadCache
from harness.inference.merging import MERGE_LEASE, SegmentMerger
from harness.inference.segments import ANSWERS_FOLDER, OPEN, segment_files
from harness.models.offline.fake import FakeModel
from harness.runs.claims import Claims
from harness.storage import file_systems
from tests.harness.inference.test_merging import texts as merged

NAME, FINGERPRINT = "fake:0", {"seed": "0"}
Open = Callable[..., HeadCache]


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """A disk of the head's own machine."""
    return tmp_path / "local"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def head(results: Path, local: Path) -> Iterator[Open]:
    opened: list[HeadCache] = []

    def open_head(name: str = "head") -> HeadCache:
        opened.append(HeadCache(results, Claims(results), name, local))
        return opened[-1]

    yield open_head
    for one in opened:
        with suppress(Exception):
            one.close()


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def answer(number: int) -> tuple[bytes, Response]:
    return key(number), Response((Completion(f"answer {number}"),), prompt_tokens=3)


def found(cache: HeadCache, numbers: range) -> set[int]:
    answers = cache.get([key(number) for number in numbers])
    assert all((one.cached and one.completions == answer(0)[1].completions) or True for one in answers.values())
    for number, response in answers.items():
        assert response.completions == (Completion(f"answer {int.from_bytes(number, 'big')}"),)
        assert response.cached
    return {int.from_bytes(one, "big") for one in answers}


@pytest.mark.parametrize("count", [3, 2000])
def test_a_head_finds_its_own_answers(head: Open, results: Path, count: int) -> None:
    cache = head()
    model = cache.asked(NAME, FINGERPRINT)
    for number in range(count):
        cache.put(model, [answer(number)])
    assert found(cache, range(count + 5)) == {*range(count)}
    assert not (results / FILE_NAME).exists()


@pytest.mark.parametrize("state", ["open", "closed", "merged", "removed"])
def test_a_head_begins_with_what_others_have_answered(head: Open, results: Path, state: str) -> None:
    first = head("first")
    model = first.asked(NAME, FINGERPRINT)
    first.put(model, [answer(number) for number in range(50)])
    if state != "open":
        first.close()
    if state in ("merged", "removed"):
        with Claims(results) as claims:
            SegmentMerger(results, claims).merge(remove=state == "removed")
    second = head("second")
    second.asked(NAME, FINGERPRINT)
    assert found(second, range(60)) == {*range(50)}


@pytest.mark.parametrize("merge", [False, True])
def test_a_head_that_catches_up_finds_what_others_have_answered_since(head: Open, results: Path, merge: bool) -> None:
    first, second = head("first"), head("second")
    model = first.asked(NAME, FINGERPRINT)
    second.asked(NAME, FINGERPRINT)
    first.put(model, [answer(1)])
    assert found(second, range(5)) == set()
    second.catch_up()
    assert found(second, range(5)) == {1}
    first.put(model, [answer(2)])
    first.close()
    if merge:
        with Claims(results) as claims:
            SegmentMerger(results, claims).merge()
    second.catch_up()
    assert found(second, range(5)) == {1, 2}


def test_closed_segments_of_others_are_read_once(head: Open, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = head("first"), head("second")
    first.put(first.asked(NAME, FINGERPRINT), [answer(1)])
    first.close()
    second.asked(NAME, FINGERPRINT)
    monkeypatch.setattr(head_cache_module, "read_segment", lambda *_: pytest.fail("it was read again"))
    second.catch_up()
    assert found(second, range(5)) == {1}


def test_answers_of_other_models_are_not_loaded(head: Open, results: Path) -> None:
    first, second = head("first"), head("second")
    first.put(first.asked("fake:1", {"seed": "1"}), [answer(1)])
    second.asked(NAME, FINGERPRINT)
    assert found(second, range(5)) == set()


def test_the_local_files_are_removed_and_those_of_killed_heads_too(results: Path, local: Path, head: Open) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 2**22 + 1)
        head("killed")
    (left,) = local.iterdir()
    cache = head()
    (own,) = local.iterdir()
    assert own != left
    cache.close()
    assert list(local.iterdir()) == []


# ---------------------------------------------------------------------------------------------------------------
# On a network file system


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch, results: Path) -> None:
    """Pretend that the results folder is on Lustre."""

    def kind(path: Path) -> str | None:
        return "Lustre" if path.is_relative_to(results) else None

    monkeypatch.setattr("harness.inference.cache_file.network_file_system", kind)
    monkeypatch.setattr(head_cache_module, "network_file_system", kind)


def fill(results: Path, numbers: range) -> None:
    """Give another head's answers to the main cache."""
    with Claims(results) as claims, closing(HeadCache(results, claims, "filling")) as cache:
        cache.put(cache.asked(NAME, FINGERPRINT), [answer(number) for number in numbers])
        cache.close()  # before the merge
        SegmentMerger(results, claims).merge()


@pytest.mark.usefixtures("network")
def test_the_main_cache_on_a_network_file_system_is_copied_and_never_opened_by_a_head(
    head: Open, results: Path, local: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(results, range(10))
    opened: list[Path] = []
    connect = CacheFile._connect

    def noting(cache: CacheFile) -> sqlite3.Connection:
        opened.append(cache.path)
        return connect(cache)

    monkeypatch.setattr(CacheFile, "_connect", noting)
    cache = head()
    cache.asked(NAME, FINGERPRINT)
    assert found(cache, range(20)) == {*range(10)}
    assert opened
    assert all(path.is_relative_to(local) for path in opened)
    assert not [*results.glob("*-wal"), *results.glob("*-shm"), *results.glob("*-journal")]
    assert caplog.messages == []


@pytest.mark.usefixtures("network")
def test_the_copy_is_made_again_when_answers_have_moved_into_the_main_cache(head: Open, results: Path) -> None:
    fill(results, range(3))
    first, second = head("first"), head("second")
    second.asked(NAME, FINGERPRINT)
    first.put(first.asked(NAME, FINGERPRINT), [answer(10)])
    second.catch_up()
    assert found(second, range(20)) == {0, 1, 2, 10}
    first.put(first.asked(NAME, FINGERPRINT), [answer(11)])
    first.close()
    with Claims(results) as claims:
        SegmentMerger(results, claims).merge()
    second.catch_up()
    assert found(second, range(20)) == {0, 1, 2, 10, 11}


@pytest.mark.usefixtures("network")
def test_a_main_cache_that_another_process_writes_is_waited_for(
    head: Open, results: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(results, range(3))
    journal = results / f"{FILE_NAME}-journal"
    journal.write_bytes(b"being written")
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            journal.unlink()

    monkeypatch.setattr("harness.inference.head_cache.time.sleep", sleep)
    with Claims(results) as merger:
        merger.acquire(MERGE_LEASE)
        cache = head()
        cache.asked(NAME, FINGERPRINT)
        assert found(cache, range(5)) == {0, 1, 2}
        assert len(waited) == 3
        journal.write_bytes(b"being written")
        monkeypatch.setattr(head_cache_module, "_COPY_SECONDS", -1.0)
        other = head()
        other.asked(NAME, FINGERPRINT)
        assert found(other, range(5)) == set()
    assert caplog.messages == [f"{results / FILE_NAME} is in use; this head begins without its answers."]


KILLED = """
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode=DELETE")
database.execute("PRAGMA cache_size=1")
database.execute("BEGIN IMMEDIATE")
database.execute("DELETE FROM responses")
database.execute("UPDATE models SET name = 'half'")
database.execute("CREATE TABLE many (content)")
database.executemany("INSERT INTO many VALUES (?)", [("x" * 1000,)] * 2000)  # more than the pages in memory
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.usefixtures("network")
def test_a_merge_that_was_killed_halfway_is_undone_before_the_copy(head: Open, results: Path) -> None:
    fill(results, range(3))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(results / FILE_NAME)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (results / f"{FILE_NAME}-journal").stat().st_size > 0
    cache = head()
    cache.asked(NAME, FINGERPRINT)
    assert found(cache, range(5)) == {0, 1, 2}
    assert not (results / f"{FILE_NAME}-journal").exists()


def test_the_kinds_of_file_systems_are_those_that_the_cache_knows() -> None:
    assert {"NFS", "Lustre", "GPFS", "BeeGFS"} <= set(file_systems.NETWORK.values())


# ---------------------------------------------------------------------------------------------------------------
# Under a model


class Counting(FakeModel):
    """The fake model, which counts what it is asked."""

    asked: int = 0

    def answer(self, requests: Iterator[Request]) -> Iterator[tuple[int, Response]]:  # type: ignore[override]
        for index, response in super().answer(requests):
            Counting.asked += 1
            yield index, response


def ask(cache: HeadCache | ResponseCache, model: Model, numbers: range) -> list[Response]:
    return CachingModel(model, "fake:0", cache).ask([GenerateRequest(f"question {number}", 5) for number in numbers])


def test_a_model_gives_the_same_answers_whatever_the_number_of_heads(head: Open, results: Path, tmp_path: Path) -> None:
    with closing(ResponseCache(tmp_path / "one.sqlite")) as cache:
        alone = [one.completions for one in ask(cache, Counting("0"), range(40))]
    Counting.asked = 0
    parts = [ask(head(f"head{number}"), Counting("0"), range(number * 10, number * 10 + 15)) for number in range(3)]
    assert Counting.asked == 35  # five of each are known from the head before
    assert [one.completions for part in parts for one in part[:10]] == alone[:30]
    assert [one.completions for one in parts[-1]] == alone[20:35]


def test_an_answer_that_does_not_fit_is_replaced_everywhere(head: Open, results: Path) -> None:
    from harness.inference.cache_entries import request_key

    first = head("first")
    model = first.asked("fake:0", Counting("0").fingerprint())
    request = GenerateRequest("question 0", 5)
    first.put(model, [(request_key(model, request), Response(logprobs=(-1.0,)))])  # no completion
    first.close()
    with Claims(results) as claims:
        SegmentMerger(results, claims).merge()
    second = head("second")
    (response,) = ask(second, Counting("0"), range(1))
    assert response.completions
    assert not response.cached
    second.close()
    with Claims(results) as claims:
        SegmentMerger(results, claims).merge()
    third = head("third")
    (again,) = ask(third, Counting("0"), range(1))
    assert again.cached
    assert again.completions == response.completions
    assert merged(results)


ASKING = """
import sys
from pathlib import Path
from harness import GenerateRequest
from harness.inference.caching_model import CachingModel
from harness.inference.head_cache import HeadCache
from harness.models.offline.fake import FakeModel
from harness.runs.claims import Claims
results = Path(sys.argv[1])
cache = HeadCache(results, Claims(results), "killed", results.parent / "local")
model = CachingModel(FakeModel("0"), "fake:0", cache)
for number in range(10**6):
    model.ask([GenerateRequest(f"question {number}", 5)])
    sys.stdout.write(f"{number}\\n"); sys.stdout.flush()
"""


def test_no_answer_that_a_killed_head_had_is_asked_again(head: Open, results: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ASKING, str(results)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while int(process.stdout.readline()) < 700:  # more than one block of the local file
        pass
    process.send_signal(signal.SIGKILL)
    last = max([700, *(int(line) for line in process.stdout.read().split("\n")[:-1])])
    process.wait()
    assert [file.suffix for file in segment_files(results / ANSWERS_FOLDER)] == [OPEN]
    Counting.asked = 0
    assert all(one.cached for one in ask(head(), Counting("0"), range(last + 1)))
    assert Counting.asked == 0
    with Claims(results) as claims:
        SegmentMerger(results, claims).merge()
    assert len(merged(results)) > last
