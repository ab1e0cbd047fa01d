"""What `--executor ray` costs beside the local executor, on the same sweep, both at the same time.

The model takes 10 ms a question, so the work should take as long on both sides. Start-up (from the command to the first
question) and end (from the last question) are stated apart. On the cluster the model is once in its head and once in
two replicas, which should take half as long. Target: work at most 5 % longer than locally, on a run of 5 minutes.
Answers a second through Ray: `replica_throughput.py`.

    python tests/benchmarks/cluster_speed.py 300
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.cluster_sweep import start, sums
from tests.ray_nodes import ray_nodes

DELAY = 0.01
SWEEP = """\
suite: speed
plugins: [./sums.yaml]
models: [{{name: "fake:0", delay: {delay}, log: asked-0.log{resources}}}]
runs:
  - {{scenario: sums}}
  - {{scenario: sums, adapter: {{max_train_instances: 0}}}}
"""
TARGET = 0.05


@dataclass
class Side:
    """One way to run the sweep, and when things happened."""

    name: str
    replicas: int
    folder: Path
    process: Popen[str]
    began: float = field(default_factory=time.monotonic)
    first: float = 0.0
    last: float = 0.0
    ended: float = 0.0

    def look(self, questions: int) -> bool:
        """Note what has happened; return True once the command has ended."""
        now = time.monotonic()
        log = self.folder / "asked-0.log"
        asked = log.stat().st_size // 17 if log.exists() else 0  # 16 digits and a line's end
        if asked and not self.first:
            self.first = now
        if asked >= questions and not self.last:
            self.last = now
        if self.process.poll() is not None and not self.ended:
            self.ended = now
        return bool(self.ended)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=300.0, help="of work (default: 300)")
    instances = int(parser.parse_args().seconds / DELAY / 2)
    with ray_nodes(workers=2) as cluster:
        sides = []
        for name, replicas in (("local", 1), ("ray, in the head", 1), ("ray, two replicas", 2)):
            folder = sums(Path(tempfile.mkdtemp(prefix="speed-")), instances=instances)
            ray = name != "local"
            resources = f", resources: {{gpus: 0, replicas: {replicas}}}" if ray else ""
            (folder / "sweep.yaml").write_text(SWEEP.format(delay=DELAY, resources=resources))
            sides.append(Side(name, replicas, folder, start(folder, cluster.address if ray else None)))
        while sum(side.look(2 * instances) for side in sides) < len(sides):
            time.sleep(0.02)
    local = sides[0].last - sides[0].first
    for side in sides:
        text, _ = side.process.communicate()
        assert side.process.returncode == 0, text
        work = side.last - side.first
        more = work * side.replicas / local - 1
        met = "" if side is sides[0] else f", {more:+.1%}: target {TARGET:.0%} {'met' if more <= TARGET else 'MISSED'}"
        before, after = side.first - side.began, side.ended - side.last
        print(f"{side.name:18} start {before:5.1f} s, work {work:6.1f} s{met}, end {after:4.1f} s", flush=True)


if __name__ == "__main__":
    main()
