"""The options of the Every Eval Ever format."""

from __future__ import annotations

from typing import Literal

from harness.exports.exporter import ExportOptions


class EveryEvalEverOptions(ExportOptions):
    """What the schema requires of a publisher, and how much is written."""

    organization: str = "unknown"
    """Name of the organization that provides the results (``source_organization_name``)."""

    organization_url: str = ""
    """Its address."""

    relationship: Literal["first_party", "third_party", "collaborative", "other"] = "other"
    """Its relationship to the model's developer (``evaluator_relationship``)."""

    developer: str | None = None
    """Developer of models whose name does not say it, such as checkpoints in a folder (default: ``local``)."""

    samples: Literal["all", "main", "none"] = "all"
    """Which scores of samples are written: of every metric, of the main metric, or of none."""
