"""``harness.evaluate``: a model that is in memory."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any, Unpack

from harness.contracts.plugins import BackendDetails, Kind, Plugin
from harness.contracts.specs import RunSpec
from harness.errors import HarnessError, shown
from harness.python.live_model import BACKEND, LiveModel, live_model, transformers_model
from harness.python.options import AnyPath, Entry, Options, check_options, read_settings, read_sweep
from harness.python.plugins import objects_of, registry_with
from harness.python.results import Results
from harness.python.run import execute
from harness.python.superseded import bring_back, set_aside
from harness.python.time_budget import Deadline
from harness.python.undisturbed import undisturbed
from harness.sweeps.executor_keys import LocalKeys

OWN = ("model", "sweep", "runs", "tokenizer", "name", "settings", "series", "step", "time_budget")
"""The arguments of ``evaluate`` that ``run`` does not have."""

LONGEST_SERIES = 80
"""Most characters of a training's name: a display name has it with the step, in at most 100."""


def evaluate(
    model: Any,
    sweep: AnyPath | Mapping[str, Any] | None = None,
    *,
    runs: Sequence[Entry] | None = None,
    tokenizer: Any = None,
    name: str | None = None,
    settings: Mapping[str, Any] | None = None,
    series: str | None = None,
    step: int | None = None,
    time_budget: float | None = None,
    **options: Unpack[Options],
) -> Results:
    """Evaluate a model that is in memory, and return the results of its runs.

    A transformers model answers as it is: on its device, in its precision, without a second copy of its weights.
    Afterwards everything is as before (modes of modules, buffers, random numbers, the tokenizer), so that a training
    loop goes on as if nothing had happened::

        results = harness.evaluate(model, tokenizer=tokenizer, runs=["boolq"], series="run-7", step=step)

    Finished runs are skipped, and an interrupted call continues when it is repeated, if the model is the same one: the
    same weights, configuration and tokenizer, or the same object (:class:`harness.python.object_model.ObjectModel`
    says what an object with ``generate`` or ``score`` must do, and what identifies it).

    Args:
        model: A causal language model of transformers, an object with ``generate`` or ``score``, or a
            :class:`harness.Model`.
        sweep: As for :func:`harness.run`; its models are replaced.
        runs: Runs instead of a sweep.
        tokenizer: The tokenizer of a transformers model.
        name: Name of the model in results. Results of another model with the same name are replaced (default: its own
            name with a digest of its weights or source, which no other model has).
        settings: Keys of a model's entry in a sweep, such as ``temperature``, ``display_name`` or ``about``; for a
            transformers model also ``max_batch_tokens``, ``chat`` and ``chat_template_kwargs``.
        series: Name of the training of which the model is a checkpoint; results carry it. Results that other weights
            had at the same step are moved to the folder ``.superseded`` in the folder of results.
        step: Number of optimizer steps so far; results carry it.
        time_budget: Most seconds that the evaluation may take. When they are over, it stops before the next forward
            pass or prompt, with a warning; reading a data set is not interrupted, and listeners have at least five
            more seconds to send results. Finished runs have their results; the others have none and are listed in
            ``Results.unfinished``. Answers so far are kept, so that the same call continues.
        **options: As for :func:`harness.run`.

    Raises:
        ModelError: The model cannot be evaluated in memory, for example because it has no tokenizer.
        SpecError: The sweep has errors.
        HarnessError: It cannot run here, or the disk failed.
        TypeError: There is no such argument.
    """
    check_options(options, "evaluate", OWN)
    check_model_arguments(name, settings, series, step)
    deadline = Deadline(time_budget)
    module = transformers_model(model) if "transformers" in sys.modules else None
    with undisturbed(module, tokenizer):
        registry = registry_with(objects_of(options.get("plugins", ())))
        live = live_model(model, tokenizer, deadline)
        registry.add(
            Plugin(Kind.BACKEND, BACKEND, live.backend, "A model in memory.", "", "harness.evaluate", BackendDetails())
        )
        entry = _entry(live, name, settings or {}, series, step)
        found = read_sweep(sweep, runs, [entry], registry, options)
        folders = read_settings(options)
        if series is not None:
            _replace_other_weights(folders.results_dir, found.runs)
        return execute(found, registry, folders, LocalKeys(heads=1), options, deadline)


def check_model_arguments(name: str | None, settings: Any, series: Any, step: Any) -> None:
    """Check that the arguments of ``evaluate`` about the model fit each other.

    Raises:
        HarnessError: They do not.
    """
    if settings is not None and not isinstance(settings, Mapping):
        raise HarnessError(f"settings must be a mapping, for example {{'temperature': 0.7}}, not {shown(settings)}.")
    given = settings or {}
    if "name" in given:
        raise HarnessError("settings cannot contain `name`; harness.evaluate takes it as name=….")
    if "resources" in given:
        raise HarnessError("settings: a model in memory takes no `resources`, because it is already loaded.")
    if (series is None) != (step is None):
        lacking, other = ("series", "step") if series is None else ("step", "series")
        raise HarnessError(f"{other} is given without {lacking}; write series='run-7', step=100.")
    if series is None:
        return
    if not isinstance(series, str) or not series.strip():
        raise HarnessError(f"series must be the name of a training, not {shown(series)}.")
    if len(series) > LONGEST_SERIES:
        raise HarnessError(f"series must have at most {LONGEST_SERIES} characters, not {len(series)}: {shown(series)}.")
    if isinstance(step, bool) or not isinstance(step, int) or step < 0:
        raise HarnessError(f"step must be a whole number from 0, not {shown(step)}.")
    if name is not None:
        raise HarnessError("name is made from series and step; pass either name or those two.")
    about = given.get("about")
    if isinstance(about, Mapping) and {"series", "step"} & about.keys():
        raise HarnessError("settings: series and step are given twice; leave them out of `about`.")


def step_entry(name: str, settings: Mapping[str, Any], series: str, step: int) -> dict[str, Any]:
    """Return the entry in the sweep of a model in memory that is a step of a training."""
    about = settings.get("about")
    return {
        "display_name": f"{series} step {step}",
        **settings,
        "name": f"{BACKEND}:{name}",
        "about": {**about, "series": series, "step": step} if isinstance(about, Mapping) else
        {"series": series, "step": step} if about is None else about,
    }  # fmt: skip


def _entry(
    live: LiveModel, name: str | None, settings: Mapping[str, Any], series: str | None, step: int | None
) -> dict[str, Any]:
    """Return the model's entry in the sweep."""
    if series is None or step is None:
        return {"name": f"{BACKEND}:{name or live.named(live.own_name)}", **settings}
    return step_entry(live.named(f"{series}-step-{step}"), settings, series, step)


def _replace_other_weights(results_dir: Path, runs: Sequence[RunSpec]) -> None:
    """Move away what other weights gave at the step of some runs; bring back what theirs gave before."""
    bring_back(results_dir, runs)
    for suite, model, place in {(spec.suite, spec.model.name, spec.training_step) for spec in runs}:
        if place is not None:
            set_aside(results_dir, suite, place.series, partial(eq, place.step), keep=model)
