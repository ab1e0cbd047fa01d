"""How many answers a second come from replicas: processes of this machine, and actors of a Ray of one node.

The model answers at once, so what is measured is the way of requests, of two kilobytes, and answers. Target: 10,000 a
second through Ray on two cores. Processor time (pool and replicas together) is shown beside wall time, which what else
runs on the machine makes longer.

    python tests/benchmarks/replica_throughput.py 50000
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness import Request, ScoreRequest
from harness.contracts.specs import Component
from harness.inference.process_replica import local_replica
from harness.inference.ray_replica import ray_replica
from harness.inference.replica_pool import ReplicaPool
from harness.inference.replicas import Launch, ModelSource
from tests.ray_nodes import one_ray_node

MODEL = """\
from harness import Model, Response, backend

@backend("instant", source="Made up.")
class Instant(Model):
    '''Answers at once.'''

    answers = frozenset({"score"})

    def __init__(self, identifier):
        pass

    def fingerprint(self):
        return {"backend": "instant"}

    def answer(self, requests):
        for index, request in enumerate(requests):
            yield index, Response(logprobs=(-0.5, -index * 0.1), greedy=True, prompt_tokens=512, completion_tokens=2)
"""
TARGET = 10_000


def requests_of(count: int) -> list[Request]:
    """Return requests of about two kilobytes."""
    header = "".join(f"Question {number}: is it so? Answer: yes\n" for number in range(50))
    return [ScoreRequest(f"{header}Question {number}: is it so? Answer:", " yes") for number in range(count)]


def seconds_of(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def measure(kind: str, replicas: int, launch: Callable[[int], Launch], requests: list[Request]) -> None:
    pool = ReplicaPool("instant:0", [launch(number) for number in range(replicas)])
    list(pool.answer(requests[:4096]))  # all are started
    while len(pool.facts()) < replicas:
        list(pool.answer(requests[:4096]))
    processes = [psutil.Process(), *(psutil.Process(facts.worker["pid"]) for facts in pool.facts())]
    spent, wall = seconds_of(processes), time.perf_counter()
    count = sum(1 for _ in pool.answer(requests))
    wall, spent = time.perf_counter() - wall, seconds_of(processes) - spent
    rate = 2 * count / spent
    met = "" if kind != "ray" else "target met" if rate >= TARGET else f"target {TARGET:,} MISSED"
    print(
        f"{kind:8} {replicas} replicas  {count / wall:8,.0f} a second of wall time, {rate:8,.0f} of two processors' "
        f"time ({spent / count * 1e6:4.0f} µs each) {met}",
        flush=True,
    )
    pool.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", nargs="?", type=int, default=50_000, help="(default: 50,000)")
    requests = requests_of(parser.parse_args().answers)
    file = Path(tempfile.mkdtemp()) / "instant.py"
    file.write_text(MODEL)
    source = ModelSource(Component(name="instant:0"), (file,))
    for replicas in (1, 2):
        measure("process", replicas, lambda number: local_replica(source, f"process {number}"), requests)
    with one_ray_node():
        for replicas in (1, 2):
            measure("ray", replicas, lambda number: ray_replica(source), requests)


if __name__ == "__main__":
    main()
