"""Rebuilds the site of a results folder when records change, and reports the progress of running sweeps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.errors import DataError, HarnessError
from harness.progress.file import read_progress
from harness.storage.results import RUN_FILE, run_directories

POLL_SECONDS = 2.0
LONGEST_WAIT = 20.0
"""Seconds after which the site is rebuilt at the latest while records keep changing."""

Build = Callable[[Path, Path, Sequence[str] | None], Path]
"""Builds the site of a results folder into a folder, of some suites or of all."""


@dataclass(frozen=True, slots=True)
class LiveState:
    """The state that open pages ask for."""

    build: int
    """Number of builds so far; a page that was loaded after an earlier one is out of date."""
    problem: str
    """Why the last build failed; empty if it succeeded."""
    sweeps: Sequence[dict[str, Any]]
    """The progress of the folder's sweeps, running ones first."""
    now: float
    """Seconds since the epoch by this machine's clock."""


class LiveSite:
    """Builds a site, watches the results folder, and rebuilds once changed records are unchanged for one poll.

    Args:
        results_dir: The results folder.
        output: The site's folder.
        build: Builds the site.
        suites: The suites to show; None for all.
        poll: Seconds between two looks at the files.
        further: Returns the files other than records that the site is built of.
    """

    def __init__(
        self,
        results_dir: Path,
        output: Path,
        build: Build,
        suites: Sequence[str] | None = None,
        poll: float = POLL_SECONDS,
        further: Callable[[], Iterable[Path]] = tuple,
    ) -> None:
        self.output, self._further = output, further
        self._results_dir, self._build, self._suites, self._poll = results_dir, build, suites, poll
        self._builds, self._problem = 0, ""
        self._built_of = self._seen = self._look()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Build the site and watch from now on.

        Raises:
            HarnessError: The first build fails; later failures are in :attr:`LiveState.problem`.
        """
        self._rebuild()
        self._thread = threading.Thread(target=self._watch, name="live-site", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; wait for a build that is under way."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def state(self) -> LiveState:
        """Return the current state."""
        sweeps = [asdict(sweep) for sweep in read_progress(self._results_dir)]
        return LiveState(self._builds, self._problem, sweeps, time.time())

    def _rebuild(self) -> None:
        self._built_of = self._look()
        self._build(self._results_dir, self.output, self._suites)
        self._builds += 1
        self._problem = ""

    def _watch(self) -> None:
        changed_at: float | None = None
        while not self._stop.wait(self._poll):
            before, self._seen = self._seen, self._look()
            if self._seen == self._built_of:
                changed_at = None
                continue
            changed_at = changed_at or time.monotonic()
            if self._seen != before and time.monotonic() - changed_at < LONGEST_WAIT:
                continue
            changed_at = None
            try:
                self._rebuild()
            except HarnessError as error:
                self._problem = str(error)

    def _look(self) -> dict[str, tuple[int, int]]:
        """Return size and time of each record and further file."""
        found = {}
        try:
            directories = run_directories(self._results_dir, self._suites)
        except (DataError, OSError):  # the folder was moved or does not exist yet: treated as empty
            return {}
        for file in (*(directory / RUN_FILE for directory in directories), *self._further()):
            try:
                status = file.stat()
            except OSError:  # gone since the folder was listed
                continue
            found[str(file)] = (status.st_size, status.st_mtime_ns)
        return found
