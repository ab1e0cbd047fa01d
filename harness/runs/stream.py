"""The requests of all runs that share a model, as one stream of windows.

While the model answers one window, a worker thread reads data and makes prompts for the next. A run whose requests do
not fill a window shares it with those that follow, so that one run's tail is asked together with the next one's head.
Answers are scored as they come, and a run ends with its last answer, whatever else its window holds. What goes wrong
with one run ends that run alone.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from harness.contracts import Adapted, Request, Response, Tokenization
from harness.contracts.specs import RunSpec
from harness.costs.apportion import Slice
from harness.costs.energy import gpu_counters, rapl_counters
from harness.errors import StorageError, reraise_interrupt
from harness.inference.caching_model import Client
from harness.runs.claims import Holder
from harness.runs.pipeline import Evaluation, Outcome, conclude, summarise
from harness.runs.provenance import now
from harness.runs.scoring import Scorer
from harness.storage.example_files import ExampleWriter
from harness.storage.results import RunRecord, run_directory

# Requests in flight: enough that a backend can sort them by length, few enough that memory does not grow with the run.
WINDOW = 4096

RUNS_AT_ONCE = 8
"""Most runs that share a window: enough to fill batches, few enough that the first of them soon ends."""


@dataclass(slots=True, eq=False)
class Run:
    """A run on its way through a model."""

    spec: RunSpec
    """What to run."""
    outcome: Outcome = field(default_factory=Outcome)
    """What came of it so far."""
    evaluation: Evaluation | None = None
    """The run with its data, once they are read."""
    finished_before: RunRecord | None = None
    """The record of an equal run that makes this one needless."""
    elsewhere: Holder | None = None
    """The other process that is running it, or one that asks the same questions."""
    error: BaseException | None = None
    """Why it cannot go on."""
    started: str = field(default_factory=now)
    """When its preparation began, in UTC."""
    preparing: float = 0.0
    """Seconds that went into its data and prompts."""
    answering: float = 0.0
    """Seconds that went into its answers and scores; of time that it shares, its requests' part."""
    joules: dict[str, float] | None = None
    """Its part of the energy used meanwhile, by kind of processor; None before its first answers."""
    _prompts: Iterator[Adapted] = field(default_factory=lambda: iter(()))
    _waits: bool = False
    _over: bool = False
    _scorer: Scorer | None = None
    _writer: ExampleWriter | None = None
    _files: ExitStack = field(default_factory=ExitStack)


class RunWatcher(Protocol):
    """What wants to know how runs are getting on that are under way at the same time."""

    def started(self, run: Run) -> None:
        """Called before a run's first requests are put."""

    def planned(self, run: Run, examples: int) -> None:
        """Called once a run, with the most examples that may come: instances, perturbed copies, all trials."""

    def advanced(self, run: Run, examples: float) -> None:
        """Called as answers come in, with how many examples' worth."""


def stream(
    runs: Sequence[Run],
    prepare: Callable[[Run], None],
    scorer: Callable[[RunSpec], Scorer],
    client: Client,
    results_dir: Path,
    watcher: RunWatcher,
) -> Iterator[Run]:
    """Put everything that runs want to know to their model, and yield each run when it has ended, well or badly.

    Args:
        runs: The runs, each with a folder of its own.
        prepare: Sets a run's ``evaluation``, ``finished_before`` or ``elsewhere``, on the worker's thread. What it
            raises ends the run.
        scorer: Builds what scores a run, before anything of it is asked; what it raises ends the run.
        client: The model.
        results_dir: The folder of results.
        watcher: Is told how the runs are getting on.

    Raises:
        StorageError: The response cache or the results cannot be written or read.
    """
    feed = _Feed(runs, prepare, client.model)
    answers = _Answers(client, scorer, results_dir, watcher)
    with ThreadPoolExecutor(1, "prompts") as worker:
        try:
            coming = worker.submit(feed.window)
            last = False
            while not last:
                window = coming.result()
                last = window.last
                yield from answers.end(
                    run for run in window.ended if all(run is not other for other, _ in window.items)
                )
                feed.hurry = False
                if not last:
                    coming = worker.submit(feed.window)
                yield from answers.ask(window.items, window.ended)
                window.items.clear()
                yield from answers.end(window.ended)
                feed.hurry = True
        except BaseException as error:
            feed.stopped = True
            answers.abandon(runs, error)
            raise


@dataclass(slots=True)
class _Window:
    """Requests that are put together, and the runs that have no more after them."""

    items: list[tuple[Run, Adapted]] = field(default_factory=list)
    ended: list[Run] = field(default_factory=list)
    requests: int = 0
    last: bool = False


