"""How long a sweep takes as a Ray job: `ray job submit -- harness run sweep.yaml --executor ray`, to its end.

Six small runs on a Ray of one node with its dashboard. Stated apart: the start of Ray, and the command until it ends.

    python tests/benchmarks/job_submission.py
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.cluster_sweep import RUNS, results, sums

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 600.0
OPTIONS = ("port", "dashboard-port", "dashboard-agent-listen-port", "dashboard-agent-grpc-port")


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("", 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def ray_with_dashboard(environment: dict[str, str]) -> Iterator[str]:
    """Start a Ray of one node; yield the address of its dashboard once that takes jobs."""
    folder = tempfile.mkdtemp(prefix="r", dir="/tmp")
    ports = dict(zip(OPTIONS, free_ports(len(OPTIONS)), strict=True))
    command = ["ray", "start", "--head", "--block", "--num-cpus=4", "--include-dashboard=true", f"--temp-dir={folder}"]
    command += ["--object-store-memory=100000000", "--dashboard-host=127.0.0.1"]
    command += [f"--{name}={port}" for name, port in ports.items()]
    with open(os.devnull, "wb") as quiet:
        ray = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        for url in (f"http://127.0.0.1:{ports[name]}" for name in ("dashboard-port", "dashboard-agent-listen-port")):
            wait_for(url, environment["RAY_AUTH_TOKEN"])
        yield f"http://127.0.0.1:{ports['dashboard-port']}"
    finally:
        os.killpg(ray.pid, signal.SIGTERM)
        ray.wait()
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(url: str, token: str) -> None:
    """Wait until a server answers."""
    until = time.monotonic() + LIMIT_SECONDS
    asked = urllib.request.Request(f"{url}/api/jobs/", headers={"Authorization": f"Bearer {token}"})
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(asked, timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(url)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=50, help="of each run (default: 50)")
    folder = sums(Path(tempfile.mkdtemp(prefix="job-")), instances=parser.parse_args().instances)
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16), "RAY_USAGE_STATS_ENABLED": "0"}
    environment = {**os.environ, **own, "PYTHONPATH": str(ROOT)}
    started = time.monotonic()
    with ray_with_dashboard(environment) as address:
        print(f"Ray with its dashboard: {time.monotonic() - started:.1f} s", flush=True)
        started = time.monotonic()
        command = ["ray", "job", "submit", "--address", address, "--working-dir", ".", "--"]
        command += [sys.executable, "-m", "harness", "run", "sweep.yaml", "--executor", "ray"]
        command += ["--results-dir", str(folder / "results")]
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
        took = time.monotonic() - started
    found = results(folder)
    if ran.returncode or len(found) != RUNS:
        sys.exit(f"exit code {ran.returncode}, {len(found)} of {RUNS} runs:\n{ran.stdout}\n{ran.stderr}")
    print(f"ray job submit, {RUNS} runs: {took:.1f} s, exit code 0")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
