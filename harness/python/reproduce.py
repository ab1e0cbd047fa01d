"""``harness.reproduce``: a finished run's questions asked again, from Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral, Real
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
            ``server``, ``files``.

    Raises:
        HarnessError: An argument is not what it should be, there is no such run, its files are damaged, its model or
            data are not here, or it needs a permission.
    """
    if not _is_a(Integral, sample) or sample < 1:
        raise HarnessError(f"sample must be a whole number, at least 1, not {shown(sample)}.")
    if not _is_a(Integral, seed):
        raise HarnessError(f"seed must be a whole number, not {shown(seed)}.")
    if tolerance is not None and not _is_a(Real, tolerance):
        raise HarnessError(f"tolerance must be a number, not {shown(tolerance)}.")
    for name, folder in (("run", run), ("data_dir", data_dir)):
        if not isinstance(folder, str | os.PathLike) and (name == "run" or folder is not None):
            raise HarnessError(f"{name} must be a folder, not {shown(folder)}.")
    path, data = Path(run), data_dir or os.environ.get(DATA_DIR)
    if not path.exists():
        raise DataError("there is no such run.", file=path)
    if data and not Path(data).is_dir():
        raise DataError(f"data_dir is {str(data)!r}, which is not a folder.")
    return reproduce_run(
        find_run(path),
        registry_with(listed(plugins, "plugins")),
        sample=int(sample),
        seed=int(seed),
        data_dir=Path(data) if data else None,
        tolerance=None if tolerance is None else float(tolerance),
        allow=listed(allow, "allow"),
    )


def _is_a(kind: type, value: object) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
