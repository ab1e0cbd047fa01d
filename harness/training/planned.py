"""What a callback will run, checked before the training begins and not at its first evaluation hours later."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from harness import yaml_lines
from harness.contracts.plugins import BackendDetails, Kind, Plugin
from harness.contracts.specs import RunSpec
from harness.errors import DataError, HarnessError, ModelError
from harness.inference.cache_file import cache_file
from harness.python.evaluate import check_model_arguments, step_entry
from harness.python.live_model import BACKEND, live_model
from harness.python.options import Entry, Options, nearest_folder, read_settings, read_sweep
from harness.python.plugins import objects_of, registry_with
from harness.python.time_budget import Deadline
from harness.runs.lacking import lacking_data, unreachable_data
from harness.sweeps.load import find_sweep

MANY_STEPS = 10**9
"""A step that no training reaches: if names are valid with it, they are valid for all earlier steps."""


def planned_runs(
    model: Any,
    tokenizer: Any,
    sweep: Any,
    runs: Sequence[Entry] | None,
    settings: Mapping[str, Any] | None,
    series: str,
    options: Options,
) -> list[RunSpec]:
    """Return the runs of each evaluation, for a model without a digest at step :data:`MANY_STEPS`.

    Raises:
        HarnessError: The model cannot be evaluated, the sweep has errors or several models, data are missing, or the
            folder of results or of the response cache cannot be written.
    """
    if tokenizer is None:
        raise ModelError(
            "the Trainer has no tokenizer. Pass it to the Trainer as processing_class, or to the callback as tokenizer."
        )
    if len(models := _models_of(sweep)) > 1:
        raise HarnessError(
            f"the sweep names {len(models)} models, but the callback evaluates only the model that is trained. Leave "
            "out `models`, or evaluate the others with harness.run."
        )
    registry = registry_with(objects_of(options.get("plugins", ())))
    live = live_model(model, tokenizer, Deadline())
    registry.add(Plugin(Kind.BACKEND, BACKEND, live.backend, "", "", "harness.training", BackendDetails()))
    check_model_arguments(None, settings, series, MANY_STEPS)
    found = read_sweep(sweep, runs, [step_entry("trained", settings or {}, series, MANY_STEPS)], registry, options)
    folders = read_settings(options)
    _check_writable(folders.results_dir, "results_dir")
    _check_writable(cache_file(folders.results_dir, folders.cache_dir).parent, "cache_dir")
    lacking = [
        lacking_data(spec, registry, folders.data_dir) or unreachable_data(spec, registry, folders.data_dir)
        for spec in found.runs
    ]
    if any(lacking):
        raise DataError("; ".join(dict.fromkeys(filter(None, lacking))))
    return list(found.runs)


def _check_writable(folder: Path, name: str) -> None:
    there = nearest_folder(folder, name)
    if not os.access(there, os.W_OK | os.X_OK):
        raise DataError(f"{name} is {str(folder)!r}, but {there} cannot be written.")


def _models_of(sweep: Any) -> Sequence[Any]:
    """Return the models that a sweep names; what is wrong with it is reported when it is read."""
    content = sweep
    if isinstance(sweep, str | PathLike):
        content = yaml_lines.load(find_sweep(fspath(sweep))).data
    models = content.get("models") if isinstance(content, Mapping) else None
    return models if isinstance(models, list | tuple) else ()
