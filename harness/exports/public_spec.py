"""A run's spec as exported files hold it, so that an import can restore scenario, method, split and metrics."""

from __future__ import annotations

from typing import Any

from harness.contracts.specs import RunSpec
from harness.exports.privacy import public


def public_spec(spec: RunSpec) -> dict[str, Any]:
    """Return a run's spec without settings of this machine: folders, addresses, costs and keys of its models."""
    written = spec.model_dump(mode="json", exclude={"operational", "judges_operational"})
    named = ("scenario", "adapter", "prompt_variant", "perturbations", "metrics", "model")
    return {key: public(value) if key in named else value for key, value in written.items()}
