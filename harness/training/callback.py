"""A callback that evaluates a model while the Trainer of transformers trains it."""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Unpack

from harness.errors import HarnessError, ModelError, did_you_mean, shown
from harness.installation import install_advice
from harness.python.evaluate import evaluate
from harness.python.options import AnyPath, Entry, Options, check_options, read_settings
from harness.python.results import Results
from harness.python.superseded import FOLDER, set_aside
from harness.python.time_budget import Deadline
from harness.python.undisturbed import undisturbed
from harness.training.logged import PREFIX, SECONDS, UNFINISHED, logged_metrics, metric_names
from harness.training.planned import planned_runs
from harness.training.schedule import read_schedule
from harness.training.series_names import check_name, claim_name
from harness.training.sharded import check_whole, seconds_allowed, shared

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise ModelError(f"the callback needs transformers ({error}): {install_advice('hf')}") from error

_LOG = logging.getLogger(__name__)

OWN = ("trainer", "sweep", "runs", "every", "at", "series", "tokenizer", "settings", "time_budget", "total_time_budget")


class EvaluationCallback(TrainerCallback):
    """Evaluates the model that a Trainer trains: in this process, without a second copy of the weights.

    ::

        trainer.add_callback(harness.EvaluationCallback(trainer, runs=["boolq", "imdb"], every=500, time_budget=600))

    Results are in the folder of results, with the training's name as ``series`` and the number of optimizer steps as
    ``step``. The Trainer logs the main metric of each run as ``eval_harness/SCENARIO/METRIC``, with its standard
    error, so that W&B and TensorBoard show it; with ``every="evaluate"`` it can be ``metric_for_best_model``. The
    training ends with the same weights, bit for bit, as without the callback. With a schedule-free optimizer, the
    averaged weights are evaluated; switching to them and back rounds, as in the Trainer's own evaluation.

    A training that is continued from a checkpoint asks nothing again that these weights have answered. Results of later
    steps that the earlier training left are moved to the folder ``.superseded`` in the folder of results; they come
    back if a step is reached with the same weights.

    With several processes (DDP), the first evaluates and the others wait. Weights that are divided among processes
    (FSDP, DeepSpeed's ZeRO stage 3, tensor parallelism) are refused.

    An evaluation that fails is logged, and the training goes on.

    Args:
        trainer: The Trainer.
        sweep: As for :func:`harness.run`, with at most one model, which is replaced by the trained one.
        runs: Runs instead of a sweep.
        every: Number of optimizer steps between evaluations (there is one after the last step, too); or ``evaluate``
            or ``save``, to evaluate whenever the Trainer does that.
        at: Steps at which to evaluate, also in addition to ``every``; 0 is before the first step.
        series: Name of the training (default: the Trainer's ``run_name``, else the name of its ``output_dir``). Without
            it, a name that another training has in the folder of results is refused.
        tokenizer: The model's tokenizer (default: the Trainer's ``processing_class``).
        settings: Keys of a model's entry in a sweep, as for :func:`harness.evaluate`.
        time_budget: Most seconds of one evaluation. Runs that are not finished by then have no result, and their number
            is logged as ``eval_harness/unfinished`` (default: no limit; with several processes half of
            ``ddp_timeout``, after which the waiting processes give up).
        total_time_budget: Most seconds of all evaluations together, since the training was started or continued.
        **options: As for :func:`harness.run`. ``progress`` is False by default.

    Attributes:
        results: The results of the last evaluation; None before the first, and in processes that do not evaluate.

    Raises:
        ModelError: The model cannot be evaluated: it has no tokenizer, or its weights are divided among processes.
        SpecError: The sweep has errors.
        HarnessError: The sweep names several models, data are missing, the folder of results cannot be written,
            another training has the same name, or arguments do not fit the Trainer's.
        TypeError: There is no such argument.
    """

    def __init__(
        self,
        trainer: Any,
        sweep: AnyPath | Mapping[str, Any] | None = None,
        *,
        runs: Sequence[Entry] | None = None,
        every: int | str | None = None,
        at: Sequence[int] | None = None,
        series: str | None = None,
        tokenizer: Any = None,
        settings: Mapping[str, Any] | None = None,
        time_budget: float | None = None,
        total_time_budget: float | None = None,
        **options: Unpack[Options],
    ) -> None:
        if not hasattr(trainer, "callback_handler"):
            raise HarnessError(f"EvaluationCallback needs the Trainer as its first argument, not {shown(trainer)}.")
        check_options(options, "EvaluationCallback", OWN)
        Deadline(time_budget), Deadline(total_time_budget)
        self._trainer, self._sweep, self._runs, self._settings = trainer, sweep, runs, settings
        self._schedule = read_schedule(every, at)
        self._named = series is not None
        self._series = _series_of(trainer.args) if series is None else series
        self._tokenizer = getattr(trainer, "processing_class", None) if tokenizer is None else tokenizer
        self._options: Options = {"progress": False, **options}
        check_whole(trainer)
        self._seconds, self._left = seconds_allowed(trainer, time_budget), total_time_budget
        with undisturbed():
            planned = planned_runs(trainer.model, self._tokenizer, sweep, runs, settings, self._series, self._options)
        self._suites = sorted({spec.suite for spec in planned})
        self._names = metric_names(planned)
        self._check_trainer()
        self._results_dir, self._output = read_settings(self._options).results_dir, Path(trainer.args.output_dir or "")
        if not self._named and trainer.is_world_process_zero():
            check_name(self._results_dir, self._series, self._output, "series=", self._suites)
        self._training, self._evaluated = False, -1
        self._metrics: dict[str, float] = {}
        self._last = _LastCallback(set(self._names.values()), self._evaluate_last)
        self.results: Results | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Move away what an earlier training left of later steps, and evaluate if it is time."""
        callbacks = self._trainer.callback_handler.callbacks
        callbacks.remove(self)
        callbacks.insert(0, self)  # callbacks that stop early, or log, see the results
        if self._last in callbacks:
            callbacks.remove(self._last)
        callbacks.append(self._last)
        self._training, self._evaluated = True, -1
        if state.is_world_process_zero:
            claim_name(self._results_dir, self._series, self._output, "series=", given=self._named)
            self._forget_later(state.global_step)
        began_by_saving = self._schedule.event == "save" and state.global_step > 0
        if began_by_saving or self._schedule.due(state.global_step, state.max_steps):
            self._evaluate(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Evaluate if it is time."""
        if self._schedule.due(state.global_step, state.max_steps):
            self._evaluate(state.global_step)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Add the results to those of the Trainer's own evaluation."""
        if self._training and self._schedule.event == "evaluate":
            self._evaluate(state.global_step)
        if self._training and self._evaluated == state.global_step:
            kwargs["metrics"].update(self._metrics)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Evaluate what has been saved."""
        if self._training and self._schedule.event == "save":
            self._evaluate(state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Evaluate after the last step. Afterwards, the model may be replaced, or trained further by other means."""
        if not args.load_best_model_at_end or state.best_model_checkpoint is None:
            self._evaluate_last(state)
        self._training = False
        if self._last in self._trainer.callback_handler.callbacks:
            self._trainer.callback_handler.callbacks.remove(self._last)

    def _evaluate_last(self, state: Any) -> None:
        """Evaluate after the last step of a training that was stopped early, unless this was done or is not wanted."""
        if self._training and self._schedule.every is not None and state.global_step > 0:
            self._evaluate(state.global_step)

    def _evaluate(self, step: int) -> None:
        """Evaluate in the first process, and let all processes log the same."""
        if step == self._evaluated:
            return
        self._evaluated = step
        with undisturbed(), _averaged_weights(self._trainer):
            measured = self._measure(step) if self._trainer.is_world_process_zero() else {}
        self._metrics = shared(self._trainer, measured)
        asked = self._trainer.control.should_log
        self._trainer.log(dict(self._metrics))
        self._trainer.control.should_log = asked  # which logging sets back

    def _measure(self, step: int) -> dict[str, float]:
        """Evaluate and return what to log; whatever goes wrong is logged, and the training goes on."""
        unfinished = {UNFINISHED: float(len(self._names))}
        if self._left is not None and self._left <= 0:
            _LOG.warning("%s step %d is not evaluated: total_time_budget is used up.", self._series, step)
            return unfinished
        budget = min((each for each in (self._seconds, self._left) if each is not None), default=None)
        started = time.monotonic()
        try:
            with _logged_warnings(f"{self._series} step {step}: "):
                self.results = evaluate(
                    self._trainer.model,
                    self._sweep,
                    runs=self._runs,
                    tokenizer=self._tokenizer,
                    settings=self._settings,
                    series=self._series,
                    step=step,
                    time_budget=budget,
                    **self._options,
                )
            found = logged_metrics(self.results.records(), self._names)
        except HarnessError as error:
            _LOG.error("%s step %d could not be evaluated: %s", self._series, step, error)
            return unfinished
        except Exception:
            _LOG.exception("%s step %d could not be evaluated, because of a bug:", self._series, step)
            return unfinished
        finally:
            seconds = time.monotonic() - started
            self._left = None if self._left is None else self._left - seconds
        done = sum(name in found for name in self._names.values())
        return {**found, UNFINISHED: float(len(self._names) - done), SECONDS: round(seconds, 3)}

    def _forget_later(self, step: int) -> None:
        """Move away results of later steps: the training has not been there, and may get there with other weights."""
        moved = [
            spec
            for suite in self._suites
            for spec in set_aside(self._results_dir, suite, self._series, lambda other: other > step)
        ]
        if moved:
            later = ", ".join(f"{number:,}" for number in sorted({_step_of(spec) for spec in moved}))
            _LOG.warning(
                "%s begins at step %d, but has results of later steps from an earlier training (%s). They are moved "
                "to %s.",
                self._series,
                step,
                later,
                self._results_dir / FOLDER,
            )

    def _check_trainer(self) -> None:
        """Refuse a schedule that the Trainer never reaches, and a best metric that would not be there.

        Raises:
            HarnessError: It is one.
        """
        args, event = self._trainer.args, self._schedule.event
        if event == "evaluate" and str(getattr(args.eval_strategy, "value", args.eval_strategy)) == "no":
            raise HarnessError("every='evaluate', but the Trainer never evaluates: set eval_strategy, or every=500.")
        if event == "save" and str(getattr(args.save_strategy, "value", args.save_strategy)) == "no":
            raise HarnessError("every='save', but the Trainer never saves: set save_strategy, or every=500.")
        best = args.metric_for_best_model
        wanted = best if best is None or best.startswith("eval_") else f"eval_{best}"
        if wanted is None or not wanted.startswith(PREFIX):
            return
        if wanted not in self._names.values():
            hint = did_you_mean(wanted, self._names.values())
            raise HarnessError(f"metric_for_best_model is {best!r}, which is not the main metric of a run. {hint}")
        if event != "evaluate":
            raise HarnessError(f"metric_for_best_model is {best!r}, which the Trainer needs whenever it evaluates: "
                               "write every='evaluate'.")  # fmt: skip


