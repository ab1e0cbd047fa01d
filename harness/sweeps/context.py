"""State that all entries of a sweep share while it is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.contracts.plugins import Plugin
from harness.contracts.specs import Component
from harness.errors import KeyPath
from harness.plugins.registry import Registry
from harness.sweeps.diagnostics import Diagnostics


@dataclass(frozen=True, slots=True)
class SweepModel:
    """One model of a sweep."""

    component: Component
    """Its name, and the settings that can change its answers."""
    operational: dict[str, Any]
    """Its other settings."""
    backend: Plugin
    """Its backend."""
    path: KeyPath
    """Where it was written."""


@dataclass
class Context:
    """State that all entries of a sweep share."""

    registry: Registry
    """Where names are looked up."""
    diagnostics: Diagnostics
    """Takes errors."""
    base: Path
    """The folder that paths are relative to."""
    suite: str = "unnamed"
    """The suite's name."""
    models: Sequence[SweepModel] | None = None
    """The sweep's models; None if it names none."""
    model_facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Facts about models from the sweep's file of them, by the model's name."""
    fixed_models: bool = False
    """True if they replace the models of single entries."""
    permitted: Collection[str] | None = ()
    """Permissions that the command line gives, such as ``code_execution``; None for all, where nothing is executed."""
    permissions: dict[str, list[KeyPath]] = field(default_factory=dict)
    """The places of the metrics that ask for a permission and are not given it in the sweep, by permission."""
    without_prompt: dict[str, list[str]] | None = field(default_factory=dict)
    """The scenarios that lack a prompt of the sweep's defaults, by prompt; None to report each at once."""
    unused_changes: dict[KeyPath, str] = field(default_factory=dict)
    """Kinds of changes of prompts that the sweep's defaults name and that no run offers so far, with hints."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Keys of a run that the command line sets for every run, such as ``seed``."""
    scenario_files: dict[Path, Plugin | None] = field(default_factory=dict)
    """The scenario files that entries have named so far; None for one with errors."""
