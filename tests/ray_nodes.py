"""Ray clusters on one machine, without a dashboard, for tests and benchmarks."""

from __future__ import annotations

import importlib
import os
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

STORE_BYTES = 100_000_000
TOKEN = secrets.token_hex(16)
"""The token of all clusters of this process; without one, Ray would write one into the user's home folder."""


class RayNodes:
    """The nodes of a running cluster; the first one cannot be removed."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.nodes: list[Any] = [cluster.head_node]

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self, cpus: int = 2, gpus: int = 0, environment: Mapping[str, str] = {}) -> Any:
        """Add a node, whose processes have these environment variables, and wait until it is there."""
        with _environment(environment):
            node = self._cluster.add_node(num_cpus=cpus, num_gpus=gpus, object_store_memory=STORE_BYTES)
        self.nodes.append(node)
        return node

    def remove(self, node: Any) -> None:
        """Kill all processes of a node."""
        self.nodes.remove(node)
        workers = self.workers(node)
        self._cluster.remove_node(node, allow_graceful=False)
        for pid in workers:  # they would notice by themselves, some time later
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def workers(self, node: Any = None, title: str = "ray::") -> list[int]:
        """Return the ids of worker processes whose title begins so, on one node or on all."""
        nodes = self.nodes if node is None else [node]
        raylets = {info.process.pid for one in nodes for info in one.all_processes.get("raylet", [])}
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if parent in raylets and (folder / "cmdline").read_bytes().startswith(title.encode()):
                    found.append(int(folder.name))
        return sorted(found)

    def kill_one(self, title: str, seconds: float = 300.0) -> int:
        """Kill the first worker process with such a title as soon as there is one; return its id."""
        until = time.monotonic() + seconds
        while not (found := self.workers(title=title)):
            if time.monotonic() > until:
                raise TimeoutError(f"no process {title!r} within {seconds} s")
            time.sleep(0.05)
        os.kill(found[0], signal.SIGKILL)
        return found[0]


@contextmanager
def ray_nodes(workers: int = 2, cpus: int = 2) -> Iterator[RayNodes]:
    """Start a cluster of one node that only coordinates, and some worker nodes; stop it at the end."""
    from ray.cluster_utils import Cluster

    with _own_folder() as folder:
        head = {
            "num_cpus": 0,
            "object_store_memory": STORE_BYTES,
            "include_dashboard": False,
            "temp_dir": str(folder),
        }
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            nodes = RayNodes(cluster)
            for _ in range(workers):
                nodes.add(cpus)
            yield nodes
        finally:
            cluster.shutdown()  # type: ignore[no-untyped-call]


@contextmanager
def one_ray_node(cpus: int = 4) -> Iterator[None]:
    """Start a cluster of one node, and connect this process to it; stop it at the end."""
    import ray

    with _own_folder() as folder:
        ray.init(
            address="local",
            num_cpus=cpus,
            include_dashboard=False,
            object_store_memory=STORE_BYTES,
            log_to_driver=False,
            configure_logging=False,
            _temp_dir=str(folder),
        )
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _own_folder() -> Iterator[Path]:
    """Keep a cluster apart: its files in a folder of its own, and its token in the environment."""
    raylet: Any = importlib.import_module("ray._raylet")  # compiled, and without types

    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))  # paths of sockets may have 107 characters
    (folder / "ray").mkdir()
    # Other programs that look for "the" cluster of this machine do not find this one.
    own = {"RAY_TMPDIR": str(folder), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}
    try:
        with _environment(own):
            raylet.Config.initialize("")  # Ray has read the environment when it was imported
            raylet.AuthenticationTokenLoader.instance().reset_cache()
            yield folder / "ray"
    finally:
        raylet.Config.initialize("")
        raylet.AuthenticationTokenLoader.instance().reset_cache()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
