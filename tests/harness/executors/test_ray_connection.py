"""What cannot be a Ray cluster is refused within seconds, with one message."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.errors import HarnessError
from harness.executors import ray_connection
from harness.executors.ray_connection import connected
from harness.executors.ray_nodes import Node, check_gpus
from harness.installation import install_advice


@contextmanager
def listening(says: bytes) -> Iterator[str]:
    """A server that says something to whoever connects, and keeps the connection."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        kept = []

        def serve() -> None:
            try:
                while True:
                    connection, _ = server.accept()
                    kept.append(connection)
                    connection.sendall(says)
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
    for connection in kept:
        connection.close()


def message(address: str | None) -> str:
    with pytest.raises(HarnessError) as caught, connected(address):
        pass
    return str(caught.value)


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_connection, "find_spec", lambda name: None)
    assert message(None) == f"the executor ray needs Ray: {install_advice('ray')}."


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1 (Connection refused)"),
        ("no.such.host.invalid:6379", "no Ray cluster answers at no.such.host.invalid:6379"),
        ("localhost", "'localhost' is not the address of a Ray cluster; that is HOST:PORT"),
        ("localhost:99999", "is not the address of a Ray cluster"),
        ("ray://head:10001", "cannot stream answers"),
        ("http://head:8265", "ray job submit --address http://head:8265"),
    ],
)
def test_addresses_of_nothing(address: str, told: str) -> None:
    pytest.importorskip("ray")
    assert told in message(address)


def test_address_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:2")
    assert "answers at 127.0.0.1:2" in message(None)
    assert "answers at 127.0.0.1:1" in message("127.0.0.1:1")


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n"])
def test_another_server(says: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr(ray_connection, "CONNECT_SECONDS", 0.5)
    started = time.monotonic()
    with listening(says) as address:
        assert f"what answers at {address} is not the head of a Ray cluster" in message(address)
    assert time.monotonic() - started < 30  # Ray itself would try for minutes


NODES = [Node("a", "one", 8, 2), Node("b", "two", 8, 1)]


def test_gpus_that_fit() -> None:
    check_gpus({"m": 2, "n": 0}, NODES)


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        (NODES, "m needs 3 GPUs on one node of the Ray cluster; it has 3 in all, at most 2 on one node."),
        ([Node("a", "one", 8, 0)], "m needs 3 GPUs on one node of the Ray cluster; it has none."),
    ],
)
def test_more_gpus_than_a_node_has(nodes: list[Node], told: str) -> None:
    with pytest.raises(HarnessError) as caught:
        check_gpus({"m": 3}, nodes)
    assert str(caught.value) == told
