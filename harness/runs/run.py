"""One run: prepares its data, makes requests, reads and scores the answers, and writes its record."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.contracts import Request, Response, Tokenization
from harness.contracts.specs import RunSpec
from harness.errors import StorageError, reraise_interrupt
from harness.inference.prompt_thread import Ask
from harness.runs.claims import Holder
from harness.runs.cost_sharing import CostSharing
from harness.runs.evaluation import Evaluation
from harness.runs.pipeline import Outcome, Scoring, conclude, followed_up, summarise
from harness.runs.provenance import now
from harness.runs.record import EndedRun
from harness.runs.scoring import Scorer
from harness.runs.sweep_state import RunState, SweepState
from harness.storage.example_files import ExampleWriter
from harness.storage.results import RunRecord, run_directory


@dataclass(frozen=True, slots=True)
class RunTools:
    """What all runs of one model share."""

    prepare: Callable[[RunSpec], Evaluation | RunRecord | Holder]
    """Reads a run's data; returns the record of an equal run that makes it needless, or the other process that has it,
    instead. Called on the prompt thread.
    """
    scorer: Callable[[RunSpec], Scorer]
    """Builds what scores a run."""
    tokenization: Tokenization
    """The model, as far as adapters may know it."""
    results_dir: Path
    """The folder of results."""
    state: SweepState
    """How far the sweep is; the runs note their progress there."""
    costs: CostSharing[Run]
    """Divides the model's time and energy among them."""


@dataclass(slots=True)
class Preparation:
    """A run as prepared by the prompt thread, which alone writes here; the run reads it once it is handed over."""

    evaluation: Evaluation | None = None
    """The run with its data, once they are read."""
    finished_before: RunRecord | None = None
    """The record of an equal run that makes this one needless."""
    elsewhere: Holder | None = None
    """The other process that is running it, or one that asks the same questions."""
    started: str = field(default_factory=now)
    """When preparation began, in UTC."""
    seconds: float = 0.0
    """What went into data and prompts."""


class Run:
    """A run: gives its requests to the scheduler and takes the answers.

    :meth:`prepare`, and what it returns, run on the prompt thread and write :attr:`preparation` alone; everything else
    runs on the thread on which the model answers.

    Attributes:
        spec: What to run.
        preparation: What the prompt thread found out.
        progress: How far it is; None until it has begun.
    """

    def __init__(self, spec: RunSpec, tools: RunTools) -> None:
        self.spec = spec
        self.preparation = Preparation()
        self.progress: RunState | None = None
        self._outcome = Outcome()
        self._error: BaseException | None = None
        self._answering = 0.0  # seconds for answers and scores; of time that it shares, its requests' part
        self._joules: dict[str, float] | None = None  # its part of the energy; None before its first answers
        self._tools = tools
        self._scoring: Scoring | None = None
        self._writer: ExampleWriter | None = None
        self._files = ExitStack()

    # On the prompt thread

    def prepare(self) -> Iterator[Ask] | None:
        """Read the run's data; return what it asks, None if it need not or cannot be run here."""
        known = self.preparation
        known.started, clock = now(), time.perf_counter()
        try:
            found = self._tools.prepare(self.spec)
        finally:
            known.seconds += time.perf_counter() - clock
        if isinstance(found, RunRecord):
            known.finished_before = found
        elif isinstance(found, Holder):
            known.elsewhere = found
        else:
            known.evaluation = found
            return self._asks(found)
        return None

    def _asks(self, evaluation: Evaluation) -> Iterator[Ask]:
        prompts = evaluation.adapted(self._tools.tokenization)
        while True:
            clock = time.perf_counter()
            try:
                adapted = next(prompts, None)
            finally:
                self.preparation.seconds += time.perf_counter() - clock
            if adapted is None:
                return
            yield Ask(adapted, [_placed(request, self.spec) for request in adapted.requests])

    # On the answer thread

    def begin(self) -> None:
        """Build the scorer and open the file of examples."""
        evaluation = self.preparation.evaluation
        if evaluation is None:
            return
        self.progress = self._tools.state.begin(self.spec)
        with self._timed():
            scorer = self._tools.scorer(self.spec)
            writer = ExampleWriter(run_directory(self._tools.results_dir, self.spec))
            self._writer = self._files.enter_context(writer)
            self._scoring = Scoring(scorer, self._writer, self.spec.model.name)
        # A method about the order asks for stand-ins, of which it alone knows how many there will be.
        if not evaluation.adapter.keeps_order:
            self._tools.state.plan(self.progress, evaluation.examples)

    def answered(self, ask: Ask, response: Response) -> None:
        """Count an answer."""
        self._tools.costs.add(self, response)
        self._report(ask, (1 - ask.reported) / (ask.missing + ask.adapted.follow_ups + 1))

    def follow_up(self, ask: Ask) -> list[Request]:
        """Return what the adapter asks next about an example; nothing if an answer is missing."""
        evaluation = self.preparation.evaluation
        if evaluation is None or not evaluation.converses:
            return []
        with self._timed():
            further = followed_up(evaluation, ask.adapted, ask.answers)
        if further is None:
            return []
        asked, ask.adapted = len(ask.adapted.requests), further
        return [_placed(request, self.spec) for request in further.requests[asked:]]

    def complete(self, ask: Ask) -> None:
        """Predict, score and write an example."""
        evaluation, scoring = self.preparation.evaluation, self._scoring
        if evaluation is None or scoring is None:
            raise RuntimeError("a run received answers before it had started.")
        self._report(ask, 1 - ask.reported)
        with self._timed():
            conclude(evaluation, ask.adapted, ask.answers, scoring, self._outcome)

    def end(self, error: BaseException | None) -> None:
        """Summarise the run, or discard its half-written examples."""
        self._tools.costs.idle()
        if error is None and self.preparation.evaluation is not None:
            try:
                if self._scoring is None:  # there was nothing to ask
                    self.begin()
                with self._timed():
                    self._summarise()
            except StorageError:
                raise
            except BaseException as raised:
                reraise_interrupt(raised)
                error = raised
        self._error = error
        if error is not None:
            self._files.__exit__(type(error), error, error.__traceback__)

    def charge(self, seconds: float, joules: Mapping[str, float]) -> None:
        """Add a part of the model's time and energy."""
        self._answering += seconds
        if self._joules is None:
            self._joules = dict(joules)
        else:
            self._joules = {kind: self._joules[kind] + joules[kind] for kind in self._joules.keys() & joules.keys()}

    def ended(self) -> EndedRun:
        """Return what is recorded of the run."""
        known = self.preparation
        seconds = known.seconds + self._answering
        return EndedRun(
            self.spec, self._error, self._outcome, known.evaluation, known.started, seconds, self._joules or {}
        )

    def _summarise(self) -> None:
        with self._files:
            if self._scoring is not None:
                summarise(self.spec, self._scoring, self._outcome)
        self._outcome.written = None if self._writer is None else self._writer.written

    def _report(self, ask: Ask, share: float) -> None:
        """Note progress: a share of an example."""
        ask.reported += share
        if self.progress is not None and share:
            self._tools.state.advance(self.progress, share)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Count time as this run's, and not as the model's."""
        clock = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - clock
            self._answering += seconds
            self._tools.costs.leave_out(seconds)


def _placed(request: Request, spec: RunSpec) -> Request:
    """Return a request whose origin also names the scenario, which an adapter does not know."""
    if request.origin is None:
        return request
    return replace(request, origin=replace(request.origin, scenario=spec.scenario.label))
