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
folder = sys.argv[7]
if folder:
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    def check(result):
        if result != 0:
            raise OSError(ctypes.get_errno(), "the file system cannot be made read-only")
    def read_only(path, yes, flags):
        attributes = (ctypes.c_uint64 * 4)(int(yes), int(not yes), 0, 0)  # MOUNT_ATTR_RDONLY is 1
        check(libc.syscall(442, -100, os.fsencode(path), flags, attributes, 32))  # mount_setattr, AT_FDCWD
    check(libc.mount(os.fsencode(folder), os.fsencode(folder), None, 0x1000, None))  # MS_BIND
    read_only("/", True, 0x8000)  # AT_RECURSIVE
    read_only(folder, False, 0)
    os.chdir(folder)
    # Nothing that comes from here on may undo it: without capabilities there is no mounting, and in a namespace made
    # anew these mounts stay as they are.
    check(libc.prctl(38, 1, 0, 0, 0))  # PR_SET_NO_NEW_PRIVS
    for capability in range(64):
        if libc.prctl(24, capability, 0, 0, 0) != 0:  # PR_CAPBSET_DROP; there are no more
            break
    check(libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()))
    del ctypes, libc, check, read_only
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
"""What the new interpreter runs: it shuts the file system, sets limits, and runs what it reads from its input.

The numbers are Linux's, from linux/mount.h, linux/fcntl.h, linux/prctl.h and linux/capability.h; mount_setattr has the
same one on all architectures (Linux 5.12, 2021).
"""


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
    deleted afterwards. Where the system offers namespaces to ordinary users (Linux), it has no network, processes that
    it left behind are ended with it, and, from Linux 5.12 on, it can write, change and delete files in its own folder
    only (:func:`confinement` says what there is). **It is no wall against code that means harm**: the program can read
    what the user who runs it can, speak to local services through their sockets, and use whatever hole the system's
    kernel has; elsewhere it can change and delete the user's files. Run what you do not trust in a container or a
    virtual machine.

    Raises:
        MetricError: The system has no resource limits (Windows), or cannot start a process.
    """
    if os.name != "posix":
        raise MetricError(
            "code is executed under resource limits, which this system does not have; use Linux or macOS."
        )
    found = confinement()
    with tempfile.TemporaryDirectory(prefix="program-", ignore_cleanup_errors=True) as folder:
        command = [*found.command, *_interpreter(limits, folder if found.read_only else "")]
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


@dataclass(frozen=True, slots=True)
class Confinement:
    """What the system offers against what a program does by mistake.

    Attributes:
        command: Starts another command without a network, as the first of its processes; empty where that is not to be
            had.
        read_only: Whether, in it, all files but those of one folder can be made read-only.
    """

    command: tuple[str, ...] = ()
    read_only: bool = False


@cache
def confinement() -> Confinement:
    """Return what this system offers; it is tried out once."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return Confinement()
    command = (unshare, "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")
    with tempfile.TemporaryDirectory(prefix="program-", ignore_cleanup_errors=True) as folder:
        if _returns([*command, "--mount", *_interpreter(Limits(), folder)], _PASSED):
            return Confinement((*command, "--mount"), read_only=True)
    return Confinement(command) if _returns([*command, "true"], 0) else Confinement()


def _interpreter(limits: Limits, folder: str) -> list[str]:
    """Return the command of the interpreter, which leaves only that folder writable; an empty name leaves all."""
    amounts = [-int(-limits.seconds // 1), limits.memory << 20, limits.file_size << 20, limits.files, limits.processes]
    return [sys.executable, "-I", "-S", "-c", _DRIVER, *map(str, amounts), str(_PASSED), folder]


def _returns(command: list[str], code: int) -> bool:
    try:
        tried = subprocess.run(command, input=b"", capture_output=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == code