class _Feed:
    """Makes windows, all on one thread; the runs' data are read when their turn comes.

    Attributes:
        hurry: Whether the model has nothing to do: then a run that ends before it begins is told of at once.
        stopped: Whether no more is needed.
    """

    def __init__(self, runs: Sequence[Run], prepare: Callable[[Run], None], tokenization: Tokenization) -> None:
        self.hurry, self.stopped = True, False
        self._prepare, self._tokenization = prepare, tokenization
        self._coming, self._open = deque(runs), list[Run]()

    def window(self) -> _Window:
        """Return the next requests: as many as fit of all runs that may go on; none where all of them wait."""
        window = _Window()
        sharing: set[Run] = set()
        while window.requests < WINDOW and not self.stopped and not (self.hurry and window.ended and not window.items):
            self._open = [run for run in self._open if not run._over]
            run = next((run for run in self._open if not run._waits), None)
            if run is None and self._coming and len(sharing.union(self._open)) < RUNS_AT_ONCE:
                run = self._coming.popleft()
                self._begin(run, window)
            elif run is not None:
                sharing.add(run)
                self._pull(run, window)
            else:
                break
        window.last = not self._open and not self._coming
        return window

    def _begin(self, run: Run, window: _Window) -> None:
        run.started, clock = now(), time.perf_counter()
        try:
            self._prepare(run)
        except BaseException as error:
            reraise_interrupt(error)
            run.error = error
        run.preparing += time.perf_counter() - clock
        if run.evaluation is None:
            window.ended.append(run)
        else:
            run._prompts = run.evaluation.adapted(self._tokenization)
            self._open.append(run)

    def _pull(self, run: Run, window: _Window) -> None:
        """Take a run's requests until the window is full, or it has none for now."""
        clock = time.perf_counter()
        try:
            for adapted in run._prompts:
                window.items.append((run, adapted))
                window.requests += len(adapted.requests)
                run._waits = adapted.awaited
                if adapted.awaited or window.requests >= WINDOW or self.stopped or run._over:
                    return
        except BaseException as error:
            reraise_interrupt(error)
            run.error = error
            window.items = [item for item in window.items if item[0] is not run]
        finally:
            run.preparing += time.perf_counter() - clock
        self._open.remove(run)
        window.ended.append(run)


@dataclass(slots=True, eq=False)
class _Item:
    """What a run asks for one example, while its answers come back."""

    run: Run
    adapted: Adapted
    responses: list[Response | None] = field(init=False)
    missing: int = field(init=False)
    concluded: bool = False

    def __post_init__(self) -> None:
        self.missing = len(self.adapted.requests)
        self.responses = [None] * self.missing


