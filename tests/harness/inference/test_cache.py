"""The response cache: keyed by what changes an answer, and whole after a kill."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from harness import Completion, GenerateRequest, Message, Origin, Request, Response, ScoreRequest, SequenceRequest
from harness.inference.cache import ResponseCache
from harness.inference.cache_entries import fingerprint_digest, request_key
from harness.inference.cache_file import VERSION, CacheError

MODEL = fingerprint_digest("hf", {"weights": "abc", "dtype": "float32"})

DIFFERENT: list[Request] = [
    GenerateRequest("Q:", 5),
    GenerateRequest("Q: ", 5),
    GenerateRequest("Q:", 6),
    GenerateRequest("Q:", 5, temperature=0.5),
    GenerateRequest("Q:", 5, temperature=0.5, seed=1),
    GenerateRequest("Q:", 5, stop=("\n",)),
    GenerateRequest("Q:", 5, completions=2),
    GenerateRequest("Q:", 5, top_logprobs=5),
    GenerateRequest((Message("user", "Q:"),), 5),
    GenerateRequest((Message("system", "Q:"),), 5),
    ScoreRequest("Q:", "5"),
    ScoreRequest("Q:5", ""),
    SequenceRequest(("Q:", "5"), (0, 1)),
    SequenceRequest(("Q:", "5"), (1, 0)),
    SequenceRequest(("Q:5",), (0,)),
    SequenceRequest(("Q", ":5"), (0, 1)),
]


def test_everything_that_changes_an_answer_changes_the_key() -> None:
    keys = [request_key(MODEL, request) for request in DIFFERENT]
    assert len(set(keys)) == len(DIFFERENT)


@pytest.mark.parametrize(
    ("backend", "fingerprint"),
    [("vllm", {"weights": "abc", "dtype": "float32"}), ("hf", {"weights": "abd", "dtype": "float32"}), ("hf", {})],
)
def test_another_model_has_other_keys(backend: str, fingerprint: dict[str, str]) -> None:
    other = fingerprint_digest(backend, fingerprint)
    assert request_key(other, DIFFERENT[0]) != request_key(MODEL, DIFFERENT[0])


def test_where_a_request_comes_from_does_not_change_the_key() -> None:
    assert request_key(MODEL, GenerateRequest("Q:", 5, origin=Origin("a"))) == request_key(MODEL, DIFFERENT[0])


def test_the_order_of_a_fingerprint_does_not_change_the_key() -> None:
    assert fingerprint_digest("hf", {"dtype": "float32", "weights": "abc"}) == MODEL


def test_answers_are_found_again_after_reopening(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "responses.sqlite")
    answers = [(bytes([number]) * 16, Response(logprobs=(-float(number),), seconds=0.5)) for number in range(200)]
    cache.put(MODEL, answers)
    cache.close()
    again = ResponseCache(tmp_path / "responses.sqlite")
    found = again.get([key for key, _ in answers] + [b"unknown"])
    assert len(again) == len(found) == 200
    assert found[bytes([7]) * 16] == Response(logprobs=(-7.0,), seconds=0.5, cached=True)


def test_many_answers_are_found_at_once(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "responses.sqlite")
    keys = [number.to_bytes(16, "big") for number in range(1201)]
    cache.put(MODEL, [(key, Response(logprobs=(-float(number),))) for number, key in enumerate(keys)])
    found = cache.get(keys)
    assert [found[key].logprobs for key in keys] == [(-float(number),) for number in range(1201)]


# ---------------------------------------------------------------------------------------------------------------
# Damage


def test_a_file_that_is_no_cache_is_set_aside_with_a_message(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "responses.sqlite"
    file.write_bytes(b"this is no database" * 1000)
    cache = ResponseCache(file)
    cache.put(MODEL, [(b"key", Response(logprobs=(-1.0,)))])
    assert len(cache) == 1
    assert (tmp_path / "responses.sqlite.damaged").read_bytes() == b"this is no database" * 1000
    (message,) = caplog.messages
    assert f"{file} is damaged" in message
    assert "responses.sqlite.damaged; 0 of its answers could be read" in message


@pytest.mark.parametrize("action", ["get", "put"])
def test_what_can_be_read_of_a_damaged_file_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, action: str
) -> None:
    file = tmp_path / "responses.sqlite"
    cache = ResponseCache(file)
    model = cache.asked("hf:abc", {"weights": "abc"})
    keys = [hashlib.blake2b(bytes([number % 256, number // 256]), digest_size=16).digest() for number in range(2000)]
    long = [Response((Completion(f"{key.hex()} " * 40),)) for key in keys]
    cache.put(model, zip(keys, long, strict=True))
    cache.close()
    content = bytearray(file.read_bytes())
    leaves = (0x0A, 0x0D)  # what a page of rows begins with, unlike one that leads to other pages
    middle = next(
        start for start in range(len(content) // 2 // 4096 * 4096, len(content), 4096) if content[start] in leaves
    )
    content[middle : middle + 4096] = os.urandom(4096)
    file.write_bytes(content)
    again = ResponseCache(file)
    if action == "put":
        again.put(model, zip(keys, long, strict=True))
        assert len(again) == 2000
    found = again.get(keys)
    assert len(found) == len(again) >= 1500
    assert all(found[key] == replace(long[keys.index(key)], cached=True) for key in found)
    assert [known.name for known in again.models()] == ["hf:abc"]
    assert (tmp_path / "responses.sqlite.damaged").stat().st_size == len(content)
    assert "is damaged" in caplog.messages[0]
    again.close()
    caplog.clear()
    assert len(ResponseCache(file)) == len(found)
    assert caplog.messages == []


def test_a_damaged_answer_is_asked_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "responses.sqlite"
    cache = ResponseCache(file)
    cache.put(MODEL, [(b"key", Response(error="no")), (b"whole", Response(error="no"))])
    with sqlite3.connect(file) as database:
        for value in (b"", b"no zlib", zlib.compress(b"{"), zlib.compress(b'{"unknown": 1}'), zlib.compress(b"3")):
            database.execute("UPDATE responses SET value = ? WHERE key = ?", (value, b"key"))
            database.commit()
            assert set(cache.get([b"key", b"whole"])) == {b"whole"}
    cache.close()
    (message,) = caplog.messages
    assert message.startswith(f"5 answers in the response cache {file} could not be used and were requested again")


@pytest.mark.parametrize("version", [0, VERSION + 1])
def test_a_file_of_another_version_is_refused_and_left_alone(tmp_path: Path, version: int) -> None:
    file = tmp_path / "responses.sqlite"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE responses (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
        database.execute(f"PRAGMA user_version={version}")
    with pytest.raises(CacheError, match=rf"has layout {version}.*Move the file away"):
        ResponseCache(file)
    assert file.exists()


FILLING = """
import resource, sys
from pathlib import Path
from harness import Completion, Response
from harness.inference.cache import ResponseCache
from harness.errors import StorageError
cache = ResponseCache(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
stored = 0
try:
    for number in range(10_000):
        text = f"{number} " * 100
        cache.put(b"model", [(str(number).encode(), Response((Completion(text),), prompt_tokens=number))])
        stored += 1
except StorageError as error:
    print(error)
print(stored)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files' sizes are POSIX's")
def test_a_full_disk_is_a_clear_message_and_loses_no_stored_answer(tmp_path: Path) -> None:
    file = tmp_path / "responses.sqlite"
    done = subprocess.run([sys.executable, "-c", FILLING, str(file)], capture_output=True, text=True, check=True)
    message, stored = done.stdout.splitlines()
    assert f"the response cache {file} cannot be written" in message
    assert "If the disk is full, make room and run the same command again" in message
    cache = ResponseCache(file)
    assert 50 < int(stored) == len(cache)
    cache.put(MODEL, [(b"more", Response())])
    assert len(cache) == int(stored) + 1


def test_opening_waits_for_another_process_that_makes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "responses.sqlite"
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(0.3, other.execute, ["COMMIT"])
    timer.start()
    assert len(ResponseCache(file)) == 0
    timer.join()


SHARING = """
import sys
from pathlib import Path
from harness import Response
from harness.inference.cache import ResponseCache
sys.stdin.readline()
cache = ResponseCache(Path(sys.argv[1]))
for number in range(300):
    cache.put(b"model", [(f"{sys.argv[2]}-{number}".encode(), Response(logprobs=(-1.0,)))])
"""


@pytest.mark.slow
def test_processes_that_start_at_once_share_the_file(tmp_path: Path) -> None:
    file = tmp_path / "responses.sqlite"
    command = [sys.executable, "-c", SHARING, str(file)]
    writers = [subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE) for number in range(4)]
    time.sleep(1.0)
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    assert [writer.wait() for writer in writers] == [0] * 4
    assert len(ResponseCache(file)) == 1200


WRITER = """
import sys
from pathlib import Path
from harness import Completion, Response
from harness.inference.cache import ResponseCache
cache = ResponseCache(Path(sys.argv[1]))
for batch in range(10**6):
    cache.put(b"model", [(f"{batch:012}{row:04}".encode(), Response((Completion("x" * 500),))) for row in range(10)])
    sys.stdout.write(f"{batch}\\n"); sys.stdout.flush()
"""


def test_a_killed_writer_leaves_whole_batches(tmp_path: Path) -> None:
    file = tmp_path / "responses.sqlite"
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        while int(writer.stdout.readline()) < 20:
            pass
        time.sleep(0.01)
        os.kill(writer.pid, signal.SIGKILL)
        said = [int(line) for line in writer.stdout.read().split()]
        writer.wait()
        cache = ResponseCache(file)
        assert len(cache) % 10 == 0
        last = max(said, default=20)
        assert cache.get([f"{last:012}{9:04}".encode()])[f"{last:012}{9:04}".encode()].completions == (
            Completion("x" * 500),
        )
        cache.close()
