"""What other processes do of a sweep: runs that they have claimed or ended, and models that they have open."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from pathlib import Path

from harness.contracts.specs import RunSpec
from harness.errors import HarnessError
from harness.runs.claims import Claims, Holder, claim_key, held_by
from harness.runs.sweep_state import SweepState
from harness.storage.results import RUN_FILE, RunRecord, read_run, run_directory

POLL_SECONDS = 0.5
IDLE_SECONDS = 5.0
"""Seconds between two looks while runs are left that other processes will begin."""

Joins = Callable[[Sequence[RunSpec], int], bool]
"""Returns whether to open a model for these runs that nobody has begun, though that many others have it open."""


def always(runs: Sequence[RunSpec], others: int) -> bool:
    """Return True: join whatever is left to do."""
    return True


class Elsewhere:
    """Claims runs for this process, and keeps those that others have.

    Args:
        results_dir: The results folder.
        claims: This process's leases.
        state: The sweep's state, which says what is waited for.
        ended: Returns whether another process of the same job has ended a run.
        poll: Seconds between two looks at the others' leases.
        joins: Whether to open a model that others have open.
    """

    def __init__(
        self,
        results_dir: Path,
        claims: Claims,
        state: SweepState,
        ended: Callable[[RunSpec], bool] = lambda _: False,
        poll: float = POLL_SECONDS,
        joins: Joins = always,
    ) -> None:
        self._results_dir, self._claims, self._sweep, self._poll = results_dir, claims, state, poll
        self._ended, self._joins, self._model = ended, joins, ""
        self._passed_over = False
        self._left: list[RunSpec] = []
        self._before: dict[tuple[str, str], tuple[int, ...] | None] = {}

    def take_model(self, groups: Sequence[Sequence[RunSpec]]) -> Sequence[RunSpec] | None:
        """Return the runs of a model: the first that no other process has open, else one that few share.

        Of several that as many share, it is the one with most runs left. None if others have all of them open, and to
        open one here as well would take longer than it saves.

        Args:
            groups: The runs that are left, by model; not empty.

        Raises:
            StorageError: The lease cannot be written.
        """
        for specs in groups:
            if self._take(specs, 0):
                return specs
        # Most first: runs that nobody has begun.
        shared = sorted(((self._free(specs), specs) for specs in groups), key=lambda one: len(one[0]), reverse=True)
        for others in count(1):
            shared = [(free, specs) for free, specs in shared if self._joins(free, others)]
            for _, specs in shared:
                if self._take(specs, others):
                    return specs
            if not shared:
                break
        return None

    def _take(self, specs: Sequence[RunSpec], others: int) -> bool:
        self._model = f"{model_key(specs[0])}.{others}"
        return self._claims.acquire(self._model) is None

    def _free(self, specs: Sequence[RunSpec]) -> list[RunSpec]:
        """Return the runs that no other process has ended or begun."""
        return [spec for spec in specs if not self.ended(spec) and self._claims.holder(claim_key(spec)) is None]

    def pass_over(self, specs: Iterable[RunSpec]) -> None:
        """Leave runs to the processes that have their model open, and keep them for :meth:`wait`."""
        self._passed_over = True
        self._left += specs

    def release_model(self) -> None:
        """Give the model back that was taken last."""
        self._claims.release(self._model)

    def claim(self, spec: RunSpec) -> Holder | None:
        """Take a run for this process; return who has it where another process does.

        Raises:
            StorageError: The claim cannot be written.
        """
        self._before.setdefault(_name(spec), self._state(spec))
        return self._claims.acquire(claim_key(spec))

    def release(self, spec: RunSpec) -> None:
        """Give a run back, as it is now."""
        self._before[_name(spec)] = self._state(spec)
        self._claims.release(claim_key(spec))

    def postpone(self, spec: RunSpec) -> None:
        """Keep a run for :meth:`wait`."""
        self._left.append(spec)

    def finished(self, spec: RunSpec) -> bool:
        """Return whether another process has written the run's record since this one wanted to run it."""
        known = _name(spec) in self._before
        return self.ended(spec) or (known and self._state(spec) not in (None, self._before[_name(spec)]))

    def ended(self, spec: RunSpec) -> bool:
        """Return whether another process of the same job has ended a run."""
        return self._ended(spec)

    def record(self, spec: RunSpec) -> RunRecord | None:
        """Return the record of a run that another process of the same job has ended."""
        return self._record(spec) if self.ended(spec) else None

    def failed(self, spec: RunSpec) -> RunRecord | None:
        """Return the record of a run that another process has just seen fail, which would fail again."""
        record = self._record(spec) if self.finished(spec) else None
        return record if record is not None and record.status == "failed" else None

    def _record(self, spec: RunSpec) -> RunRecord | None:
        try:
            record = read_run(run_directory(self._results_dir, spec))
        except HarnessError:
            return None
        return record if record.spec == spec else None

    def wait(self) -> list[RunSpec]:
        """Wait until runs that others have had can be looked at again; return these; empty if none are left.

        What the others have finished waits for the last run of its model, so that the model is opened once for all.
        """
        while self._left:
            time.sleep(max(self._poll, IDLE_SECONDS) if self._passed_over else self._poll)
            looked = [(spec, self._claims.holder(claim_key(spec))) for spec in self._left]
            if self._passed_over:
                self._passed_over = False
                self._sweep.wait(len(looked), held_by(holder for _, holder in looked if holder is not None))
            busy = {spec.configured_model.model_dump_json() for spec, holder in looked if holder is not None}
            ready = [
                holder is None and (spec.configured_model.model_dump_json() not in busy or not self.finished(spec))
                for spec, holder in looked
            ]
            if any(ready):
                found = [spec for spec, now in zip(self._left, ready, strict=True) if now]
                self._left = [spec for spec, now in zip(self._left, ready, strict=True) if not now]
                return found
            self._sweep.wait(len(looked), held_by(holder for _, holder in looked if holder is not None))
        return []

    def _state(self, spec: RunSpec) -> tuple[int, ...] | None:
        """Return what changes when a run's record is written."""
        try:
            status = (run_directory(self._results_dir, spec) / RUN_FILE).stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns


def model_key(spec: RunSpec) -> str:
    """Return what identifies a run's model among leases."""
    return f"model-{hashlib.blake2b(spec.configured_model.model_dump_json().encode(), digest_size=12).hexdigest()}"


def _name(spec: RunSpec) -> tuple[str, str]:
    return spec.suite, spec.name
