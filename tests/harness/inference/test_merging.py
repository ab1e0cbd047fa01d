"""Merging: the first answer stays, and whatever is killed, no answer is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from harness import Completion, Response
from harness.inference import merging as merging_module
from harness.inference.cache import ResponseCache
from harness.inference.cache_entries import CachedModel, asked_model, pack_response
from harness.inference.cache_file import FILE_NAME
from harness.inference.merging import MergeBusyError, Merged, SegmentMerger, merging
from harness.inference.segments import (
    ANSWERS_FOLDER,
    CLOSED,
    DAMAGED,
    OPEN,
    Entry,
    SegmentWriter,
    read_segment,
    segment_files,
)
from harness.runs.claims import Claims

MODEL, OTHER = asked_model("fake:0", {"seed": "0"}, used=5), asked_model("fake:1", {"seed": "1"}, used=6)
GONE = 2**22 + 1
"""No process has this id: it is above the greatest on Linux."""


def answered(number: int, text: str = "", *, created: int = 0, replaces: bool = False) -> Entry:
    value = pack_response(Response((Completion(text or f"answer {number}"),)))
    return Entry(number.to_bytes(16, "big"), created, value, replaces)


def write(
    results: Path, head: str, entries: Sequence[Entry], model: CachedModel = MODEL, *, close: bool = True
) -> SegmentWriter:
    writer = SegmentWriter(results / ANSWERS_FOLDER, head, model)
    writer.write(entries)
    if close:
        writer.close()
    return writer


def texts(results: Path) -> dict[int, str]:
    """Return the text of each answer in the main cache."""
    with closing(ResponseCache(results / FILE_NAME)) as cache:
        return {int.from_bytes(one.key, "big"): one.response.completions[0].text for one in cache.answers()}


def files(results: Path) -> list[str]:
    return [file.name for file in segment_files(results / ANSWERS_FOLDER)]


@pytest.fixture
def merger(tmp_path: Path) -> Iterator[SegmentMerger]:
    with Claims(tmp_path) as claims:
        yield SegmentMerger(tmp_path, claims)


def test_all_answers_of_all_heads_and_models_are_merged(tmp_path: Path, merger: SegmentMerger) -> None:
    write(tmp_path, "a", [answered(1), answered(2)])
    write(tmp_path, "b", [answered(2), answered(3)])
    write(tmp_path, "a", [answered(4)], OTHER)
    assert merger.merge() == Merged(answers=5, added=4, removed=3, left=0)
    assert texts(tmp_path) == {number: f"answer {number}" for number in (1, 2, 3, 4)}
    with closing(ResponseCache(tmp_path / FILE_NAME)) as cache:
        assert cache.models() == [MODEL, OTHER]
        assert [(one.model, one.origin) for one in cache.answers()] == [(MODEL.digest, None)] * 3 + [
            (OTHER.digest, None)
        ]
    assert files(tmp_path) == []
    assert merger.merge() == Merged()


def test_the_first_answer_stays(tmp_path: Path, merger: SegmentMerger) -> None:
    write(tmp_path, "a", [answered(1, "in the main cache")])
    merger.merge()
    write(tmp_path, "b", [answered(1, "later"), answered(2, "second", created=20)])
    write(tmp_path, "c", [answered(2, "first", created=10)])
    assert merger.merge() == Merged(answers=3, added=1, removed=2, left=0)
    assert texts(tmp_path) == {1: "in the main cache", 2: "first"}


def test_an_answer_in_place_of_an_unusable_one_replaces_it(tmp_path: Path, merger: SegmentMerger) -> None:
    write(tmp_path, "a", [answered(1, "unusable"), answered(2)])
    merger.merge()
    write(tmp_path, "b", [answered(1, "whole", replaces=True)])
    merger.merge()
    assert texts(tmp_path) == {1: "whole", 2: "answer 2"}


def test_an_open_segment_is_merged_and_stays_until_its_writer_closes_it(tmp_path: Path, merger: SegmentMerger) -> None:
    writer = write(tmp_path, "a", [answered(1)], close=False)
    assert merger.merge() == Merged(answers=1, added=1, removed=0, left=1)
    writer.write([answered(2)])
    assert merger.merge() == Merged(answers=1, added=1, removed=0, left=1)  # the first is not read again
    assert merger.merge() == Merged(left=1)
    writer.write([answered(3)])
    writer.close()
    assert merger.merge(remove=False) == Merged(answers=1, added=1, removed=0, left=1)
    assert merger.merge() == Merged(removed=1)
    assert texts(tmp_path).keys() == {1, 2, 3}


@pytest.mark.parametrize("how", ["killed", "idle"])
def test_an_open_segment_whose_writer_is_gone_is_taken_over(
    tmp_path: Path, merger: SegmentMerger, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "killed":
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: GONE)
            write(tmp_path, "a", [answered(1)], close=False)
    else:
        write(tmp_path, "a", [answered(1)], close=False)
        (file,) = segment_files(tmp_path / ANSWERS_FOLDER)
        long_ago = time.time() - merging_module.IDLE_SECONDS - 1
        os.utime(file, (long_ago, long_ago))
    assert merger.merge(remove=False).left == 1
    assert files(tmp_path) == ["a-0.open"]
    assert merger.merge().removed == 1
    assert texts(tmp_path) == {1: "answer 1"}


def test_what_is_damaged_is_set_aside_with_a_warning_and_the_rest_is_kept(
    tmp_path: Path, merger: SegmentMerger, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, "a", [answered(number) for number in range(10)])
    write(tmp_path, "b", [answered(number) for number in range(10, 13)])
    write(tmp_path, "c", [answered(99)])
    a, b, c = segment_files(tmp_path / ANSWERS_FOLDER)
    content = bytearray(a.read_bytes())
    content[content.index(answered(4).value) + 2] ^= 1
    a.write_bytes(content)
    b.write_bytes(b.read_bytes()[:-1])
    c.write_bytes(b"something else")
    assert merger.merge() == Merged(answers=11, added=11, removed=3, left=0)
    assert texts(tmp_path).keys() == {*range(12)} - {4}
    assert sorted(file.name for file in a.parent.iterdir()) == [f"a-0{DAMAGED}", f"c-0{DAMAGED}"]
    one, two, three = caplog.messages
    assert one.startswith(f"{a} is damaged: 9 answers in it are kept, ")
    assert "bytes cannot be read. It is moved to a-0.damaged; answers that are lost will be requested again" in one
    assert two == f"{b} ends within an answer, which will be requested again; 2 answers in it are kept."
    assert three.startswith(f"No answer in {c} can be read: it does not begin as a segment")


def test_closed_segments_are_read_once(
    tmp_path: Path, merger: SegmentMerger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, "a", [answered(1)])
    write(tmp_path, "b", [answered(2)])
    a, b = segment_files(tmp_path / ANSWERS_FOLDER)
    b.write_bytes(b"something else")
    assert merger.merge(remove=False) == Merged(answers=1, added=1, removed=0, left=2)
    monkeypatch.setattr(merging_module, "read_segment", lambda *_: pytest.fail("it was read again"))
    assert merger.merge(remove=False) == Merged(left=2)
    assert merger.merge() == Merged(removed=2)
    assert len(caplog.messages) == 1
    assert [file.name for file in a.parent.iterdir()] == [f"b-0{DAMAGED}"]


def test_a_segment_whose_writer_was_killed_before_its_first_answer_waits(tmp_path: Path, merger: SegmentMerger) -> None:
    folder = tmp_path / ANSWERS_FOLDER / MODEL.digest.hex()
    folder.mkdir(parents=True)
    (folder / f"a-0{OPEN}").write_bytes(b"")
    assert merger.merge() == Merged(left=1)


def test_large_merges_are_several_transactions(
    tmp_path: Path, merger: SegmentMerger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging_module, "_MOST_ROWS", 25)
    for head in range(7):
        write(tmp_path, f"head{head}", [answered(head * 10 + number) for number in range(10)])
    assert merger.merge() == Merged(answers=70, added=70, removed=7, left=0)
    assert texts(tmp_path).keys() == {*range(70)}


def test_a_merge_that_fails_forgets_nothing(
    tmp_path: Path, merger: SegmentMerger, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a", [answered(1)])

    def fail(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ResponseCache, "merge", fail)
        with pytest.raises(KeyboardInterrupt):
            merger.merge()
    assert merger.merge() == Merged(answers=1, added=1, removed=1, left=0)
    assert texts(tmp_path) == {1: "answer 1"}


def test_one_process_merges_at_a_time(tmp_path: Path, merger: SegmentMerger) -> None:
    write(tmp_path, "a", [answered(1)])
    with Claims(tmp_path) as other:
        other.acquire("merge")
        with pytest.raises(MergeBusyError, match=f"process {os.getpid()} on .* is merging"):
            merger.merge()
        merger.merge_if_free()
        assert files(tmp_path) == ["a-0.seg"]
    merger.merge_if_free()
    assert files(tmp_path) == []


def test_answers_are_merged_while_heads_work_and_removed_at_the_end(tmp_path: Path) -> None:
    write(tmp_path, "left", [answered(0)])
    with Claims(tmp_path) as claims, merging(tmp_path, claims, every=0.05):
        assert texts(tmp_path) == {0: "answer 0"}
        assert files(tmp_path) == []
        write(tmp_path, "a", [answered(1)])
        until = time.monotonic() + 60
        while texts(tmp_path).keys() != {0, 1} and time.monotonic() < until:
            time.sleep(0.02)
        assert files(tmp_path) == ["a-0.seg"]
        write(tmp_path, "b", [answered(2)])
    assert texts(tmp_path).keys() == {0, 1, 2}
    assert files(tmp_path) == []


# ---------------------------------------------------------------------------------------------------------------
# Processes

MERGING = """
import sys
from pathlib import Path
from harness.inference import merging
from harness.inference.merging import SegmentMerger
from harness.runs.claims import Claims

