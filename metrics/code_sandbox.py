"""Running a program that a model wrote: a process of its own, little of everything, an end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from harness import MetricError

_PASSED = 83
"""The exit code of a program that came to its end; others, 0 included, a program can give itself by leaving early."""

_DRIVER = """
import os, resource, sys
processor, memory, file_size, files, processes, passed = map(int, sys.argv[1:7])
for limit, value in (
    (resource.RLIMIT_CPU, processor), (resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, file_size),
    (resource.RLIMIT_NOFILE, files), (resource.RLIMIT_NPROC, processes), (resource.RLIMIT_CORE, 0),
):
    hard = resource.getrlimit(limit)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))
source = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
sys.argv = ["program"]
try:
    exec(compile(source, "<program>", "exec"), {"__name__": "__main__"})
except BaseException:
    os._exit(1)
os._exit(passed)
"""
"""What the new interpreter runs: limits first, then the program from its standard input."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use.

    Attributes:
        seconds: Wall time, and, rounded up, processor time.
        memory: Address space, in MiB.
        file_size: The largest file that it may write, in MiB.
        files: Open files.
        processes: Processes and threads; the system does not hold its superuser to it.
    """

    seconds: float = 3.0
    memory: int = 1024
    file_size: int = 16
    files: int = 64
    processes: int = 32


def passes(program: str, limits: Limits = Limits()) -> bool:
    """Return whether a Python program comes to its end, within its limits and without an exception.

    It runs in a new interpreter that sees no environment variable and no installed package, in an empty folder that is
    deleted afterwards. Where the system offers namespaces to ordinary users (Linux), it has no network, and processes
    that it left behind are ended with it. **It is no wall against code that means harm**: the program can read, and
    delete, what the user who runs it can. Run what you do not trust in a container or a virtual machine.

    Raises:
        MetricError: The system has no resource limits (Windows), or cannot start a process.
    """
    if os.name != "posix":
        raise MetricError(
            "code is executed under resource limits, which this system does not have; use Linux or macOS."
        )
    amounts = [-int(-limits.seconds // 1), limits.memory << 20, limits.file_size << 20, limits.files, limits.processes]
    command = [*_isolation(), sys.executable, "-I", "-S", "-c", _DRIVER, *map(str, amounts), str(_PASSED)]
    with tempfile.TemporaryDirectory(prefix="program-", ignore_cleanup_errors=True) as folder:
        try:
            process = subprocess.Popen(  # noqa: S603 - the program is the point, and what is around it is ours
                command,
                cwd=folder,
                env={"HOME": folder, "TMPDIR": folder, "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise MetricError(f"no process could be started to execute code: {error}") from error
        try:
            process.communicate(program.encode("utf-8", "surrogatepass"), timeout=limits.seconds)
        except subprocess.TimeoutExpired:
            return False
        finally:
            _end(process)
        return process.returncode == _PASSED


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and whatever it started in its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    process.wait()


@cache
def _isolation() -> tuple[str, ...]:
    """Return the command that starts another without a network and as the first of its processes; empty without one."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    command = (unshare, "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")
    try:
        tried = subprocess.run([*command, "true"], capture_output=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return command if tried.returncode == 0 else ()
