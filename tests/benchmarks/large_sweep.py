"""How long the largest sweeps take before their first request: `python tests/benchmarks/large_sweep.py FOLDER`.

Writes a sweep of 4,939 runs (`paper` and MMLU with as many seeds as that takes, of the scenarios whose data
HARNESS_DATA_DIR has) for each of 30 models, 148,170 runs, and measures processor time and peak memory of

1. `harness validate`: loaded and checked;
2. `harness run` until the first request is put to a model: loaded, checked, dealt, its first runs prepared;
3. `harness run` of a sweep whose runs are all finished, of --finished N runs (default 2,000) of one example each.

Target: 1 and 2 each in 60 s of processor time and 2 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RUNS, MODELS = 4_939, 30

STOP = '''
import os, resource
from harness import backend
from harness.models.offline.fake import FakeModel


@backend("unasked", source="Ends the process at the first request.")
class Unasked(FakeModel):
    """Ends the process when it is asked.

    Args:
        identifier: Any text.
    """

    def __init__(self, identifier: str) -> None:
        super().__init__(identifier)

    def answer(self, requests):
        next(iter(requests))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=__import__("sys").stderr, flush=True)
        os._exit(0)
'''

MEASURED = """
import atexit, resource, sys
from harness.cli import main
atexit.register(lambda: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr))
main()
"""


def entries_here() -> list[tuple[Any, int]]:
    """Return the entries of `paper` and `mmlu` whose data are on this machine, each with its number of runs."""
    from harness.runs.runner import obstacles
    from harness.sweeps.load import find_sweep, sweep_from_mapping
    from harness.yaml_lines import load

    data_dir = Path(os.environ["HARNESS_DATA_DIR"])
    found = []
    for name in ("paper", "mmlu"):
        sweep = load(find_sweep(name)).data
        for entry in sweep["runs"]:
            one = {"suite": "large", "models": ["fake:0"], "defaults": sweep.get("defaults", {}), "runs": [entry]}
            checked, registry = sweep_from_mapping(one, allow=None)
            if not any(obstacles(checked.runs, registry, data_dir)) and not checked.warnings:
                found.append((entry, len(checked.runs)))
    return found


def write_sweep(path: Path, known: list[tuple[Any, int]], runs: int, models: Sequence[str]) -> None:
    """Write a sweep of that many runs for each model, from entries with their numbers of runs."""
    entries, left, seed = list[Any](), runs, 0
    while left:
        for entry, count in known:
            written = {"scenario": entry} if isinstance(entry, str) else dict(entry)
            if count > left:
                continue
            entries.append({**written, "seed": seed})
            left -= count
        seed += 1
    sweep: dict[str, Any] = {"suite": path.stem, "models": list(models), "plugins": ["unasked.py"], "runs": entries}
    sweep["defaults"] = {"max_eval_instances": 1000, "train_trials": 3}
    path.write_text(json.dumps(sweep, indent=1))
    (path.parent / "unasked.py").write_text(STOP)


def measure(title: str, command: Sequence[str]) -> float:
    """Run a command and print its processor time and peak memory; return the time."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run([sys.executable, "-c", MEASURED, *command], capture_output=True, text=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode:
        sys.exit(f"{' '.join(command)} exited {ran.returncode}:\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = int(ran.stderr.rstrip().rpartition("\n")[2]) / 1024
    print(f"{title:40} processor {processor:7.1f} s (clock {wall:6.1f} s), peak {memory:6.0f} MB", flush=True)
    return processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=RUNS, help="of each model")
    parser.add_argument("--models", type=int, default=MODELS)
    parser.add_argument("--finished", type=int, default=2_000, help="finished runs")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    known, results = entries_here(), ["--results-dir", str(chosen.folder / "results")]
    large, finished = chosen.folder / "large.yaml", chosen.folder / "finished.yaml"
    write_sweep(large, known, chosen.runs, [f"unasked:{number}" for number in range(chosen.models)])
    print(f"{chosen.runs:,} runs × {chosen.models} models = {chosen.runs * chosen.models:,}", flush=True)
    measure("harness validate", ["validate", str(large)])
    measure("harness run, to the first request", ["run", str(large), *results])
    write_sweep(finished, known, chosen.finished, ["fake:0"])
    again = ["run", str(finished), "--max-eval-instances=1", *results]
    measure(f"harness run, {chosen.finished:,} runs", again)
    seconds = measure("harness run, all finished", again)
    print(f"finished before: {1e3 * seconds / chosen.finished:.1f} ms a run")


if __name__ == "__main__":
    main()