class Free:  # as if the leases of a file system did not work
    def acquire(self, key): return None
    def release(self, key): pass

merging._MOST_ROWS = 50
results = Path(sys.argv[1])
leases = Free() if sys.argv[2] == "free" else Claims(results, heartbeat=0.1)
merger = SegmentMerger(results, leases)
sys.stdout.write("ready\\n"); sys.stdout.flush()
sys.stdin.readline()
while True:
    merger.merge_if_free()
    if not any(results.glob(".answers/*/*.seg")): break
"""


def start(results: Path, leases: str = "leases") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MERGING, str(results), leases]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.parametrize("leases", ["leases", "free"])
def test_two_processes_that_merge_lose_and_double_nothing(tmp_path: Path, leases: str) -> None:
    for head in range(40):
        write(tmp_path, f"head{head}", [answered(head * 20 + number) for number in range(25)])
    mergers = [start(tmp_path, leases) for _ in range(2)]
    for one in mergers:
        go(one)
    assert [one.wait(timeout=120) for one in mergers] == [0, 0]
    assert texts(tmp_path) == {number: f"answer {number}" for number in range(40 * 20 + 5)}
    assert files(tmp_path) == []


@pytest.mark.slow
def test_a_merger_killed_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    draw, killed, alive, turn = random.Random(0), 0, 0, 0
    expected: set[int] = set()
    while turn < 12 or (min(killed, alive) < 3 and turn < 100):  # on a busy machine, few are killed in time
        turn += 1
        for head in range(30):
            numbers = [turn * 1000 + head * 20 + number for number in range(25)]
            expected.update(numbers)
            write(tmp_path, f"head{turn}x{head}", [answered(number) for number in numbers])
        merger = start(tmp_path)
        go(merger)
        time.sleep(draw.random() * 0.01)  # a merge of so few takes about ten milliseconds
        alive += merger.poll() is None
        merger.send_signal(signal.SIGKILL)
        merger.wait()
        left = segment_files(tmp_path / ANSWERS_FOLDER)
        waiting = {int.from_bytes(one.key, "big") for file in left for one in read_segment(file).entries}
        assert waiting | texts(tmp_path).keys() == expected
        killed += CLOSED in {file.suffix for file in left}
    assert killed > 2
    assert alive > 2
    last = start(tmp_path)
    go(last)
    assert last.wait(timeout=120) == 0
    assert texts(tmp_path) == {number: f"answer {number}" for number in expected}
