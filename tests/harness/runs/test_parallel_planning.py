"""Parts of a job done in several processes: the same results, clear errors, and no process left over."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("processes are forked on Linux alone", allow_module_level=True)

SCRIPT = """
import os, signal, sys, time
from pathlib import Path
from harness.runs.parallel_planning import in_processes, processes_for
from harness.errors import DataError
"""


def run(script: str, *arguments: object, code: int = 0) -> str:
    """Run a script in a process of its own, where nothing has been imported that a fork does not survive."""
    command = [sys.executable, "-c", SCRIPT + script, *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == code, ran.stderr
    return ran.stdout + ran.stderr


def gone(process: int) -> bool:
    """Return True once a process has ended, which may take a moment."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_all_parts_are_done_and_the_results_of_a_part_stay_together() -> None:
    said = run(
        "found = list(in_processes([3, 1, 2], lambda n: ((n, i, os.getpid()) for i in range(n)), 2, str))\n"
        "parts = [n for n, i, _ in found if i == 0]\n"
        "print(sorted(parts), [(n, i) for n, i, _ in found] == [(n, i) for n in parts for i in range(n)])\n"
        "print(os.getpid() not in {one for _, _, one in found})"
    )
    assert said.splitlines() == ["[1, 2, 3] True", "True"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("DataError('no such file: x.csv')", "HarnessError: no such file: x.csv"),
        ("ZeroDivisionError('a mistake')", "ZeroDivisionError: a mistake"),
    ],
)
def test_an_error_in_a_part_is_raised_here(error: str, expected: str) -> None:
    said = run(f"def do(n):\n    yield n\n    raise {error}\nlist(in_processes([1, 2], do, 2, str))", code=1)
    assert expected in said


def test_a_killed_process_is_named_with_what_it_did_and_the_others_end() -> None:
    said = run(
        "def do(n):\n"
        "    os.write(1, b'%d\\n' % os.getpid())\n"
        "    if n == 2:\n        time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)\n"
        "    time.sleep(60)\n"
        "    yield n\n"
        "list(in_processes([1, 2], do, 2, lambda n: f'run {n}'))",
        code=1,
    )
    assert "HarnessError: the process that planned run 2 was killed by SIGKILL. It may have been short of mem" in said
    assert all(gone(int(line)) for line in said.splitlines() if line.isdigit())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_an_interrupted_or_killed_parent(how: signal.Signals) -> None:
    script = "def do(n):\n    os.write(1, b'%d\\n' % os.getpid())\n    time.sleep(60)\n    yield n\n"
    script += "list(in_processes([1, 2], do, 2, str))"
    command = [sys.executable, "-c", SCRIPT + script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [int(parent.stdout.readline()) for _ in range(2)]
        parent.send_signal(how)
        assert [gone(child) for child in children] == [True, True]


def test_a_sweep_is_planned_as_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(
        "suite: s\nmodels: ['fake:0', 'fake:1']\nruns:\n"
        "  - {scenario: 'dyck_language:num_parenthesis_pairs=3', max_eval_instances: 20}\n"
        "  - {scenario: 'synthetic_reasoning_natural:difficulty=easy', max_eval_instances: 40}\n"
        "  - {scenario: boolq}\n"
    )
    said = run(
        "from harness.runs import sweep_plan\nfrom harness.sweeps.load import load_sweep\n"
        "from harness.runs.runner import Settings\n"
        "sweep, registry = load_sweep(Path(sys.argv[1]))\n"
        "settings = Settings(Path(sys.argv[2]), Path(sys.argv[2]))\n"
        "def planned():\n"
        "    found = sweep_plan.plan_runs(sweep.runs, registry, settings)\n"
        "    return sorted(((index, spec.name, outcome) for index, spec, outcome in found), key=lambda one: one[0])\n"
        "forks, fork = [], os.fork\n"
        "os.fork = lambda: forks.append(1) or fork()\n"
        "alone = planned()\n"
        "print('forks', len(forks))\n"  # too small a sweep
        "sweep_plan.PARALLEL_FROM, sweep_plan.processes_for = 0, lambda parts: min(parts, 2)\n"
        "print(planned() == alone, 'forks', len(forks))\n"
        "print([type(outcome).__name__ for _, _, outcome in alone])",
        tmp_path / "sweep.yaml",
        tmp_path,
    )
    assert said.splitlines() == ["forks 0", "True forks 2", "['Plan', 'Plan', 'Plan', 'Plan', 'str', 'str']"]


def test_a_process_with_threads_or_torch_is_not_forked() -> None:
    said = run(
        "import threading, types\n"
        "os.sched_getaffinity = lambda _: set(range(64))\n"
        "print(processes_for(1), processes_for(2), processes_for(1000))\n"
        "sys.modules['torch'] = types.ModuleType('torch')\n"
        "print(processes_for(2))\n"
        "del sys.modules['torch']\n"
        "threading.Thread(target=time.sleep, args=(1,)).start()\n"
        "print(processes_for(2))"
    )
    assert said.splitlines() == ["1 2 4", "1", "1"]
