"""What ``harness contamination`` does where models cannot be opened or runs fail: messages and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.errors import HarnessError, ModelError

if TYPE_CHECKING:
    from harness.contracts.specs import RunSpec
    from harness.plugins.registry import Registry
    from harness.storage.results import RunRecord


def refuse_if_no_model_opens(runs: Sequence[RunSpec], registry: Registry) -> None:
    """Raise an error if none of the models can be opened, instead of one for each run.

    Raises:
        ModelError: No model can be opened; it says why.
    """
    from harness.inference.model_pool import LoadedModels

    faults: dict[str, None] = {}
    with LoadedModels(registry) as loaded:
        for spec in runs:
            try:
                loaded(spec.model)
            except HarnessError as error:
                faults[str(error)] = None
            else:
                return
    if faults:
        raise ModelError("\n".join(faults))


def exit_with_failures(records: Sequence[RunRecord]) -> None:
    """Exit with 2 if all runs failed, or with 1 if some did; return if none did."""
    failed = sum(record.status != "ok" for record in records)
    if failed:
        sys.exit(2 if failed == len(records) else 1)
