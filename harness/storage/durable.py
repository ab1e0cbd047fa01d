"""Write files so that they are whole or absent, even after a power cut: write aside, synchronise, rename."""

from __future__ import annotations

import errno
import glob
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.errors import StorageError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise a ``StorageError`` that names the file for any ``OSError`` in the block."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror or error}).") from error


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it always has its old or its new content, never a part.

    Raises:
        OSError: It cannot be written.
    """
    partial = partial_path(path)
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        put_in_place(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def put_in_place(partial: Path, path: Path) -> None:
    """Rename a file that is synchronised already, and synchronise its folder.

    Raises:
        OSError: It cannot be renamed.
    """
    partial.replace(path)
    sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """Make a folder with its parents, durably.

    Raises:
        OSError: It cannot be made.
    """
    missing = [path, *path.parents]
    missing = missing[: next((place for place, one in enumerate(missing) if one.exists()), len(missing))]
    path.mkdir(parents=True, exist_ok=True)
    for one in missing:
        sync_folder(one.parent)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can do that.

    Raises:
        OSError: The disk failed.
    """
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems have no such call
            raise
    finally:
        os.close(descriptor)


def partial_path(path: Path, host: str | None = None, process: int | None = None) -> Path:
    """Return the name under which a process writes a file; no other process, on any host, uses it.

    Args:
        path: The file.
        host: The process's machine; None for this one.
        process: Its id; None for this one.
    """
    return path.with_name(f".{path.name}.{host or platform.node()}.{process or os.getpid()}")


def clear_abandoned(directory: Path, names: Sequence[str]) -> None:
    """Remove the half-written files that killed processes of this host have left."""
    for name in names:
        for partial in directory.glob(f".{glob.escape(name)}.{glob.escape(platform.node())}.*"):
            process = partial.suffix[1:]
            if process.isdecimal() and int(process) != os.getpid() and not is_alive(int(process)):
                with suppress(OSError):
                    partial.unlink(missing_ok=True)


def is_alive(process: int) -> bool:
    """Return True if a process of this host is running, by its id, or if that cannot be known."""
    if os.name != "posix":  # on Windows os.kill would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    try:  # one that has ended, and whose parent has not taken notice, as often in containers
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except (OSError, ValueError, IndexError):
        return True


def process_space() -> str:
    """Return a text that is equal for two processes if they can see each other's process ids."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}:{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return f"{platform.node()}:{os.name}"
