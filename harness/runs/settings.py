"""The settings of a sweep's execution: its folders, and whether finished runs are repeated."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from harness.costs.prices import PriceTable
from harness.costs.runtimes import RuntimeTable

RESULTS_DIR = "HARNESS_RESULTS_DIR"
DATA_DIR = "HARNESS_DATA_DIR"


def results_folder(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of results: the given one, else ``HARNESS_RESULTS_DIR``, else ``results``."""
    return Path(given if given is not None else os.environ.get(RESULTS_DIR) or "results")


@dataclass(frozen=True, slots=True)
class Settings:
    """Folders and limits of a sweep, and whether finished runs are repeated."""

    results_dir: Path
    """The folder of results."""
    data_dir: Path | None = None
    """The local data folder; None without one."""
    force: bool = False
    """Repeat finished runs. Answers still come from the response cache."""
    prices: PriceTable | None = None
    """Prices of tokens; None for the table that comes with the harness."""
    runtimes: RuntimeTable = field(default_factory=lambda: RuntimeTable(models={}))
    """Per-model latencies, for denoised and idealized runtimes."""
    cache_dir: Path | None = None
    """The folder of the response cache; None for HARNESS_CACHE_DIR, or the folder of results."""
    reuse_across_gpus: bool = False
    """Take answers from the cache that another kind of GPU gave; run.json counts them."""
    own_cache: bool = False
    """True for a head on a machine of several: its look-ups are on a local disk, in ``cache_dir`` or among temporary
    files, and its answers go to segments in the results folder.
    """
