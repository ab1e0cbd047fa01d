"""The order in which heads begin the runs of a job: the model with most to do first, and of its runs the longest."""

from __future__ import annotations

import json
from collections.abc import Sequence

from harness.contracts.specs import RunSpec
from harness.costs.gpu_speed import DEFAULT, load_gpu
from harness.executors.dealing import longest_first
from harness.plugins.registry import Registry
from harness.runs.estimates import Estimates
from harness.runs.settings import Settings

PARAMETERS = 8_000_000_000
"""Parameters of a model whose entry does not say; only ratios matter."""


def dealing_order(runs: Sequence[RunSpec], seconds: Sequence[float]) -> list[RunSpec]:
    """Return a job's runs in the order in which heads should begin them; runs that are equally long stay as they were.

    Args:
        runs: The runs.
        seconds: How long each takes, as :func:`run_seconds` estimates it.
    """
    models: dict[str, list[int]] = {}
    for index, spec in enumerate(runs):
        models.setdefault(json.dumps(spec.configured_model.model_dump(mode="json")), []).append(index)
    groups = longest_first(models.values(), lambda group: sum(map(seconds.__getitem__, group)))
    return [runs[index] for group in groups for index in longest_first(group, seconds.__getitem__)]


def run_seconds(runs: Sequence[RunSpec], registry: Registry, settings: Settings) -> list[float]:
    """Return the estimated seconds of each run on one GPU.

    Args:
        runs: The runs.
        registry: Knows the plugins.
        settings: Where data are; a few instances of each scenario are read.
    """
    gpu, estimates = load_gpu(DEFAULT), Estimates(registry, settings)
    found = []
    for spec in runs:
        size, about = estimates.size(spec), spec.settings.about
        parameters = (about.parameters if about else None) or PARAMETERS
        found.append(gpu.seconds(parameters, size.prompt_tokens, size.max_completion_tokens, size.requests))
    return found