class _LastCallback(TrainerCallback):
    """The last callback, which knows what the others have decided.

    If an unfinished evaluation has no value for the best metric, it gives one that is never the best; callbacks that
    stop early find no value and skip the evaluation. It also sees when one of them stops the training, while the model
    still has the weights of the last step: later the Trainer may load the best ones.
    """

    def __init__(self, names: set[str], stopped: Callable[[Any], None]) -> None:
        self._names, self._stopped = names, stopped

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        metrics = kwargs["metrics"]
        best = args.metric_for_best_model
        wanted = best if best is None or best.startswith("eval_") else f"eval_{best}"
        if wanted in self._names and wanted not in metrics:
            metrics[wanted] = math.nan
            _LOG.warning("Step %d cannot be the best: %s is not finished.", state.global_step, best)
        self.on_epoch_end(args, state, control)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.on_epoch_end(args, state, control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if control.should_training_stop:
            self._stopped(state)


@contextmanager
def _averaged_weights(trainer: Any) -> Iterator[None]:
    """Switch an optimizer that has modes, such as a schedule-free one, to the weights that are to be evaluated.

    The Trainer switches model and optimizer together, so the model's mode says in which the optimizer is.
    """
    optimizer, training = trainer.optimizer, trainer.model.training
    if not callable(getattr(optimizer, "eval", None)):
        yield
        return
    optimizer.eval()
    try:
        yield
    finally:
        if training:
            optimizer.train()


@contextmanager
def _logged_warnings(place: str) -> Iterator[None]:
    """Log the text of each UserWarning once, with the place in front; show warnings of other kinds as ever."""
    texts: list[str] = []
    with warnings.catch_warnings():
        show = warnings.showwarning

        def keep(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if category is UserWarning:
                texts.append(str(message))
            else:
                show(message, category, *where, **more)

        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = keep
        try:
            yield
        finally:
            for text in dict.fromkeys(texts):
                _LOG.warning("%s", text if text.startswith(place) else place + text)


def _series_of(args: Any) -> str:
    """Return the name of a training: that of the run in trackers, or its folder's."""
    name = getattr(args, "run_name", None)
    folder = str(args.output_dir or "")
    return str(name) if name and name != folder else Path(folder).resolve().name or "training"


def _step_of(spec: Any) -> int:
    place = spec.training_step
    return -1 if place is None else int(place.step)
