"""Reads the data of several runs of one scenario in one pass, so that each file is read and parsed once.

Each run's scenario is a generator of instances over rows. The runs take turns, and whichever is furthest behind goes
on, so that few rows have to wait::

    file ─▶ rows ─▶ ▏ chunk 812 │ chunk 813 │ chunk 814 ▕  dropped once every run has taken them
                      ▲ run B                 ▲ run A

Runs of one data set often keep the same train instances; these are kept once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

from harness.contracts import Instance, Split
from harness.contracts.data import Data
from harness.contracts.row import Row
from harness.contracts.specs import RunSpec
from harness.errors import HarnessError, describe_failure, reraise_interrupt
from harness.plugins.registry import Registry
from harness.runs.evaluation import Evaluation, OpenedRun, Survey, open_scenario_data

CHUNK = 128
"""Rows that are read at a time."""
MOST_WAITING = 200
"""Chunks that wait for runs that have not taken them; a run further behind reads the file by itself."""


def read_alike(specs: Sequence[RunSpec], registry: Registry, data_dir: Path | None) -> list[list[int]]:
    """Return the indices of runs, grouped by scenario and the files that it reads for them."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, spec in enumerate(specs):
        try:
            files = open_scenario_data(spec, registry, data_dir).identity
        except HarnessError:
            files = ""
        groups.setdefault((spec.scenario.name, files or f"run {index}"), []).append(index)
    return list(groups.values())


def prepare_together(
    specs: Sequence[RunSpec], registry: Registry, data_dir: Path | None
) -> Iterator[Evaluation | HarnessError]:
    """Yield what :func:`harness.runs.evaluation.prepare` would return or raise for each of some runs.

    The runs' data do not know afterwards which files were read, so that this is for planning alone.
    """
    files, kept = _SharedFiles(len(specs)), dict[str, Instance]()
    runs = [_Reader(spec, registry, data_dir) for spec in specs]
    for member, run in enumerate(runs):
        run.start(files, member, kept if len(specs) > 1 else None)
    going = set(range(len(runs)))
    while going:
        member = min(going, key=files.taken.__getitem__)
        if not runs[member].take_turn(files, member):
            going.remove(member)
            files.leave(member)
    kept.clear()
    runs.reverse()
    while runs:
        yield runs.pop().outcome()


class _Reader:
    """One of several runs, as far as its data are read."""

    def __init__(self, spec: RunSpec, registry: Registry, data_dir: Path | None) -> None:
        self._error: HarnessError | None = None
        self._survey: Survey | None = None
        self._instances: Iterator[Instance] = iter(())
        self._spec, self._registry, self._data_dir = spec, registry, data_dir

    def start(self, files: _SharedFiles, member: int, kept: dict[str, Instance] | None) -> None:
        """Find the data and build the run's parts; ``kept`` are the train instances of all runs."""
        try:
            data = open_scenario_data(self._spec, self._registry, self._data_dir)
            opened = OpenedRun(self._spec, self._registry, data)
            self._survey = Survey(opened, kept)
            self._instances = opened.instances_from(_SharedData(data, files, member))()
        except BaseException as error:  # whatever the scenario raises
            self._error = _failure(error)

    def take_turn(self, files: _SharedFiles, member: int) -> bool:
        """Take instances until the run has got further in a file; return False if there are no more."""
        if self._survey is None:
            return False
        before = files.taken[member]
        try:
            for instance in self._instances:
                self._survey.add(instance)
                if files.taken[member] > before:
                    return True
        except BaseException as error:  # whatever the scenario raises
            self._error = _failure(error)
        return False

    def outcome(self) -> Evaluation | HarnessError:
        """Return the run, or why it would fail, once all instances were taken."""
        if self._survey is None or self._error is not None:
            return self._error or HarnessError("the run was not started.")
        try:
            return self._survey.evaluation()
        except HarnessError as error:
            return error


def _failure(error: BaseException) -> HarnessError:
    """Return an error as the run would report it; an interruption is raised again."""
    reraise_interrupt(error)
    return error if isinstance(error, HarnessError) else HarnessError(describe_failure(error))


