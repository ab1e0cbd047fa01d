"""Files that ``harness export --to lighteval`` wrote: they have the setup of the exported run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.contracts import Split
from harness.contracts.specs import RunSpec
from harness.imports.own_spec import check_own_spec, own_spec
from harness.installation import DISTRIBUTION

_SPEC = "config_general.written_by.spec"


def own_run(
    general: Mapping[str, Any], task: str, config: Mapping[str, Any], split: Split, suite: str
) -> RunSpec | None:
    """Return the exported run's spec, in another suite; None if the task is another program's, or not the main task.

    Perturbed copies and other splits are tasks of their own.

    Raises:
        ValueError: It is not a spec, or is that of another scenario, method, split or model.
    """
    by = general.get("written_by") or {}
    if by.get("program") != DISTRIBUTION or by.get("task") != task or "spec" not in by:
        return None
    spec = own_spec(by["spec"], _SPEC, suite)
    backend, _, identifier = spec.model.name.partition(":")
    model = "/".join(part for part in (identifier or backend).split("/") if part not in ("", ".", ".."))
    here = f"config_tasks.{task}"
    check_own_spec(
        _SPEC,
        {
            "config_general.model_name": (general.get("model_name"), model or backend),
            f"{here}.hf_repo": (config.get("hf_repo"), spec.scenario.name),
            f"{here}.parameters.scenario": ((config.get("parameters") or {}).get("scenario"), spec.scenario.arguments),
            f"{here}.prompt_function": (config.get("prompt_function"), spec.adapter.name),
            f"{here}.evaluation_splits": (split.value, spec.eval_split.value),
        },
    )
    return spec
