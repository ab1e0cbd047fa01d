"""``harness.reproduce``: a finished run's questions asked again, from Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import DataError, HarnessError, shown
from harness.python.options import AnyPath
from harness.python.plugins import listed, registry_with
from harness.runs.settings import DATA_DIR
from harness.verification.reproduction import Reproduction, find_run, reproduce_run


def reproduce(
    run: AnyPath,
    *,
    sample: int = 50,
    seed: int = 0,
    tolerance: float | None = None,
    data_dir: AnyPath | None = None,
    plugins: Sequence[Any] = (),
    allow: Sequence[str] = (),
) -> Reproduction:
    """Ask a random sample of a finished run's questions again, and return what changed, as ``harness reproduce`` does.

    The response cache is not used, and nothing is written::

        found = harness.reproduce("results/suite/run", sample=100)
        found.same, found.changed, found.interval

    Args:
        run: The run's folder, or its run.json.
        sample: Number of questions to ask again, chosen at random.
        seed: Seed of the choice.
        tolerance: Largest difference of a token's natural log-probability that counts as rounding (default: by the
            determinism grade).
        data_dir: Folder with data sets (default: ``HARNESS_DATA_DIR``).
        plugins: Further plugins: files, folders, or decorated objects.
        allow: Permissions for what the run needs beyond asking a model: ``code_execution``, ``remote_code``,
            ``server``.

    Raises:
        HarnessError: There is no such run, its files are damaged, its model or data are not here, or it needs a
            permission.
    """
    if not isinstance(sample, int) or sample < 1:
        raise HarnessError(f"sample must be a whole number, at least 1, not {shown(sample)}.")
    path, data = Path(run), data_dir or os.environ.get(DATA_DIR)
    if not path.exists():
        raise DataError("there is no such run.", file=path)
    return reproduce_run(
        find_run(path),
        registry_with(listed(plugins, "plugins")),
        sample=sample,
        seed=seed,
        data_dir=None if data is None else Path(data),
        tolerance=tolerance,
        allow=listed(allow, "allow"),
    )
