"""An engine's processes are found, and end: by themselves, when told to, or when killed."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from harness.models.vllm.processes import end_processes, engine_processes

psutil: Any = pytest.importorskip("psutil")

SLEEP = "import time; print(flush=True); time.sleep(100)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEP
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {DEAF!r}]).wait()"


def start(program: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def client(*processes: subprocess.Popen[str], coordinator: Any = None) -> Any:
    return SimpleNamespace(
        resources=SimpleNamespace(engine_manager=SimpleNamespace(processes=list(processes)), coordinator=coordinator)
    )


def test_who_ends_by_itself_is_waited_for() -> None:
    ending = start("import time; print(flush=True); time.sleep(0.2)")
    end_processes(engine_processes(client(ending)), seconds=60)
    assert ending.wait(timeout=60) == 0


@pytest.mark.parametrize(("program", "signal"), [(SLEEP, -15), (DEAF, -9)])
def test_who_does_not_is_terminated_then_killed(program: str, signal: int) -> None:
    process = start(program)
    end_processes(engine_processes(client(process)), seconds=0.2 if program == DEAF else 2)
    assert process.wait(timeout=60) == signal


def test_the_family_are_those_that_an_engine_started_and_no_others() -> None:
    parent, bystander, coordinator = start(PARENT), start(SLEEP), start(SLEEP)
    try:
        found = engine_processes(client(parent, coordinator=SimpleNamespace(proc=coordinator)))
        [grandchild] = psutil.Process(parent.pid).children()
        assert {process.pid for process in found} == {parent.pid, grandchild.pid, coordinator.pid}
        end_processes(found, seconds=0.2)
        assert not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE
        assert parent.wait(timeout=60) < 0
        assert coordinator.wait(timeout=60) < 0
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait(timeout=60)


def test_an_engine_in_this_process_and_one_that_has_ended_have_no_family() -> None:
    ended = start("print(flush=True)")
    ended.wait(timeout=60)
    assert engine_processes(SimpleNamespace()) == []
    assert engine_processes(client(ended)) == []
