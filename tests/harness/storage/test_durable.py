"""What is known of other processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from harness.storage.durable import is_alive


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="read in /proc")
def test_a_process_that_has_ended_is_not_alive_before_its_parent_takes_notice() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_alive(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(process.pid)
    process.communicate()
    assert is_alive(os.getpid())
