"""The connection to a Ray cluster: found, checked and made within seconds, or refused with one message."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from harness.errors import HarnessError
from harness.installation import install_advice

CONNECT_SECONDS = 5.0
"""How long a machine may take to answer at all."""

ANSWER_SECONDS = 15.0
"""How long the head of a cluster may take to answer a first question."""

_GET_ID = "/ray.rpc.NodeInfoGcsService/GetClusterId"
"""A question that the head of any cluster answers, unless it wants a token."""

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
    with suppress(ImportError):  # of what Ray calls private; a release without it says itself what is wrong, later
        _check_answer(wanted)
    on_term = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=wanted, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise HarnessError(f"cannot join the Ray cluster at {wanted}: {_first_line(error)} {_ON_A_NODE}") from error
    except SystemExit as error:  # Ray ends the process if its connection cannot be used
        raise HarnessError(f"cannot join the Ray cluster at {wanted}: it does not answer. {_ON_A_NODE}") from error
    if on_term is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_term)  # Ray's own prints a stack, and ends the process at once
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
    """Refuse what cannot be the address of a cluster's head.

    Raises:
        HarnessError: It is the address of something else.
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


def _check_answer(address: str) -> None:
    """Ask what answers at an address once; Ray itself would ask for 20 seconds and more, with a line for each time.

    Raises:
        HarnessError: Nothing answers there, or something else than Ray, or it wants another token.
    """
    from ray._private.authentication import authentication_token_setup

    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise HarnessError(
            f"no Ray cluster answers at {address} ({why}). Check the address: it is printed by ray start --head."
        ) from None
    if _admits(address):
        return
    if "RAY_AUTH_MODE" not in os.environ:  # like `ray start`, use a token that is there
        with _quiet(authentication_token_setup.__name__):
            found = authentication_token_setup.maybe_enable_token_auth_if_token_available(warn_if_disabled=False)
        if found and _admits(address):
            return
    raise HarnessError(_token_advice(address))


def _admits(address: str) -> bool:
    """Return False if a cluster wants a token that this process does not have.

    Raises:
        HarnessError: What answers there is not a Ray cluster.
    """
    import grpc
    from ray._private.grpc_utils import init_grpc_channel
    from ray.exceptions import AuthenticationError

    try:
        with init_grpc_channel(address) as channel:
            channel.unary_unary(_GET_ID)(b"", timeout=ANSWER_SECONDS)
    except AuthenticationError:
        return False
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAUTHENTICATED:
            return False
        raise HarnessError(
            f"what answers at {address} is not the head of a Ray cluster, whose port is usually 6379."
        ) from None
    return True


def _token_advice(address: str) -> str:
    """Return what to do about a cluster that refuses this process's token, or its lack of one."""
    get = "which `ray get-auth-token` prints on the cluster's head node"
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        return (
            f"the Ray cluster at {address} wants a token. Set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN to the cluster's "
            f"token, {get}."
        )
    if os.environ.get("RAY_AUTH_TOKEN"):
        return f"the Ray cluster at {address} refuses RAY_AUTH_TOKEN. Set it to the cluster's token, {get}."
    file = os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token"
    here = "refuses the token in" if Path(file).expanduser().is_file() else "wants a token, but there is none in"
    return (
        f"the Ray cluster at {address} {here} {file}. Write the cluster's token into that file, or set RAY_AUTH_TOKEN "
        f"to it, {get}."
    )


@contextmanager
def _quiet(logger: str) -> Iterator[None]:
    """Show no warnings of a logger."""
    log = logging.getLogger(logger)
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _first_line(error: BaseException) -> str:
    line = str(error).strip().partition("\n")[0]
    return line if line.endswith((".", "!")) else f"{line}."
