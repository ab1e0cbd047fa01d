"""What archives want to know about a model: its id in the Hub's form, who made it, what ran it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.exports.privacy import public_text
from harness.exports.stored_run import StoredRun

LOCAL = "local"
"""The developer in the id of a model whose name does not say who made it, such as a checkpoint in a folder."""

_ENGINES: Mapping[str, str] = {"hf": "transformers", "vllm": "vllm"}
"""The library that runs a backend's models, by backend."""

_SERVICES: Mapping[str, str] = {"openai": "openai", "anthropic": "anthropic"}
"""Who makes the models that are named without their maker, by backend."""


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Names and origin of a run's model."""

    id: str
    """``developer/model``, as on the Hub."""
    on_hub: bool
    """True if the id is a repository of the Hub, as far as the run tells."""
    engine: str | None
    """The library that ran it; None for a server's."""
    engine_version: str | None
    """That library's version; None if unknown."""
    deployment: str
    """``self_deployed``, ``externally_managed`` or ``unknown``."""
    availability: str
    """``open_weights``, ``closed_weights`` or ``unknown``."""


def model_identity(run: StoredRun, developer: str | None = None) -> ModelIdentity:
    """Return the identity of a run's model.

    Args:
        run: The run.
        developer: Who made a model whose name does not say it (default: ``local``).
    """
    record = run.record
    backend, _, identifier = record.spec.model.name.partition(":")
    known = record.provenance.get("model") or {}
    imported = "origin" in record.provenance
    name = public_text(identifier or backend).rstrip("/")
    is_path = identifier.startswith(("/", "./", "../", "~")) or name != identifier.rstrip("/")
    engine = None if imported else _ENGINES.get(backend)
    versions = record.provenance.get("versions") or {}
    access = known.get("access")
    if is_path:
        name = name.replace("\\", "/").rsplit("/", 1)[-1] or "model"
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    if access == "local weights" and parts:  # a folder, whose path does not say who made it
        parts = ["_".join(parts)]
    if len(parts) < 2:
        parts = [developer or (LOCAL if imported else _SERVICES.get(backend, LOCAL)), *(parts or ["model"])]
    return ModelIdentity(
        id="/".join(parts),
        on_hub=engine is not None and not is_path and name.count("/") == 1 and access != "local weights",
        engine=engine,
        engine_version=versions.get(engine) if engine is not None else None,
        deployment="self_deployed" if engine is not None else "externally_managed" if access == "API" else "unknown",
        availability="open_weights" if access == "open weights" else "closed_weights" if access == "API" else "unknown",
    )
