"""Checks of a run's samples: that they can differ, and how they are reduced."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from harness.contracts.model_settings import ModelSettings
from harness.contracts.plugins import Kind
from harness.contracts.specs import Component
from harness.errors import KeyPath, did_you_mean, shown
from harness.plugins.parameters import given_names
from harness.statistics.reductions import read_reduction
from harness.sweeps.adapter_settings import GENERATE, asks_of
from harness.sweeps.context import Context, SweepModel


def read_reductions(
    written: Sequence[str] | None, samples: int, path: KeyPath, context: Context
) -> tuple[str, ...] | None:
    """Return the reductions of samples that a run asks for; None for the default ones."""
    if written is None:
        return None
    if samples == 1:
        context.diagnostics.add(path, "is set, but there is only one sample for each prompt.", "Set samples too.")
    for place, name in enumerate(written if samples > 1 else ()):
        try:
            read_reduction(name, samples)
        except ValueError as error:
            context.diagnostics.add((*path, place), f"is {shown(name)}, which {error}.")
    return tuple(dict.fromkeys(written))


def check_choosing_scores(
    reductions: Sequence[str], samples: int, metrics: Sequence[Component], path: KeyPath, context: Context
) -> None:
    """Report a reduction that chooses by a score which none of the run's metrics computes."""
    given = [given_names(context.registry.get(Kind.METRIC, metric.name)) for metric in metrics]
    if not all(given):
        return
    known = [name for names in given for name in names]
    for place, written in enumerate(reductions):
        by = read_reduction(written, samples).by
        if by and not any(fnmatchcase(by, name) for name in known):
            message = f"chooses by {shown(by)}, which none of the run's metrics computes."
            context.diagnostics.add((*path, place), message, did_you_mean(by, known))


def check_samples(samples: int, adapter: Component, model: SweepModel, path: KeyPath, context: Context) -> None:
    """Report samples that would all be the same answer."""
    if GENERATE not in asks_of(adapter, context.registry):
        message = f"is {samples}, but method {adapter.name!r} generates no text: it would measure the same each time."
        context.diagnostics.add(path, message, "Leave it out, or choose a method that generates.")
        return
    own = ModelSettings.of(model.component.arguments).temperature
    temperature = adapter.arguments.get("temperature", 0.0) if own is None else own
    if temperature > 0.0:
        return
    where = f"that of model {model.component.name!r}" if own is not None else f"that of method {adapter.name!r}"
    hint = "Set a temperature above 0 in the model's entry"
    hint += ", or write adapter: {temperature: 0.8}." if own is None and "temperature" in adapter.arguments else "."
    message = f"is {samples}, but the temperature, {where}, is 0: all samples would be the same answer."
    context.diagnostics.add(path, message, hint)
