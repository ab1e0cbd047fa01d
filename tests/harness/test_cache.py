"""The response cache: keyed by what changes an answer, and whole after a kill."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import pytest

from harness import Completion, GenerateRequest, Message, Origin, Request, Response, ScoreRequest, SequenceRequest
from harness.cache import CacheError, ResponseCache, fingerprint_digest, request_key

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
    cache.put(answers)
    cache.close()
    again = ResponseCache(tmp_path / "responses.sqlite")
    found = again.get([key for key, _ in answers] + [b"unknown"])
    assert len(again) == len(found) == 200
    assert found[bytes([7]) * 16] == Response(logprobs=(-7.0,), seconds=0.5, cached=True)


def test_many_answers_are_found_at_once(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "responses.sqlite")
    keys = [number.to_bytes(16, "big") for number in range(1201)]
    cache.put([(key, Response(logprobs=(-float(number),))) for number, key in enumerate(keys)])
    found = cache.get(keys)
    assert [found[key].logprobs for key in keys] == [(-float(number),) for number in range(1201)]


def test_a_damaged_file_is_a_clear_message(tmp_path: Path) -> None:
    (tmp_path / "responses.sqlite").write_bytes(b"this is no database" * 1000)
    with pytest.raises(CacheError, match=r"responses\.sqlite cannot be opened.*move it away"):
        ResponseCache(tmp_path / "responses.sqlite")


def test_a_damaged_answer_is_a_clear_message(tmp_path: Path) -> None:
    file = tmp_path / "responses.sqlite"
    cache = ResponseCache(file)
    cache.put([(b"key", Response(error="no"))])
    with sqlite3.connect(file) as database:
        for value in (b"", b"no zlib", zlib.compress(b"{"), zlib.compress(b'{"unknown": 1}'), zlib.compress(b"3")):
            database.execute("UPDATE responses SET value = ?", (value,))
            database.commit()
            with pytest.raises(CacheError, match=r"responses\.sqlite cannot be read"):
                cache.get([b"key"])


def test_opening_waits_for_another_process_that_makes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "responses.sqlite"
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE responses (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.3, other.execute, ["COMMIT"])
    timer.start()
    assert len(ResponseCache(file)) == 0
    timer.join()


SHARING = """
import sys
from pathlib import Path
from harness import Response
from harness.cache import ResponseCache
sys.stdin.readline()
cache = ResponseCache(Path(sys.argv[1]))
for number in range(300):
    cache.put([(f"{sys.argv[2]}-{number}".encode(), Response(logprobs=(-1.0,)))])
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
from harness.cache import ResponseCache
cache = ResponseCache(Path(sys.argv[1]))
for batch in range(10**6):
    cache.put([(f"{batch:012}{row:04}".encode(), Response((Completion("x" * 500),))) for row in range(10)])
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
