"""The names of trainings in a results folder: each belongs to one training, so that none replaces another's results.

A file in the results folder, ``.trainings/NAME.json``, records the output folder of the training. A file in the output
folder has a random mark that identifies the training after its folder was moved. A copy of it is another training.
"""

from __future__ import annotations

import hashlib
import json
import platform
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from harness.errors import HarnessError
from harness.python.live_model import safe_name
from harness.python.superseded import has_runs
from harness.storage.durable import make_folder, write_whole, writing
from harness.storage.file_systems import network_file_system

FOLDER = ".trainings"
MARK = ".harness-training"
_WRITE_SECONDS = 2.0
"""Longest time that another process takes to write a file that it has just created."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The training that a name belongs to."""

    series: str
    """The name."""
    folder: str
    """Its output folder, absolute."""
    machine: str
    """The machine that has the folder; empty on a network file system."""
    mark: str
    """The mark in its output folder; empty if none could be written."""

    def owns(self, output: Path) -> bool:
        """Return True if an output folder belongs to this training, even if it was moved."""
        here, mark = output.resolve(), _mark(output)
        marked = bool(mark) and mark == self.mark
        if str(here) == self.folder:
            return marked or _machine(here) == self.machine
        return marked and _mark(Path(self.folder)) != mark

    def __str__(self) -> str:
        return f"{self.folder} on {self.machine}" if self.machine not in ("", platform.node()) else self.folder


def check_name(results_dir: Path, series: str, output: Path, option: str, suites: Sequence[str] = ()) -> None:
    """Refuse a name that belongs to another training.

    Args:
        results_dir: The results folder.
        series: The name.
        output: The output folder of the training.
        option: How users give another name, such as ``series=``.
        suites: Suites in which the name is also refused if they have results of models in memory with this name, and
            no training is recorded for it.

    Raises:
        HarnessError: The name belongs to another training.
    """
    owner = _owner(results_dir, series)
    if owner is None:
        if not any(has_runs(results_dir, suite, series) for suite in suites):
            return
    elif owner.owns(output):
        return
    place = "not known" if owner is None else owner
    raise HarnessError(
        f"{results_dir}: the name {series!r} belongs to another training, whose output folder is {place}. Give this "
        f"training another name with {option}, or the same name if it is the same training."
    )


def check_renamed(results_dir: Path, series: str, output: Path, option: str) -> None:
    """Refuse a new name for a training whose results are there under another one, since they would move to it.

    Raises:
        HarnessError: A file of the results folder records another name.
    """
    for path in sorted((results_dir / FOLDER).glob("*.json")):
        try:
            other = str(json.loads(path.read_bytes())["series"])
        except (OSError, ValueError, LookupError, TypeError):
            continue
        owner = _owner(results_dir, other)
        if other != series and owner is not None and owner.owns(output):
            raise HarnessError(
                f"{results_dir}: the results of {output} are already stored as {other!r} and would be renamed to "
                f"{series!r}. Use {option} {other}, or another folder for results."
            )


def claim_name(results_dir: Path, series: str, output: Path, option: str, *, given: bool) -> None:
    """Record that a name belongs to a training; arguments and errors are those of :func:`check_name`.

    Args:
        results_dir: The results folder.
        series: The name.
        output: The output folder.
        option: How users give another name.
        given: True if the user chose this name; it may then be taken from another training.

    Raises:
        StorageError: The results folder cannot be written.
    """
    if not given:
        check_name(results_dir, series, output, option)
    here = output.resolve()
    owner = Owner(series, str(here), _machine(here), _mark(output) or _new_mark(output))
    path = _path(results_dir, series)
    content = json.dumps(asdict(owner)).encode()
    with writing(path):
        make_folder(path.parent)
        try:
            with path.open("xb") as file:
                file.write(content)
        except FileExistsError:
            if not given:  # another training that started at the same time may have written it
                check_name(results_dir, series, output, option)
            write_whole(path, content)


def _owner(results_dir: Path, series: str) -> Owner | None:
    path = _path(results_dir, series)
    waited = 0.0
    while True:
        try:
            read = json.loads(path.read_bytes())
            return Owner(**{field.name: str(read[field.name]) for field in fields(Owner)})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError) as error:
            if waited >= _WRITE_SECONDS:
                raise HarnessError(f"{path} cannot be read ({error}). Delete it if no training is running.") from None
            time.sleep(0.1)
            waited += 0.1


def _path(results_dir: Path, series: str) -> Path:
    digest = hashlib.sha256(series.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return results_dir / FOLDER / f"{safe_name(series)[:60]}-{digest}.json"


def _machine(folder: Path) -> str:
    return "" if network_file_system(folder) else platform.node()


def _mark(output: Path) -> str:
    try:
        return (output / MARK).read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""


def _new_mark(output: Path) -> str:
    """Write a mark into an output folder, and return it; '' if the folder cannot be written."""
    mark = secrets.token_hex(8)
    with suppress(OSError):
        output.mkdir(parents=True, exist_ok=True)
        write_whole(output / MARK, f"{mark}\n".encode())
        return mark
    return ""
