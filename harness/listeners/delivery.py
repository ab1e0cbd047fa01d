"""Gives each run to a listener as it ends, on a thread of the listener's own."""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import TracebackType

from harness.contracts.listeners import Listener
from harness.contracts.plugins import Kind, ListenerDetails, Plugin
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, HarnessError, reraise_interrupt
from harness.listeners.finished_runs import finished_run, run_titles
from harness.listeners.resending import plugin_file, track_command
from harness.listeners.sent import Sent, key_of
from harness.plugins.parameters import build
from harness.plugins.registry import Registry
from harness.runs.sweep_state import SweepState
from harness.storage.results import RunRecord, read_run

INTERRUPT_SECONDS = 5.0
"""Time that listeners have to send what they were given, after an interrupt or when a time budget is used up."""

_left_behind: dict[str, threading.Thread] = {}
"""Threads that are still inside a listener, by its name, though their sweep has ended."""


def open_listener(component: Component, registry: Registry) -> Listener:
    """Return a listener by its name and arguments.

    Raises:
        HarnessError: It lacks a package, or cannot be used with these settings.
    """
    plugin = registry.get(Kind.LISTENER, component.name)
    details = plugin.details if isinstance(plugin.details, ListenerDetails) else ListenerDetails()
    if lacking := [module for module in details.needs if find_spec(module.partition(".")[0]) is None]:
        hint = f": {details.install}" if details.install else ""
        raise HarnessError(f"the listener {component.name} needs {' and '.join(lacking)}{hint}.")
    try:
        opened: Listener = build(plugin, arguments=component.arguments)
    except HarnessError:
        raise
    except Exception as error:
        raise HarnessError(f"the listener {component.label} cannot be used: {_brief(error, plugin)}.") from error
    return opened


@dataclass(slots=True, eq=False)
class _Mailbox:
    """One listener, the runs that wait for it, and how its deliveries went."""

    component: Component
    listener: Listener
    sent: Sent
    waiting: queue.SimpleQueue[Path | None] = field(default_factory=queue.SimpleQueue)
    """Folders of runs; None for the end."""
    given: list[str] = field(default_factory=list)
    """Keys of the runs that it was given and has not confirmed by closing."""
    new: int = 0
    """Number of runs that it was given."""
    unreadable: list[str] = field(default_factory=list)
    """For each run that could not be read: why."""
    failure: str = ""
    """What went wrong; empty if nothing did."""
    thread: threading.Thread | None = None
    abandoned: str = ""
    """Why the sweep no longer waits for it; empty while it does."""


