"""Answers that are small on the wire and large in memory."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from harness import GenerateRequest, Response
from harness.models.api import http_client
from harness.models.api.anthropic import AnthropicModel
from harness.models.api.openai import OpenAIModel

pytest.importorskip("openai")
pytest.importorskip("anthropic")

BACKENDS = ["openai", "anthropic"]
BOMB = 2**29
"""Bytes of zeros: half a megabyte when compressed."""

_ASK = """
import resource, sys
from harness import GenerateRequest
from harness.models.api.anthropic import AnthropicModel
from harness.models.api.openai import OpenAIModel
backend, port = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30,) * 2)
pace = {"max_retries": 1, "retry_delay": 0.001}
if backend == "openai":
    model = OpenAIModel("m", OpenAIModel.Params(base_url=f"http://127.0.0.1:{port}/v1", api="chat", **pace))
else:
    model = AnthropicModel("m", AnthropicModel.Params(base_url=f"http://127.0.0.1:{port}", **pace))
list(model.answer([]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _, response in model.answer([GenerateRequest("question", 2)]):
    print(response.error)
model.close()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """Return a gzip file of zeros without holding them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join([*(packer.compress(bytes(2**24)) for _ in range(BOMB // 2**24)), packer.flush()])


@contextmanager
def answering(answer: Callable[[], tuple[int, dict[str, str], bytes]]) -> Iterator[int]:
    """Run a server that answers every question alike, and yield its port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asks = self.path not in {"/tokenize", "/v1/models"}
            status, headers, body = answer() if asks else (404, {}, b"{}")
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        do_GET = do_POST  # noqa: N815 - the name that http.server looks for

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def asked(backend: str, port: int) -> Response:
    pace: dict[str, Any] = {"max_retries": 1, "retry_delay": 0.001}
    model = (
        OpenAIModel("m", OpenAIModel.Params(base_url=f"http://127.0.0.1:{port}/v1", api="chat", **pace))
        if backend == "openai"
        else AnthropicModel("m", AnthropicModel.Params(base_url=f"http://127.0.0.1:{port}", **pace))
    )
    try:
        ((_, response),) = model.answer([GenerateRequest("question", 2)])
        return response
    finally:
        model.close()


def _same(answer: tuple[int, dict[str, str], bytes]) -> tuple[int, dict[str, str], bytes]:
    return answer


def said(text: str) -> bytes:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "input_tokens": 3, "output_tokens": 2}
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    content = {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
    return json.dumps({"choices": [choice], **content, "usage": usage}).encode()


@pytest.mark.parametrize(("backend", "status"), [("openai", 200), ("openai", 400), ("anthropic", 200)])
def test_a_bomb_costs_no_more_memory_than_the_longest_answer(bomb: bytes, backend: str, status: int) -> None:
    assert len(bomb) < 2**20
    with answering(lambda: (status, {"Content-Encoding": "gzip"}, bomb)) as port:
        command = [sys.executable, "-c", _ASK, backend, str(port)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    *errors, grown = done.stdout.splitlines()
    assert "longer than 64 MiB" in " ".join(errors)
    assert int(grown) < 256  # MiB


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "GZip "])
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_compressed_is_read(backend: str, encoding: str) -> None:
    packed = zlib.compress(said("ünd")) if encoding == "deflate" else gzip.compress(said("ünd"))
    with answering(lambda: (200, {"Content-Encoding": encoding}, packed)) as port:
        assert asked(backend, port).completions[0].text == "ünd"


@pytest.mark.parametrize(
    ("encoding", "body", "problem"),
    [
        ("br", said("x"), "compressed as 'br'"),
        ("gzip, gzip", gzip.compress(gzip.compress(said("x"))), "compressed as 'gzip, gzip'"),
        ("zstd", b"(\xb5/\xfd", "compressed as 'zstd'"),
        ("gzip", said("x"), "not compressed as its headers say"),
        ("gzip", gzip.compress(said("x" * 500))[:-12], "its compressed data end early"),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_not_asked_for_is_unusable(backend: str, encoding: str, body: bytes, problem: str) -> None:
    with answering(lambda: (200, {"Content-Encoding": encoding}, body)) as port:
        error = asked(backend, port).error or ""
    assert f"unusable answer: {problem}" in error


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_refusal_without_a_body_is_read_by_its_status(backend: str) -> None:
    with answering(lambda: (400, {"Content-Encoding": "gzip"}, b"")) as port:
        assert "status 400" in (asked(backend, port).error or "")


def test_the_limit_is_on_what_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "MAX_ANSWER_BYTES", 10_000)
    for size, fits in ((4_000, True), (6_000, False)):
        answer = (200, {"Content-Encoding": "gzip"}, gzip.compress(said("x" * size)))
        with answering(partial(_same, answer)) as port:
            assert (asked("openai", port).error is None) is fits
