"""What a callback will run, checked before the training begins and not at its first evaluation hours later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from harness import yaml_lines
from harness.contracts.plugins import BackendDetails, Kind, Plugin
from harness.contracts.specs import RunSpec
from harness.errors import DataError, HarnessError, ModelError
from harness.python.live_model import BACKEND, live_model
from harness.python.options import Entry, Options, read_settings, read_sweep
from harness.python.plugins import objects_of, registry_with
from harness.python.time_budget import Deadline
from harness.runs.lacking import lacking_data
from harness.sweeps.load import find_sweep


def planned_runs(
    model: Any,
    tokenizer: Any,
    sweep: Any,
    runs: Sequence[Entry] | None,
    settings: Mapping[str, Any] | None,
    options: Options,
) -> list[RunSpec]:
    """Return the runs of each evaluation, as those of a model without a digest.

    Raises:
        HarnessError: The model cannot be evaluated, the sweep has errors or several models, or data are missing.
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
    found = read_sweep(sweep, runs, [{**(settings or {}), "name": f"{BACKEND}:trained"}], registry, options)
    data_dir = read_settings(options).data_dir
    if lacking := [text for spec in found.runs if (text := lacking_data(spec, registry, data_dir))]:
        raise DataError("; ".join(dict.fromkeys(lacking)))
    return list(found.runs)


def _models_of(sweep: Any) -> Sequence[Any]:
    """Return the models that a sweep names; what is wrong with it is reported when it is read."""
    content = sweep
    if isinstance(sweep, str | PathLike):
        content = yaml_lines.load(find_sweep(fspath(sweep))).data
    models = content.get("models") if isinstance(content, Mapping) else None
    return models if isinstance(models, list | tuple) else ()