class Deliveries:
    """Gives the runs of a sweep to its listeners; a view of the sweep's state, and a context around it.

    A run that the listener was given before is left out. On leaving the context, it waits until every listener has
    sent what it was given.

    Args:
        listeners: What to give the runs to.
        registry: Knows the listeners.
        results_dir: The results folder.
        specs: All runs of the sweep, for titles that tell them apart.
        again: True to send runs that were sent before, too.
        suites: For the command that sends the rest: the suites that are sent; empty for all.
        plugins: For this command: the plugin files and folders that were loaded.
        seconds_left: Returns what is left of a time budget, which bounds the wait for listeners; None without one.

    Raises:
        HarnessError: A listener cannot be used.
    """

    def __init__(
        self,
        listeners: Sequence[Component],
        registry: Registry,
        results_dir: Path,
        specs: Iterable[RunSpec],
        *,
        again: bool = False,
        suites: Sequence[str] = (),
        plugins: Sequence[Path] = (),
        seconds_left: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._results_dir, self._again, self._registry = results_dir, again, registry
        self._suites, self._plugins, self._seconds_left = suites, plugins, seconds_left
        self._titles: Mapping[str, str] = run_titles(specs) if listeners else {}
        self._boxes = [_Mailbox(one, open_listener(one, registry), Sent(results_dir, one)) for one in listeners]
        self._state: SweepState | None = None

    def watch(self, state: SweepState) -> Deliveries:
        """Take the runs of a sweep as they end; to be called before the context is entered."""
        self._state = state
        return self

    def __enter__(self) -> Deliveries:
        for box in self._boxes:
            box.thread = threading.Thread(target=self._deliver, args=(box,), name=box.component.name, daemon=True)
            box.thread.start()
        if self._state is not None and self._boxes:
            self._state.views.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state is not None and self in self._state.views:
            self._state.views.remove(self)
        for box in self._boxes:
            box.waiting.put(None)
        with suppress(KeyboardInterrupt):  # it ends the wait, not the program: the sweep is over
            self._wait(interrupted=isinstance(error, KeyboardInterrupt))
        for box in self._boxes:
            if box.thread is not None and box.thread.is_alive():
                left = self._seconds_left()
                box.abandoned = "it was interrupted" if left is None or left > 0 else "the time budget is used up"
                _left_behind[box.component.name] = box.thread

    def _wait(self, *, interrupted: bool) -> None:
        """Wait until the listeners have sent everything; not for long after an interrupt, or without time left."""
        left = self._seconds_left() if self._boxes else None
        seconds = INTERRUPT_SECONDS if interrupted else left
        end = None if seconds is None else monotonic() + max(seconds, INTERRUPT_SECONDS)
        for box in self._boxes:
            if box.thread is not None:
                box.thread.join(None if end is None else max(0.0, end - monotonic()))

    def changed(self, state: SweepState) -> None:
        """Do nothing: only runs that end count."""

    def ended(self, state: SweepState, record: RunRecord, *, before: bool) -> None:
        """Note a run that has ended, or was found finished."""
        self.put(record.directory)

    def put(self, folder: Path) -> None:
        """Give a run to the listeners, by its folder."""
        for box in self._boxes:
            box.waiting.put(folder)

    @property
    def sent(self) -> dict[str, int]:
        """How many runs each listener was given and has sent, by its name."""
        return {box.component.name: 0 if box.failure or box.abandoned else box.new for box in self._boxes}

    def notes(self) -> list[str]:
        """Return messages for each listener that did not get all runs: why, and how to send the rest."""
        unreadable = [_unreadable_note(box) for box in self._boxes if box.unreadable]
        return unreadable + [self._note(box) for box in self._boxes if box.failure or box.abandoned]

    def _note(self, box: _Mailbox) -> str:
        why = box.failure or box.abandoned
        command = track_command(
            box.component,
            self._plugin(box),
            self._results_dir,
            suites=self._suites,
            plugins=self._plugins,
            again=self._again,
        )
        return (
            f"{box.component.name}: not all runs were sent: {why.rstrip('.')}. The results of finished runs are "
            f"complete. To send the rest: {command}"
        )

    def _plugin(self, box: _Mailbox) -> Plugin:
        return self._registry.get(Kind.LISTENER, box.component.name)

    def _deliver(self, box: _Mailbox) -> None:
        if (before := _left_behind.pop(box.component.name, None)) is not None:
            before.join()  # listeners of one kind may share a run of the tracker, and its library
        while (folder := box.waiting.get()) is not None:
            if not box.abandoned:
                self._attempt(box, lambda folder=folder: self._give(box, folder))  # type: ignore[misc]
        if box.failure:
            with suppress(Exception):  # what it has got may be of use; the failure is reported
                box.listener.close()
        self._attempt(box, lambda: self._close(box))

    def _give(self, box: _Mailbox, folder: Path) -> None:
        try:
            record = read_run(folder)
            key = key_of(record)
            if key in box.sent and not self._again:
                return
            box.listener.run_ended(finished_run(record, self._titles, self._registry))
        except DataError as error:  # of this run's files: the next run may be fine
            box.unreadable.append(str(error))
            return
        box.given.append(key)
        box.new += 1

    def _close(self, box: _Mailbox) -> None:
        box.listener.close()
        box.sent.add(box.given)

    def _attempt(self, box: _Mailbox, do: Callable[[], None]) -> None:
        """Call a function unless the listener has failed before; if it fails, record why."""
        if box.failure:
            return
        try:
            do()
        except BaseException as error:  # whatever a library raises; the sweep goes on
            reraise_interrupt(error)
            box.failure = str(error) if isinstance(error, HarnessError) else _brief(error, self._plugin(box))


def _unreadable_note(box: _Mailbox) -> str:
    count = len(box.unreadable)
    what = "1 run was not sent" if count == 1 else f"{count} runs were not sent; the first"
    return f"{box.component.name}: {what}: {box.unreadable[0]}"


def _brief(error: BaseException, plugin: Plugin) -> str:
    """Return an error in one line, with the line of the listener's file unless the harness contains the listener."""
    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {lines[0] if lines else ''}".rstrip(": ")
    file = plugin_file(plugin)
    if file is None or getattr(plugin.target, "__module__", "").startswith("harness."):
        return text
    own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == file]
    return f"{text} ({file}:{own[-1]})" if own else text
