"""``harness cache batches``: the batches that providers are working on."""

from __future__ import annotations

from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.inference.cache_file import cache_file
from harness.output.display import counted, visible
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.models.api.batches.ledger import Batch


@click.command("batches", short_help="Show or cancel the batches that providers are working on.")
@options.results_dir
@options.cache_dir
@options.cached_models
@click.option("--cancel", is_flag=True, help="Cancel these batches. Finished requests are still billed.")
def batches_command(results_dir: Path, cache_dir: Path | None, models: tuple[str, ...], cancel: bool) -> None:
    """Show the batches of models with `batch: true`, as of the harness's last check.

    After `--cancel`, the next `harness run` collects the finished answers and submits the other requests again.
    """
    from harness.models.api.batches.ledger import all_batches

    found = [
        batch
        for batch in all_batches(cache_file(results_dir, cache_dir).parent)
        if not models or any(fnmatchcase(batch.access["model"], pattern) for pattern in models)
    ]
    for batch in found:
        made = datetime.fromtimestamp(batch.made).astimezone().strftime("%Y-%m-%d %H:%M")
        id = "not confirmed" if batch.id is None else batch.id
        done = f"{batch.done:,} of {batch.requests:,} done"
        say(visible(f"{id}: {batch.access['model']} at {batch.access['base_url']}, {done}, submitted {made}"))
    number = counted(len(found), "batch").replace("batchs", "batches")
    if not cancel:
        say(f"{number} under way{'; use --cancel to cancel' if found else ''}.")
        return
    for access, ids in _by_server(found):
        _cancel(access, ids)
    unconfirmed = sum(batch.id is None for batch in found)
    say(
        f"Asked to cancel {number}."
        if not unconfirmed
        else f"{unconfirmed} of {number} have no id yet, so they were not cancelled: run the sweep first."
    )


def _by_server(batches: list[Batch]) -> list[tuple[dict[str, str], list[str]]]:
    """Return the ids of batches by how their server is reached."""
    found: list[tuple[dict[str, str], list[str]]] = []
    for batch in batches:
        access = dict(batch.access)
        ids = next((ids for known, ids in found if known == access), None)
        if ids is None:
            ids = []
            found.append((access, ids))
        if batch.id is not None:
            ids.append(batch.id)
    return found


def _cancel(access: dict[str, str], ids: list[str]) -> None:
    from harness.contracts.specs import Component
    from harness.inference.model_pool import load_model
    from harness.models.api.api_model import ApiModel
    from harness.plugins.registry import default_registry

    arguments = {key: value for key, value in access.items() if key != "model" and value is not None}
    model = load_model(Component(name=access["model"], arguments=arguments), default_registry())
    try:
        if isinstance(model, ApiModel):
            model.cancel_batches(ids)
    finally:
        model.close()
