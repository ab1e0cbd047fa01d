"""How fast the command line answers: `python tests/benchmarks/command_line.py [repetitions]`.

Each command runs in a fresh process; the median is printed beside its target. The machine should be idle: processor
time is shown beside the clock's, which what else runs makes longer.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TYPO = "suite: typo\nmodels: [hf:./nowhere]\nruns:\n  - sample_sentimant\n"


def seconds(command: list[str], expected: int) -> tuple[float, float]:
    """Return the wall time and the processor time of a command, in seconds.

    Raises:
        RuntimeError: It exits with another code than expected.
    """
    started, before = time.perf_counter(), _processor()
    ran = subprocess.run(command, capture_output=True, text=True)
    elapsed = time.perf_counter() - started, _processor() - before
    if ran.returncode != expected:
        raise RuntimeError(f"{' '.join(command)} exited {ran.returncode}, not {expected}:\n{ran.stderr}")
    return elapsed


def _processor() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main(repetitions: int) -> int:
    """Time each command that many times; return 1 if a median misses its target."""
    harness = [sys.executable, "-m", "harness"]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        sweep = Path(folder, "typo.yaml")
        sweep.write_text(TYPO, encoding="utf-8")
        cases = [
            ("harness --help", [*harness, "--help"], 0, 0.4),
            ("harness list scenarios", [*harness, "list", "scenarios"], 0, 1.0),
            ("harness run <a sweep with a typo>", [*harness, "run", str(sweep)], 2, 1.0),
        ]
        for title, command, code, target in cases:
            seconds(command, code)  # fills the file caches
            times, processor = zip(*(seconds(command, code) for _ in range(repetitions)), strict=True)
            median = statistics.median(times)
            missed += median > target
            print(
                f"{title:36} median {median:.2f} s of {repetitions} ({min(times):.2f} to {max(times):.2f}), "
                f"target {target:.1f} s {'met' if median <= target else 'MISSED'}; "
                f"processor {statistics.median(processor):.2f} s"
            )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 7))