class _Answers:
    """Asks for windows, and gives each run what is its own."""

    def __init__(
        self, client: Client, scorer: Callable[[RunSpec], Scorer], results_dir: Path, watcher: RunWatcher
    ) -> None:
        self._client, self._scorer, self._results_dir, self._watcher = client, scorer, results_dir, watcher
        self._counters = [*gpu_counters(), *rapl_counters()]
        self._slice: Slice[Run] = Slice([])

    def ask(self, items: Sequence[tuple[Run, Adapted]], ended: Sequence[Run]) -> Iterator[Run]:
        """Put a window to the model, read and score answers as they come, and yield each run that is over.

        Args:
            items: What to ask.
            ended: The runs of which no more will come.
        """
        runs = [run for run in dict.fromkeys(run for run, _ in items) if not run._over]
        for run in runs:
            self._begin(run)
        told: set[Run] = set()
        self._slice = Slice(self._counters)
        try:
            for run in self._answered([_Item(*item) for item in items], ended):
                told.add(run)
                yield run
        finally:
            self._share_out()
        for run, adapted in items:
            # Not before: what waits is to be asked together with all others that wait.
            if adapted.awaited:
                run._waits = False
        yield from (run for run in runs if run._over and run not in told)

    def end(self, runs: Iterable[Run]) -> Iterator[Run]:
        """Yield those of the runs that were not over yet, with their statistics."""
        for run in runs:
            if run._over:
                continue
            if run.error is not None:
                self._fail(run, run.error)
            elif run.finished_before is None and run.elsewhere is None:
                self._summarise(run)
            run._over = True
            yield run

    def abandon(self, runs: Sequence[Run], error: BaseException) -> None:
        """Remove what is half written."""
        for run in runs:
            run._files.__exit__(type(error), error, error.__traceback__)

    def _begin(self, run: Run) -> None:
        if run._scorer is not None or run.evaluation is None:
            return
        self._watcher.started(run)
        clock = time.perf_counter()
        try:
            run._scorer = self._scorer(run.spec)
            run._writer = run._files.enter_context(ExampleWriter(run_directory(self._results_dir, run.spec)))
        except StorageError:
            raise
        except BaseException as error:
            reraise_interrupt(error)
            self._fail(run, error)
        else:
            # A method about the order asks for stand-ins, of which it alone knows how many there will be.
            if not run.evaluation.adapter.keeps_order:
                self._watcher.planned(run, run.evaluation.examples)
        run.answering += time.perf_counter() - clock

    def _answered(self, items: Sequence[_Item], ended: Sequence[Run]) -> Iterator[Run]:
        """Ask for items, and yield each run that is over; a run that the model stumbles over fails alone."""
        try:
            yield from self._asked([item for item in items if not item.run._over], ended)
        except StorageError:
            raise
        except BaseException as error:
            reraise_interrupt(error)
            left = [item for item in items if not (item.concluded or item.run._over)]
            runs = list(dict.fromkeys(item.run for item in left))
            if len(runs) == 1:
                self._fail(runs[0], error)
                return
            # Whose fault it was shows when each run asks for itself; what was answered is in the response cache.
            for run in runs:
                yield from self._answered([_Item(run, item.adapted) for item in left if item.run is run], ended)

    def _asked(self, items: Sequence[_Item], ended: Sequence[Run]) -> Iterator[Run]:
        requests, owners = list[Request](), list[tuple[_Item, int]]()
        waiting: dict[Run, deque[_Item]] = {}
        for item in items:
            waiting.setdefault(item.run, deque()).append(item)
            for number, request in enumerate(item.adapted.requests):
                requests.append(_placed(request, item.run.spec))
                owners.append((item, number))
        for run in waiting:
            self._conclude_complete(waiting[run])
        for place, response in self._client.answers(requests):
            item, number = owners[place]
            item.responses[number] = response
            item.missing -= 1
            self._slice.add(item.run, response)
            self._watcher.advanced(item.run, 1 / len(item.adapted.requests))
            if item.missing:
                continue
            run, queue, over = item.run, waiting[item.run], item.run._over
            self._conclude_complete(queue)
            if not over and (run._over or (not queue and run in ended and run.error is None)):
                self._share_out()
                yield from [run] if run._over else self.end([run])
                self._slice = Slice(self._counters)

    def _conclude_complete(self, queue: deque[_Item]) -> None:
        """Conclude the items at the head of a run's queue that have all their answers: examples keep their order."""
        clock = time.perf_counter()
        while queue and not queue[0].missing:
            item = queue.popleft()
            item.concluded = True
            self._conclude(item.run, item.adapted, [response for response in item.responses if response is not None])
        self._slice.leave_out(time.perf_counter() - clock)

    def _share_out(self) -> None:
        """Give each run its part of the time and energy since this was done last."""
        for run, (seconds, joules) in self._slice.end().items():
            run.answering += seconds
            before = run.joules
            run.joules = (
                dict(joules)
                if before is None
                else {kind: before[kind] + joules[kind] for kind in before.keys() & joules.keys()}
            )

    def _conclude(self, run: Run, adapted: Adapted, responses: Sequence[Response]) -> None:
        if run._over or run.evaluation is None or run._scorer is None or run._writer is None:
            return
        clock = time.perf_counter()
        try:
            conclude(run.evaluation.adapter, adapted, responses, run._scorer, run._writer, run.outcome)
        except StorageError:
            raise
        except BaseException as error:
            reraise_interrupt(error)
            self._fail(run, error)
        run.answering += time.perf_counter() - clock

    def _summarise(self, run: Run) -> None:
        self._begin(run)  # one of which there was nothing to ask has not begun
        clock = time.perf_counter()
        try:
            with run._files:
                if run._scorer is not None:
                    summarise(run.spec, run._scorer, run.outcome)
            run.outcome.written = None if run._writer is None else run._writer.written
        except StorageError:
            raise
        except BaseException as error:
            reraise_interrupt(error)
            self._fail(run, error)
        run.answering += time.perf_counter() - clock

    def _fail(self, run: Run, error: BaseException) -> None:
        run.error, run._over = error, True
        run._files.__exit__(type(error), error, error.__traceback__)


def _placed(request: Request, spec: RunSpec) -> Request:
    """Return a request whose origin also names the scenario, which an adapter does not know."""
    if request.origin is None:
        return request
    return replace(request, origin=replace(request.origin, scenario=spec.scenario.label))
