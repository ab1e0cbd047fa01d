"""What cannot be a Ray cluster is refused within seconds, with one message."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.executors import ray_connection
from harness.executors.ray_connection import _GET_ID, _check_answer, connected
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
    monkeypatch.setattr(ray_connection, "ANSWER_SECONDS", 0.5)
    started = time.monotonic()
    with listening(says) as address:
        assert f"what answers at {address} is not the head of a Ray cluster" in message(address)
    assert time.monotonic() - started < 30  # Ray itself would try for minutes


TOKEN = "0123456789abcdef"  # noqa: S105


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """The address of a head that answers only those who have the token."""
    grpc = pytest.importorskip("grpc")

    def answer(request: bytes, context: Any) -> bytes:
        if ("authorization", f"Bearer {TOKEN}") not in context.invocation_metadata():
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken")
        return b""

    service, _, method = _GET_ID.strip("/").rpartition("/")
    handlers = {method: grpc.unary_unary_rpc_method_handler(answer)}
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


WHERE = "`ray get-auth-token` prints on the cluster's head node."


@pytest.mark.parametrize(
    ("environment", "saved", "told"),
    [
        ({}, "", "wants a token. Set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN to the cluster's token"),
        ({"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": TOKEN}, TOKEN, "wants a token. Set RAY_AUTH_MODE=token"),
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "another"}, TOKEN, "refuses RAY_AUTH_TOKEN. Set it to"),
        ({"RAY_AUTH_MODE": "token"}, "another", "refuses the token in ~/.ray/auth_token. Write the cluster's token"),
        ({"RAY_AUTH_MODE": "token"}, "", "wants a token, but there is none in ~/.ray/auth_token. Write"),
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}, "", ""),
        ({"RAY_AUTH_TOKEN": TOKEN}, "", ""),
        ({}, TOKEN, ""),
    ],
)
def test_cluster_with_a_token(
    guarded: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    saved: str,
    told: str,
) -> None:
    raylet = pytest.importorskip("ray._raylet")
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.setenv(name, "")  # what Ray may set is undone, too
        monkeypatch.delenv(name)
    for name, value in {**environment, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    if saved:
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").write_text(saved)

    def read_again() -> None:
        raylet.Config.initialize("")
        raylet.AuthenticationTokenLoader.instance().reset_cache()

    read_again()
    try:
        if not told:
            _check_answer(guarded)
            return
        with pytest.raises(HarnessError) as caught:
            _check_answer(guarded)
    finally:
        monkeypatch.undo()
        read_again()
    assert str(caught.value).startswith(f"the Ray cluster at {guarded} {told}")
    assert str(caught.value).endswith(WHERE)