class _SharedData(Data):
    """The data of one run, whose rows are read for all."""

    def __init__(self, own: Data, files: _SharedFiles, member: int) -> None:
        self._own, self._files, self._member = own, files, member

    def rows(self, split: Split | str) -> Iterator[Row]:
        return self._files.rows(("split", str(split)), self._member, lambda: self._own.rows(split))

    def read(self, relative: str) -> Iterator[Row]:
        return self._files.rows(("file", relative), self._member, lambda: self._own.read(relative))

    def lacking(self, split: Split | str) -> str:
        return self._own.lacking(split)

    def provenance(self) -> dict[str, Any]:
        return self._own.provenance()

    def unchanged(self, provenance: Mapping[str, Any]) -> bool:
        return self._own.unchanged(provenance)

    def has(self, relative: str) -> bool:
        return self._own.has(relative)

    def path(self, relative: str) -> Path:
        return self._own.path(relative)


class _SharedFiles:
    """The files that the runs read.

    Attributes:
        taken: The number of chunks that each run has taken, of all files.
    """

    def __init__(self, members: int) -> None:
        self.taken = [0] * members
        self._here = set(range(members))
        self._files: dict[tuple[str, str], _SharedFile] = {}

    def rows(self, key: tuple[str, str], member: int, read: Callable[[], Iterator[Row]]) -> Iterator[Row]:
        """Yield the rows of a file; the first run that asks for it reads it for all."""
        if key not in self._files:
            self._files[key] = _SharedFile(self._here, read)
        for chunk in self._files[key].chunks(member, read):
            self.taken[member] += 1
            yield from map(_own, chunk)

    def leave(self, member: int) -> None:
        """Keep nothing more for a run."""
        self._here.discard(member)
        for file in self._files.values():
            file.leave(member)


def _own(row: Row) -> Row:
    """Return a row whose lists and mappings a scenario may change in place without changing those of other runs."""
    for value in row.record.values():
        if isinstance(value, (list, dict)):
            return row.with_record(_copied(row.record))
    return row


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _copied(item) if isinstance(item, (list, dict)) else item for key, item in value.items()}
    return value


class _SharedFile:
    """A file that is read once, with the chunks that some run has not taken yet."""

    def __init__(self, members: set[int], read: Callable[[], Iterator[Row]]) -> None:
        self._source = read()
        self._next = dict.fromkeys(members, 0)  # the chunk that each run takes next
        self._started = set[int]()
        self._chunks: dict[int, list[Row]] = {}
        self._first = self._read = 0  # the first chunk that is kept; the first that is not read yet
        self._error: Exception | None = None

    def chunks(self, member: int, read: Callable[[], Iterator[Row]]) -> Iterator[Sequence[Row]]:
        """Yield the file's rows for a run, which reads it by itself if the others are too far, or for a second time."""
        again = member in self._started
        self._started.add(member)
        for number in count():
            if again or member not in self._next:
                alone = islice(read(), number * CHUNK, None)
                while rows := list(islice(alone, CHUNK)):
                    yield rows
                return
            rows = self._take(member, number)
            if not rows:
                return
            yield rows

    def leave(self, member: int) -> None:
        """Keep nothing more for a run."""
        self._next.pop(member, None)
        self._drop()

    def _take(self, member: int, number: int) -> list[Row]:
        if number == self._read:
            self._read_chunk()
        rows = self._chunks[number]
        self._next[member] = number + 1
        if len(self._chunks) > MOST_WAITING:
            self._next = {one: place for one, place in self._next.items() if place > self._first}
        self._drop()
        return rows

    def _read_chunk(self) -> None:
        if self._error is not None:
            raise self._error
        rows: list[Row] = []
        try:
            rows.extend(islice(self._source, CHUNK))
        except Exception as error:  # raised for every run where it comes to it
            self._error = error
            if not rows:
                raise
        self._chunks[self._read] = rows
        self._read += 1

    def _drop(self) -> None:
        for number in range(self._first, min(self._next.values(), default=self._read)):
            del self._chunks[number]
            self._first = number + 1
