"""The model's entry of each checkpoint in a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import yaml_lines
from harness.contracts.plugins import BackendDetails, Kind
from harness.errors import HarnessError
from harness.plugins.registry import Registry
from harness.storage.results import RunRecord, write_run
from harness.sweeps.load import find_sweep
from harness.training.checkpoint_folder import SavedCheckpoint

BACKEND = "hf"
"""The backend of checkpoints where the sweep names none."""


def template_of(sweep: str | None) -> Mapping[str, Any]:
    """Return the model's entry of a sweep, from which those of checkpoints are made; without any, that of ``hf:``.

    Raises:
        HarnessError: The sweep names several models, or cannot be read.
    """
    content = None if sweep is None else yaml_lines.load(find_sweep(sweep)).data
    models = content.get("models") if isinstance(content, Mapping) else None
    if not isinstance(models, list) or not models:
        return {"name": f"{BACKEND}:"}
    if len(models) > 1:
        raise HarnessError(
            f"{sweep} names {len(models)} models, but only checkpoints are evaluated. Leave out `models`, or name one, "
            "whose settings apply to each checkpoint."
        )
    return models[0] if isinstance(models[0], Mapping) else {"name": str(models[0])}


def check_backend(template: Mapping[str, Any], registry: Registry) -> None:
    """Refuse the entry of a model whose backend does not load checkpoints.

    Raises:
        HarnessError: It is such a backend.
    """
    name = str(template.get("name", "")).partition(":")[0] or BACKEND
    details = registry.get(Kind.BACKEND, name).details
    find = details.checkpoints if isinstance(details, BackendDetails) else None
    if find is None or not any(source.weights for source in find("checkpoint-0")):
        raise HarnessError(
            f"{name}: does not load checkpoints, so every step would evaluate this model instead. Leave out `models`, "
            'or use the settings of a backend that loads them, as in `models: [{name: "hf:", dtype: bfloat16}]`.'
        )


def model_entry(template: Mapping[str, Any], folder: Path, series: str, step: int) -> dict[str, Any]:
    """Return the entry of a checkpoint: the template's backend and settings, with the folder, series and step."""
    backend = str(template.get("name", "")).partition(":")[0] or BACKEND
    about = template.get("about")
    return {
        **{key: value for key, value in template.items() if key != "display_name"},
        "name": f"{backend}:{folder}",
        "about": {**(about if isinstance(about, Mapping) else {}), "series": series, "step": step},
    }


def without_deleted(records: Sequence[RunRecord], batch: Sequence[SavedCheckpoint]) -> list[RunRecord]:
    """Return records in which runs that failed say so where their checkpoint was deleted meanwhile, also on disk.

    What a library raises when files vanish says something else.
    """
    gone = {one.step: one.path.name for one in batch if not one.path.is_dir()}
    found = []
    for record in records:
        place = record.spec.training_step
        if record.status != "ok" and place is not None and place.step in gone:
            error = f"{gone[place.step]} was deleted while it was evaluated. Keep more checkpoints (save_total_limit)."
            record = replace(record, error=error)
            write_run(record)
        found.append(record)
    return found
