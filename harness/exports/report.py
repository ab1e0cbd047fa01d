"""What an export wrote, left out and refused."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.exports.stored_run import StoredRun


class CannotHoldError(HarnessError):
    """A format cannot hold something that a run needs, so the run is not exported.

    Args:
        message: What the format cannot hold and why; it follows ``RUN: not exported:``.
    """


class ExportReport:
    """Collects what an export did, to be shown at its end.

    Attributes:
        runs: Number of runs that were exported.
        left_out: How many things of each kind the format has no place for.
        left_out_of: The names of the runs that had them; not of all kinds.
        unsupported: For each run that the format cannot hold, a sentence that says why.
        refused: For each run that could not be exported for another reason, such as damaged examples, the reason.
        notes: Sentences that a user should read.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.left_out: Counter[str] = Counter()
        self.left_out_of: dict[str, dict[str, None]] = {}
        self._run = ""
        self.unsupported: list[str] = []
        self.refused: list[str] = []
        self.notes: list[str] = []

    def begin(self, run: StoredRun) -> None:
        """Say which run is written next."""
        self._run = run.record.name

    def exported(self, run: StoredRun) -> None:
        """Count a run that was written."""
        self.runs += 1

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count things that the format has no place for.

        Args:
            what: Their kind in the plural, such as ``statistics of groups``.
            count: Their number; 0 adds nothing.
        """
        if count:
            self.left_out[what] += count
            if self._run:
                self.left_out_of.setdefault(what, {})[self._run] = None

    def refuse(self, run: StoredRun, error: HarnessError) -> None:
        """Record that a run was not exported."""
        sentences = self.unsupported if isinstance(error, CannotHoldError) else self.refused
        sentences.append(f"{run.record.directory}: not exported: {error}")

    def note(self, sentence: str) -> None:
        """Add a sentence, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)
