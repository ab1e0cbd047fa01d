"""Segments: what is written is read, what is damaged is skipped, and a killed writer loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.inference.cache_entries import CachedModel, asked_model
from harness.inference.cache_file import CacheError
from harness.inference.segments import (
    CLOSED,
    OPEN,
    Entry,
    SegmentDamagedError,
    SegmentWriter,
    read_segment,
    segment_files,
    segment_owner,
)

MODEL = asked_model("fake:0", {"seed": "0", "name": "a model"}, used=1_700_000_000)


def entry(number: int, text: str = "") -> Entry:
    return Entry(number.to_bytes(16, "big"), 1_700_000_000 + number, f"{text or number}".encode())


def written(folder: Path, entries: Sequence[Entry], model: CachedModel = MODEL) -> Path:
    """Write a closed segment, and return its file."""
    writer = SegmentWriter(folder, "head", model)
    writer.write(entries)
    writer.close()
    (file,) = segment_files(folder)
    return file


entries_ = st.lists(
    st.builds(
        Entry, st.binary(min_size=16, max_size=16), st.integers(0, 2**62), st.binary(max_size=300), st.booleans()
    ),
    min_size=1,
    max_size=12,
)
in_a_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=100)


@in_a_folder
@given(entries=entries_, at_once=st.integers(1, 5), size=st.integers(1, 2000))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Entry], at_once: int, size: int
) -> None:
    folder = tmp_path_factory.mktemp("answers")
    writer = SegmentWriter(folder, "head", MODEL, most_bytes=size)
    for start in range(0, len(entries), at_once):
        writer.write(entries[start : start + at_once])
    writer.close()
    files = sorted(segment_files(folder), key=lambda file: int(file.stem.partition("-")[2]))
    read = [read_segment(file) for file in files]
    assert [one for segment in read for one in segment.entries] == entries
    assert {file.suffix for file in files} == {CLOSED}
    assert all((one.model, one.damaged, one.torn) == (MODEL, 0, 0) for one in read)


@in_a_folder
@given(entries=entries_, cut=st.integers(0, 10_000))
def test_of_a_file_that_is_cut_all_whole_answers_are_read(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Entry], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("answers")
    writer = SegmentWriter(folder, "head", MODEL)
    ends = []
    for one in entries:
        writer.write([one])
        (file,) = segment_files(folder)
        ends.append(file.stat().st_size)
    data = file.read_bytes()
    cut %= len(data)
    file.write_bytes(data[:cut])
    whole = [one for one, end in zip(entries, ends, strict=True) if end <= cut]
    try:
        read = read_segment(file)
    except SegmentDamagedError:
        assert not whole
        return
    assert list(read.entries) == whole
    assert read.damaged == 0
    assert read.end + read.torn == cut
    # the file goes on where it ended: what follows is read from there
    file.write_bytes(data)
    assert list(read_segment(file, read.end).entries) == entries[len(whole) :]


damages = st.lists(
    st.tuples(
        st.sampled_from(["flip", "zero", "remove", "insert", "repeat"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(1, 400),
        st.binary(min_size=1, max_size=40),
    ),
    min_size=1,
    max_size=4,
)


def damage(data: bytes, kind: str, share: float, length: int, other: bytes) -> bytes:
    at = int(share * len(data))
    part = data[at : at + length]
    new = {
        "flip": bytes([part[0] ^ (1 + length % 255)]) + part[1:] if part else b"",
        "zero": bytes(len(part)),
        "remove": b"",
        "insert": other + part,
        "repeat": part + part,
    }[kind]
    return data[:at] + new + data[at + length :]


@settings(in_a_folder, max_examples=300)
@given(entries=entries_, what=damages)
def test_no_damage_raises_or_yields_an_answer_that_was_not_written(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Entry], what: list[tuple[str, float, int, bytes]]
) -> None:
    file = written(tmp_path_factory.mktemp("answers"), entries)
    data = file.read_bytes()
    for kind, share, length, other in what:
        data = damage(data, kind, share, length, other)
    file.write_bytes(data)
    try:
        read = read_segment(file)
    except SegmentDamagedError:
        return
    assert set(read.entries) <= set(entries)
    assert read.model == MODEL
    assert 0 <= read.end <= len(data)


@given(data=st.binary(max_size=400))
@in_a_folder
def test_what_is_no_segment_is_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("answers") / f"head-0{CLOSED}"
    file.write_bytes(data)
    with pytest.raises(SegmentDamagedError):
        read_segment(file)


@pytest.mark.parametrize("lost", range(8))
def test_damage_to_one_answer_loses_that_one(tmp_path: Path, lost: int) -> None:
    entries = [entry(number, f"text {number} " * 20) for number in range(8)]
    file = written(tmp_path, entries)
    data = file.read_bytes()
    place = data.index(entries[lost].value) + 3
    for changed in (bytes([data[place] ^ 1]), b""):  # another byte, and one fewer
        file.write_bytes(data[:place] + changed + data[place + 1 :])
        read = read_segment(file)
        assert list(read.entries) == entries[:lost] + entries[lost + 1 :]
        assert (read.damaged > 0, read.torn > 0) == (lost < 7, lost == 7)


def test_an_answer_that_contains_a_segment_is_one_answer(tmp_path: Path) -> None:
    inner = written(tmp_path / "inner", [entry(1), entry(2)]).read_bytes()
    entries = [entry(3), Entry(b"k" * 16, 5, inner), entry(4)]
    file = written(tmp_path / "outer", entries)
    assert list(read_segment(file).entries) == entries
    data = file.read_bytes()
    file.write_bytes(data.replace(b"k" * 16, b"j" * 16))  # the entry around it is damaged
    assert list(read_segment(file).entries) == [entries[0], entries[2]]


def test_a_segment_in_another_models_folder_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, [entry(1)])
    other = tmp_path / ("0" * 32) / file.name
    other.parent.mkdir()
    file.rename(other)
    with pytest.raises(SegmentDamagedError, match="not that of its folder"):
        read_segment(other)


def test_a_segment_is_closed_when_it_is_old(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "head", MODEL, most_seconds=0.5)
    writer.write([entry(0)])
    assert [file.suffix for file in segment_files(tmp_path)] == [OPEN]
    time.sleep(0.55)
    writer.write([entry(1)])
    writer.write([entry(2)])
    writer.close()
    read = [list(read_segment(file).entries) for file in segment_files(tmp_path)]
    assert read == [[entry(0), entry(1)], [entry(2)]]


@pytest.mark.parametrize("lose", ["rename", "unlink", "folder"])
def test_a_writer_that_was_taken_for_dead_writes_its_latest_answers_again(tmp_path: Path, lose: str) -> None:
    writer = SegmentWriter(tmp_path, "head", MODEL, sync_seconds=0.05)
    writer.write([entry(0)])
    time.sleep(0.06)
    writer.write([entry(1)])  # which was seen to be in place
    (file,) = segment_files(tmp_path)
    before = read_segment(file).end
    if lose == "rename":
        file.rename(file.with_suffix(".merged"))
    else:
        file.unlink()
        if lose == "folder":
            file.parent.rmdir()
    writer.write([entry(2)])
    time.sleep(0.06)
    writer.write([entry(3)])
    writer.write([entry(4)])
    writer.close()
    (found,) = segment_files(tmp_path)
    assert [*read_segment(found).entries] == [entry(2), entry(3), entry(4)]
    assert before > 0


LIMITED = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_segments import MODEL, entry
from harness.errors import StorageError
from harness.inference.segments import SegmentWriter
writer = SegmentWriter(Path(sys.argv[1]), "head", MODEL)
limit = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
stored = 0
try:
    for number in range(1000):
        writer.write([entry(number, "x" * 100)])
        stored += 1
except StorageError as error:
    print(str(error).replace("\\n", " "))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.write([entry(5000)])
writer.close()
print(stored)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files' sizes are POSIX's")
@pytest.mark.parametrize("limit", [10, 5000])
def test_a_full_disk_loses_no_stored_answer_and_the_writer_goes_on(tmp_path: Path, limit: int) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path), str(Path(__file__).parent), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    message, stored = done.stdout.splitlines()
    assert "cannot be written (File too large)" in message
    (file,) = segment_files(tmp_path)
    read = read_segment(file)
    assert (read.damaged, read.torn) == (0, 0)
    assert [*read.entries] == [*(entry(number, "x" * 100) for number in range(int(stored))), entry(5000)]
    assert (int(stored) > 10) == (limit == 5000)


def test_a_key_of_another_length_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="16 bytes, not 3"):
        SegmentWriter(tmp_path, "head", MODEL).write([Entry(b"key", 0, b"")])


def test_a_folder_that_cannot_be_written_is_a_clear_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="cannot be written"):
        SegmentWriter(tmp_path / "file", "head", MODEL).write([entry(1)])


WRITING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_segments import MODEL, entry
from harness.inference.segments import SegmentWriter
writer = SegmentWriter(Path(sys.argv[1]), "head", MODEL, most_bytes=20_000)
for block in range(10**6):
    writer.write([entry(block * 10 + row, "x" * 200) for row in range(10)])
    sys.stdout.write(f"{block}\\n"); sys.stdout.flush()
"""


def test_a_killed_writer_leaves_whole_blocks_and_every_answer_it_stored(tmp_path: Path) -> None:
    for turn in range(3):
        folder = tmp_path / str(turn)
        command = [sys.executable, "-c", WRITING, str(folder), str(Path(__file__).parent)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        while int(writer.stdout.readline()) < 20:
            pass
        os.kill(writer.pid, signal.SIGKILL)
        said = [int(line) for line in writer.stdout.read().split("\n")[:-1]]
        writer.wait()
        files = segment_files(folder)
        assert {segment_owner(file).process for file in files} == {writer.pid}
        found = {one for file in files for one in read_segment(file).entries}
        assert len(found) % 10 == 0
        stored = (max(said, default=20) + 1) * 10
        assert {entry(number, "x" * 200) for number in range(stored)} <= found
