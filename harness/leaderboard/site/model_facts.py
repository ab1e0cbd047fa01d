"""The facts about a model that pages show, each with its source: the sweep, the checkpoint's card, or its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.storage.results import RunRecord

FACTS = ("creator", "access", "parameters", "licence", "released")
"""The facts that every model's page shows; those that no source states are "not stated"."""

DETAILS = (
    "base_model", "architecture", "quantization", "modality", "tokenizer", "vocabulary", "window", "dtype", "revision",
    "device", "library",
)  # fmt: skip
"""Further facts, shown where a source states them."""

SWEEP, CARD, COUNTED, FILES, BACKEND = "sweep", "card", "counted", "files", "backend"
"""Sources: the sweep, the checkpoint's README.md, a count of its weights, its other files, or the backend."""

CHECKPOINT = frozenset({"architecture", "tokenizer", "vocabulary", "dtype", "quantization", "revision", "window"})
"""The facts that a backend reads in a checkpoint's files."""


def facts_of(runs: Sequence[RunRecord]) -> dict[str, list[Any]]:
    """Return each known fact as ``[value, source]``, from the newest run that states it.

    What a sweep says takes precedence over the model's card, and that over what its backend knows.
    """
    known: dict[str, list[Any]] = {}
    stated: dict[str, list[Any]] = {}
    for run in sorted(runs, key=lambda run: run.finished):
        model = run.provenance.get("model", {})
        if isinstance(model, Mapping):
            known |= _of_backend(model)
            card = model.get("card")
            known |= {name: [value, CARD] for name, value in _shown(card).items()}
        about = run.spec.settings.about
        said = about.model_dump(mode="json", exclude_defaults=True) if about else {}
        stated |= {name: [value, SWEEP] for name, value in said.items() if name != "tags"}
    known |= stated
    return {name: known[name] for name in (*FACTS, *DETAILS) if name in known}


def tags_of(runs: Sequence[RunRecord]) -> list[str]:
    """Return the tags that the newest sweep with any gives a model."""
    for run in sorted(runs, key=lambda run: run.finished, reverse=True):
        if run.spec.settings.about and run.spec.settings.about.tags:
            return list(run.spec.settings.about.tags)
    return []


def _of_backend(model: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return what a backend says of its model; a checkpoint's parameters are counted."""
    checkpoint = "architecture" in model
    found = {}
    for name, value in _shown(model).items():
        source = BACKEND
        if checkpoint and name == "parameters":
            source = COUNTED
        elif checkpoint and name in CHECKPOINT:
            source = FILES
        found[name] = [value, source]
    return found


def _shown(values: Any) -> dict[str, Any]:
    """Return the facts among some values; others, and values of other kinds, are left out."""
    if not isinstance(values, Mapping):
        return {}
    known = {name: values[name] for name in (*FACTS, *DETAILS) if name in values}
    return {
        name: value
        for name, value in known.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value not in ("", 0)
    }
