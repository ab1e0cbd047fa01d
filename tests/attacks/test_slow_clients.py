"""Clients that send or receive as slowly as they can; none of them keeps others out, or fills the memory."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from harness.leaderboard.site.live import LiveState
from harness.leaderboard.site.server import CONNECTIONS, SiteServer

LARGE = 150 << 20


def _state() -> LiveState:
    return LiveState(3, "", [], 0.0)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SiteServer]:
    (tmp_path / "index.html").write_text("<html><head></head></html>")
    with (tmp_path / "large.bin").open("wb") as file:
        file.truncate(LARGE)
    with SiteServer(tmp_path, _state, port=0) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def _address(server: SiteServer) -> tuple[str, int]:
    return "127.0.0.1", int(server.server_address[1])


def _get(server: SiteServer, path: str = "/index.html") -> int:
    connection = HTTPConnection(*_address(server), timeout=60)
    try:
        connection.request("GET", path, headers={"Host": "localhost"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def test_clients_that_send_a_byte_now_and_then_keep_nobody_out(server: SiteServer) -> None:
    stop = threading.Event()
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(_address(server))) for _ in range(CONNECTIONS)]

        def drip() -> None:
            for byte in b"GET /index.html HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 10_000:
                for client in clients:
                    with suppress(OSError):
                        client.send(bytes([byte]))
                if stop.wait(0.1):
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            time.sleep(0.5)
            assert [_get(server) for _ in range(20)] == [200] * 20
        finally:
            stop.set()
            thread.join()


def test_a_request_has_a_time_limit_for_all_of_it(server: SiteServer) -> None:
    server.request_seconds = 1.0
    with socket.create_connection(_address(server), timeout=0.1) as client:
        start = time.monotonic()
        closed = False
        while not closed and time.monotonic() - start < 60:
            try:
                client.send(b"G")
                closed = client.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                closed = True
        assert closed


def test_a_client_that_does_not_receive_is_given_up(server: SiteServer) -> None:
    server.response_seconds = 0.5
    with socket.create_connection(_address(server), timeout=60) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        client.sendall(b"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(3)
        received = 0
        with suppress(ConnectionError):
            while part := client.recv(1 << 16):
                received += len(part)
        assert received < LARGE // 2


READER = """
import resource, sys, threading
from pathlib import Path
from harness.leaderboard.site.live import LiveState
from harness.leaderboard.site.server import SiteServer
with SiteServer(Path(sys.argv[1]), lambda: LiveState(3, "", [], 0.0), port=0) as server:
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdin.read()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, flush=True)
    server.shutdown()
"""


def test_slow_readers_of_a_large_file_cost_little_memory(tmp_path: Path) -> None:
    with (tmp_path / "large.bin").open("wb") as file:
        file.truncate(LARGE)
    command = [sys.executable, "-c", READER, str(tmp_path)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
        ExitStack() as stack,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline())
        for _ in range(12):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            client.sendall(b"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.recv(1000)
        time.sleep(2)
        process.stdin.close()
        assert int(process.stdout.readline()) < 30 << 10  # KiB


def test_a_large_file_comes_whole(server: SiteServer) -> None:
    connection = HTTPConnection(*_address(server), timeout=60)
    connection.request("GET", "/large.bin", headers={"Host": "localhost"})
    answer = connection.getresponse()
    size = 0
    while part := answer.read(1 << 20):
        size += len(part)
    assert (answer.status, size) == (200, LARGE)
    connection.request("GET", "/index.html", headers={"Host": "localhost"})
    assert connection.getresponse().status == 200
    connection.close()
