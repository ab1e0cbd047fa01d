"""Kill replicas, heads, nodes and drivers of a sweep on a real Ray cluster at random moments, and count what is lost.

A sweep of 6 runs on 2 models (one with two replicas, one in its head) runs again and again on two worker nodes; during
each, one process or node dies at a random moment. Afterwards the results must equal those of one undisturbed process,
byte for byte, no question may be asked again but one block of 64 for each stream that broke, and nothing may hang.

    python tests/benchmarks/cluster_faults.py 30 --kinds replica,head
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.cluster_sweep import asked, check_results, results, run, start, sums
from tests.ray_nodes import RayNodes, ray_nodes

LIMIT_SECONDS = 600.0
"""Seconds after which a sweep counts as hung."""
INSTANCES = 300


@dataclass
class Tally:
    """What came of one kind of death."""

    sweeps: int = 0
    late: int = 0
    """Sweeps that had ended before their moment came."""
    hung: int = 0
    failed: int = 0
    different: int = 0
    again: list[int] = field(default_factory=list)
    """Questions that were asked more than once, of each sweep."""
    seconds: list[float] = field(default_factory=list)


def kill(cluster: RayNodes, title: str, draw: random.Random) -> bool:
    found = cluster.workers(title=title)
    if found:
        os.kill(draw.choice(found), signal.SIGKILL)
    return bool(found)


def kill_node(cluster: RayNodes, draw: random.Random) -> bool:
    cluster.remove(draw.choice(cluster.nodes[1:]))
    cluster.add(3)
    return True


KINDS: dict[str, Callable[[RayNodes, random.Random], bool]] = {
    "replica": lambda cluster, draw: kill(cluster, "ray::Replica", draw),
    "head": lambda cluster, draw: kill(cluster, "ray::RayHead", draw),
    "node": kill_node,
}


ALL = (*KINDS, "driver")


def _kinds(text: str) -> list[str]:
    kinds = text.split(",")
    if unknown := set(kinds) - set(ALL):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))} is not among {', '.join(ALL)}")
    return kinds


def trial(kind: str, cluster: RayNodes, expected: Any, draw: random.Random, tally: Tally) -> None:
    folder = sums(Path(tempfile.mkdtemp(prefix="faults-")), instances=INSTANCES)
    began = time.monotonic()
    process = start(folder, cluster.address)
    moment = draw.randrange(1, 6 * INSTANCES)  # counted in questions, so that it does not depend on the machine's load
    try:
        while process.poll() is None and asked(folder).total() < moment:
            if time.monotonic() - began > LIMIT_SECONDS:
                raise subprocess.TimeoutExpired(process.args, LIMIT_SECONDS)
            time.sleep(0.05)
        if kind == "driver":
            tally.late += process.poll() is not None
            process.kill()
            process.communicate()
            process = start(folder, cluster.address)
        else:
            tally.late += not KINDS[kind](cluster, draw) or process.poll() is not None
        text, _ = process.communicate(timeout=max(1.0, LIMIT_SECONDS - (time.monotonic() - began)))
    except subprocess.TimeoutExpired:
        tally.hung += 1
        process.kill()
        print(f"HUNG after {kind} at question {moment}: {folder}\n{process.communicate()[0]}", flush=True)
        return
    finally:
        tally.sweeps += 1
    tally.seconds.append(time.monotonic() - began)
    tally.again.append(asked(folder).total() - len(asked(folder)))
    if process.returncode != 0:
        tally.failed += 1
        print(f"FAILED after {kind} at question {moment}: {folder}\n{text}", flush=True)
        return
    if kind == "driver":
        shutil.rmtree(folder / "results" / ".jobs", ignore_errors=True)  # of the one that was killed
    try:
        check_results(folder, expected)
    except AssertionError as error:
        tally.different += 1
        print(f"DIFFERENT after {kind} at question {moment}: {folder}\n{error}", flush=True)
        return
    shutil.rmtree(folder)


def show(tallies: dict[str, Tally]) -> None:
    names = ("killed", "moments", "too late", "hung", "failed", "different", "asked again, median", "most", "seconds")
    print("  ".join(names))
    for kind, tally in tallies.items():
        again, seconds = sorted(tally.again) or [0], sorted(tally.seconds) or [0.0]
        cells = (kind, tally.sweeps, tally.late, tally.hung, tally.failed, tally.different)
        more = (again[len(again) // 2], again[-1], f"{seconds[len(seconds) // 2]:.0f}")
        row = zip(names, (*cells, *more), strict=True)
        print("  ".join(str(cell).rjust(len(name)) for name, cell in row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moments", nargs="?", type=int, default=30, help="deaths of each kind (default: 30)")
    parser.add_argument("--kinds", type=_kinds, default=ALL, metavar=",".join(ALL), help="what dies (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    chosen = parser.parse_args()
    moments, kinds, draw = chosen.moments, chosen.kinds, random.Random(chosen.seed)
    alone = sums(Path(tempfile.mkdtemp(prefix="alone-")), instances=INSTANCES)
    run(alone, None, seconds=LIMIT_SECONDS)
    expected = results(alone)
    tallies = {kind: Tally() for kind in kinds}
    with ray_nodes(workers=2, cpus=3) as cluster:
        for number in range(moments):
            for kind, tally in tallies.items():
                trial(kind, cluster, expected, draw, tally)
            if number % 5 == 4 or number == moments - 1:
                show(tallies)


if __name__ == "__main__":
    main()
