"""Replicas are killed at random moments: nothing is lost, nothing answered twice, at most a block is asked again.

    python tests/benchmarks/replica_kills.py 30 ray

Each round asks 6,000 requests of three replicas and kills one to three of them, at random times rather than after a
number of answers. The last line is what was seen.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness import Request, Response, ScoreRequest
from harness.contracts.specs import Component
from harness.inference.process_replica import local_replica
from harness.inference.ray_replica import ray_replica
from harness.inference.replica_pool import ReplicaPool
from harness.inference.replicas import MOST_ANSWERS, ModelSource
from tests.ray_nodes import one_ray_node

REQUESTS: list[Request] = [ScoreRequest(f"question {number}", " answer") for number in range(6000)]
LIMIT_SECONDS = 300.0


class Killer(threading.Thread):
    """Kills processes that have opened the log, at random moments."""

    def __init__(self, folder: Path, moments: list[float]) -> None:
        super().__init__(daemon=True)
        self.folder, self.moments, self.killed = folder, moments, 0

    def run(self) -> None:
        for seconds in self.moments:
            time.sleep(seconds)
            pids = [int(file.name) for file in self.folder.iterdir()]
            random.shuffle(pids)
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    (self.folder / str(pid)).unlink()
                    self.killed += 1
                    break


PLUGIN = """\
import os
from pathlib import Path
from harness import backend
from harness.models.offline.fake import FakeModel

@backend("marked", source="Made up.")
class Marked(FakeModel):
    '''Marks the process that it is in, and otherwise is `fake:`.'''

    def __init__(self, identifier, *, log: str, delay: float, folder: str) -> None:
        super().__init__(identifier, log=log, delay=delay)
        self._folder = Path(folder)

    def answer(self, requests):
        (self._folder / str(os.getpid())).touch()
        yield from super().answer(requests)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", nargs="?", type=int, default=30, help="replicas to kill (default: 30)")
    parser.add_argument("kind", nargs="?", choices=("process", "ray"), default="process", help="(default: process)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    chosen = parser.parse_args()
    random.seed(chosen.seed)
    with one_ray_node() if chosen.kind == "ray" else nullcontext():
        campaign(chosen.kind, chosen.kills)


def campaign(kind: str, wanted: int) -> None:
    """Kill replicas of a kind until that many are dead, and print what was lost."""
    expected = dict(ModelSource(Component(name="fake:0")).open().answer(REQUESTS))
    killed = again = rounds = 0
    longest = 0.0
    while killed < wanted:
        folder = Path(tempfile.mkdtemp())
        (folder / "pids").mkdir()
        (folder / "marked.py").write_text(PLUGIN)
        arguments = {"log": str(folder / "log"), "delay": 0.0005, "folder": str(folder / "pids")}
        source = ModelSource(Component(name="marked:0", arguments=arguments), (folder / "marked.py",))
        launches = [
            ray_replica(source) if kind == "ray" else local_replica(source, f"process {number}") for number in range(3)
        ]
        pool = ReplicaPool("marked:0", launches)
        pool.ready()
        killer = Killer(folder / "pids", [random.uniform(0.0, 2.0) for _ in range(random.randint(1, 3))])
        killer.start()
        started, found = time.perf_counter(), dict[int, Response]()
        for index, response in pool.answer(REQUESTS):
            assert index not in found, "answered twice"
            found[index] = response
        took = time.perf_counter() - started
        killer.join()
        pool.close()
        poisoned = [index for index, response in found.items() if response.error]
        assert len(found) == len(REQUESTS), "lost"
        assert took < LIMIT_SECONDS
        answers = {index: response for index, response in found.items() if index not in set(poisoned)}
        assert all(replace(response, seconds=0.0) == expected[index] for index, response in answers.items())
        twice = sum(count - 1 for count in Counter((folder / "log").read_text().split()).values())
        assert twice <= MOST_ANSWERS * killer.killed, (twice, killer.killed)
        killed, again, rounds, longest = killed + killer.killed, again + twice, rounds + 1, max(longest, took)
        print(
            f"round {rounds}: {killer.killed} killed, {twice} asked again, {len(poisoned)} failed, {took:.1f} s",
            flush=True,
        )
    print(f"{kind}: {killed} killed in {rounds} rounds, {again} asked again, longest round {longest:.1f} s")


if __name__ == "__main__":
    main()
