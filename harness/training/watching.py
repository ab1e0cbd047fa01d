"""Evaluates checkpoints as they appear in a folder, in the order of their steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.training.checkpoint_folder import CheckpointFolder, SavedCheckpoint, Scan

POLL_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """When to look, and when to end."""

    until: int | None = None
    """The last step to evaluate: it ends when there is a checkpoint of this step or a later one; None to go on."""
    idle_seconds: float | None = None
    """Seconds without a new checkpoint after which it ends; None to go on."""
    poll_seconds: float = POLL_SECONDS
    """Seconds between looks into the folder."""
    together: bool = False
    """True to evaluate all checkpoints that are ready in one sweep, for several processes or machines."""
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


def watch_checkpoints(
    folder: CheckpointFolder,
    evaluate: Callable[[Sequence[SavedCheckpoint]], None],
    tell: Callable[[str], None],
    watch: Watch,
) -> Scan:
    """Evaluate the checkpoints that are in a folder and that appear there, and return what the last look has shown.

    Args:
        folder: The folder.
        evaluate: Evaluates complete checkpoints; what it raises ends the watch.
        tell: Shows a line to the user.
        watch: When to look, and when to end.

    Raises:
        HarnessError: The folder is gone.
    """
    done: dict[int, float] = {}  # when each evaluated checkpoint was written, by step
    last, reached, waits = watch.clock(), False, False
    while True:
        scan = folder.scan()
        for text in scan.news:
            tell(text)
        if watch.until is not None and any(one.step >= watch.until for one in scan.ready):
            reached = True
        ready = [one for one in scan.ready if watch.until is None or one.step <= watch.until]
        if ready:
            batch = ready if watch.together else ready[:1]
            for one in batch:
                if later := [step for step, written in done.items() if step > one.step and written < _written(one)]:
                    tell(
                        f"{one.path.name} was written after the checkpoint of step {max(later)}: if the training went "
                        f"back, results of steps {min(later)} to {max(later)} belong to weights that it no longer has."
                    )
            evaluate(batch)
            for one in batch:
                folder.take(one)
                done[one.step] = _written(one)
            last, waits = watch.clock(), False
            continue
        if reached:
            return scan
        if watch.idle_seconds is not None and watch.clock() - last >= watch.idle_seconds:
            tell(f"No checkpoint has appeared for {watch.idle_seconds:g} s.")
            return scan
        if not waits:
            waiting = "; ".join(f"{name} is not complete ({why})" for name, why in scan.incomplete.items())
            tell(f"Waiting for checkpoints in {folder.path}. {waiting}".rstrip())
            waits = True
        watch.sleep(watch.poll_seconds)


def _written(checkpoint: SavedCheckpoint) -> float:
    """Return when a checkpoint was written: the latest time of its files, in nanoseconds."""
    return max((times[-2] for times in checkpoint.state), default=0)
