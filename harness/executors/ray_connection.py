"""The connection to a Ray cluster: found, checked and made within seconds, or refused with one message."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from harness.errors import HarnessError
from harness.installation import install_advice

CONNECT_SECONDS = 5.0
"""How long a machine may take to answer at all."""

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""What a client of HTTP/2 says first: the preface and an empty frame of settings (RFC 9113, 3.4)."""
_FRAME_HEADER, _TYPE, _SETTINGS = 9, 3, 4

_ON_A_NODE = (
    "Run the command on a machine of the cluster, or hand it in from elsewhere: "
    "ray job submit --address http://HEAD:8265 --working-dir . -- harness run …"
)


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect this process to a Ray cluster for as long as the context lasts; a connection that exists is used.

    Args:
        address: ``HOST:PORT`` of the cluster's head; None for ``RAY_ADDRESS``, or the cluster of this machine.

    Raises:
        HarnessError: Ray is not installed, or there is no such cluster, or it cannot be used from here.
    """
    if find_spec("ray") is None:
        raise HarnessError(f"the executor ray needs Ray: {install_advice('ray')}.")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody who evaluates a model has agreed to telemetry
    import ray

    if ray.is_initialized():
        yield
        return
    wanted = address or os.environ.get("RAY_ADDRESS") or "auto"
    if wanted == "auto":
        wanted = _local_address()
    _check_address(wanted)
    try:
        ray.init(address=wanted, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise HarnessError(f"cannot join the Ray cluster at {wanted}: {_first_line(error)} {_ON_A_NODE}") from error
    except SystemExit as error:  # Ray ends the process if its connection cannot be used
        raise HarnessError(f"cannot join the Ray cluster at {wanted}: it does not answer. {_ON_A_NODE}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _local_address() -> str:
    """Return the address of the cluster that this machine belongs to."""
    from ray._private import services

    try:
        return str(services.canonicalize_bootstrap_address_or_die("auto"))
    except ConnectionError as error:
        if "multiple" in str(error):
            raise HarnessError(
                "this machine belongs to several Ray clusters. Choose one with --address HOST:PORT, or RAY_ADDRESS."
            ) from None
        raise HarnessError(
            "this machine belongs to no running Ray cluster. Start one (ray start --head), give its address "
            "(--address HOST:6379, or RAY_ADDRESS), or use --executor local."
        ) from None


def _check_address(address: str) -> None:
    """Refuse what cannot be the address of a cluster's head; Ray itself would try for minutes.

    Raises:
        HarnessError: Nothing answers there, or something else than Ray.
    """
    if address.startswith("ray://"):
        raise HarnessError(f"{address} is an address for Ray Client, which cannot stream answers. {_ON_A_NODE}")
    if address.startswith(("http://", "https://")):
        raise HarnessError(
            f"{address} is the address of Ray's dashboard. With it: ray job submit --address {address} "
            "--working-dir . -- harness run …; or give the head's own address, HOST:6379."
        )
    host, separator, port = address.rpartition(":")
    if not separator or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise HarnessError(f"{address!r} is not the address of a Ray cluster; that is HOST:PORT, usually HOST:6379.")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS) as connection:
            if not _speaks_grpc(connection):
                raise HarnessError(
                    f"what answers at {address} is not the head of a Ray cluster, whose port is usually 6379."
                )
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise HarnessError(
            f"no Ray cluster answers at {address} ({why}). Check the address: it is printed by ray start --head."
        ) from None


def _speaks_grpc(connection: socket.socket) -> bool:
    """Return whether the other side answers as a server of HTTP/2 must, with a frame of settings."""
    if os.environ.get("RAY_USE_TLS", "0").lower() in {"1", "true"}:
        return True  # it would have to be asked in TLS
    connection.settimeout(CONNECT_SECONDS)
    connection.sendall(_PREFACE)
    answer = b""
    while len(answer) < _FRAME_HEADER:
        try:
            more = connection.recv(_FRAME_HEADER - len(answer))
        except TimeoutError:
            return False
        if not more:
            return False
        answer += more
    return answer[_TYPE] == _SETTINGS


def _first_line(error: BaseException) -> str:
    line = str(error).strip().partition("\n")[0]
    return line if line.endswith((".", "!")) else f"{line}."
