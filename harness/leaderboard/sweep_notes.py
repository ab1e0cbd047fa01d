"""What to say at the end of a sweep about its answers and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from harness.answers.declined import Declined
from harness.answers.reasoning_count import unfinished_note
from harness.answers.served_models import served_models, served_notes
from harness.contracts.plugins import AdapterDetails, Kind
from harness.contracts.specs import RunSpec
from harness.leaderboard.cells import main_stat
from harness.plugins.parameters import given_names
from harness.plugins.registry import Registry
from harness.storage.results import RunRecord
from harness.sweeps.adapter_settings import needs_probabilities

MOST_UNREAD = 0.1
"""Share of unread answers above which a run's end mentions them."""

FEW_TOKENS = 16
"""Most tokens that are too few for an answer in a sentence."""

_MOST_NAMED = 3
"""Runs that are named in one note."""


def sweep_notes(records: Sequence[RunRecord], registry: Registry) -> Iterator[str]:
    """Yield what a reader must know of each model's answers and of metrics without a value, a sentence each."""
    yield from _answer_notes(records, registry)
    yield from _metric_notes(records, registry)


def report_of(registry: Registry, method: str) -> str:
    """Return the command that reports on runs of a method; '' if it declares none."""
    details = registry.get(Kind.ADAPTER, method).details
    return details.report if isinstance(details, AdapterDetails) else ""


def abridged(record: RunRecord, specs: Mapping[str, RunSpec]) -> RunRecord:
    """Return a record with what the end of a sweep mentions: whole records of the largest sweeps are gigabytes.

    Its spec is the sweep's own, by its name, of which there is one in memory anyway.
    """
    stats = [stat for stat in (main_stat(record),) if stat is not None]
    if record.efficiency.get("without_probability"):
        stats += {stat.metric: stat for stat in record.stats}.values()
    provenance, spec = {"served": served_models(record.provenance)}, specs.get(record.name, record.spec)
    return replace(record, spec=spec, stats=stats, details={}, provenance=provenance, instance_scores=None)


def _answer_notes(records: Sequence[RunRecord], registry: Registry) -> Iterator[str]:
    """Yield what a reader must know of each model's answers: declined and unfinished ones, and who gave them."""
    by_model: dict[str, list[RunRecord]] = {}
    for record in records:
        by_model.setdefault(record.spec.model_label, []).append(record)
    for model, runs in by_model.items():
        declining = [run for run in runs if run.declined.examples]
        if declining:
            runs_told = f"in {len(declining)} runs" if len(declining) > 1 else f"in {declining[0].name}"
            yield f"{model}: {sum((run.declined for run in declining), Declined())}, {runs_told}."
        for run in runs:
            if note := unfinished_note(run.efficiency):
                yield f"{model}: {note}, in {run.name}."
        # Methods with a report of their own, such as the tests of an order, say there what did not fit.
        prompted = [run for run in runs if not report_of(registry, run.spec.adapter.name)]
        shortened: dict[str, list[RunRecord]] = {}
        for run in prompted:
            if run.efficiency.get("truncated_examples", 0):
                shortened.setdefault(_if_too_long(run, registry), []).append(run)
        for effect, affected in shortened.items():
            yield _shortened_note(model, affected, effect)
        name = runs[0].spec.model.name
        for note in served_notes(name, [one for run in runs for one in served_models(run.provenance)]):
            yield f"{model}: {note}."


def _if_too_long(run: RunRecord, registry: Registry) -> str:
    """Return what happened to a run's prompts that were too long, without a full stop."""
    details = registry.get(Kind.ADAPTER, run.spec.adapter.name).details
    if isinstance(details, AdapterDetails) and details.if_too_long:
        return details.if_too_long
    examples = run.spec.adapter.arguments.get("max_train_instances")
    return "few-shot examples were dropped, or the input was cut" if examples else "the input was cut"


def _shortened_note(model: str, runs: Sequence[RunRecord], effect: str) -> str:
    """Return a sentence that says how many prompts were too long for a model, in which runs, and with what effect."""
    counts = [(run.efficiency["truncated_examples"], run.efficiency.get("examples", 0), run.name) for run in runs]
    if len(runs) == 1:
        count, of, name = counts[0]
        where = f"{count:,} of {of:,} prompts were too long in {name}"
    else:
        named = [f"{count:,} in {name}" for count, _, name in counts[:_MOST_NAMED]]
        more = f", and others in {len(runs) - _MOST_NAMED} more runs" if len(runs) > _MOST_NAMED else ""
        total, of = sum(count for count, _, _ in counts), sum(of for _, of, _ in counts)
        where = f"{total:,} of {of:,} prompts were too long in {len(runs)} runs ({', '.join(named)}{more})"
    return f"{model}: {where}; {effect}."


def _metric_notes(records: Sequence[RunRecord], registry: Registry) -> Iterator[str]:
    """Yield the runs with many unread answers, and metrics without a value since a model gave no log-probabilities."""
    lacking: dict[str, dict[str, None]] = {}
    for record in records:
        if record.status != "ok":
            continue
        given = {stat.metric for stat in record.stats}
        for metric in record.spec.metrics:
            plugin = registry.get(Kind.METRIC, metric.name)
            silent = record.efficiency.get("without_probability", 0) > 0
            if silent and needs_probabilities(plugin) and given.isdisjoint(given_names(plugin)):
                lacking.setdefault(record.spec.model_label, {})[metric.name] = None
        unread, of = record.efficiency.get("unread_examples", 0), record.efficiency.get("examples", 0)
        if unread > MOST_UNREAD * of:
            limit = record.spec.adapter.arguments.get("max_tokens", 0)
            room = (
                f" Its max_tokens is {limit}; a model that answers in sentences needs more."
                if 0 < limit <= FEW_TOKENS
                else ""
            )
            yield (
                f"{record.spec.model_label}: nothing could be read from {unread:,} of {of:,} answers in {record.name}."
                f"{room}"
            )
        stat = main_stat(record)
        if stat is not None and stat.missing > MOST_UNREAD * (stat.count + stat.missing):
            yield (
                f"{record.spec.model_label}: {stat.metric} has no value for {stat.missing:,} of "
                f"{stat.count + stat.missing:,} examples in {record.name}; `details` in run.json may say why."
            )
        elif (unjudged := record.efficiency.get("unjudged_examples", 0)) > MOST_UNREAD * of:
            yield (
                f"{record.spec.model_label}: a judgement could not be read for {unjudged:,} of {of:,} answers in "
                f"{record.name}, so judges' metrics leave these out; `details` in run.json says why."
            )
    for model, metrics in lacking.items():
        has = "has" if len(metrics) == 1 else "have"
        yield f"{model}: {', '.join(metrics)} {has} no value, since the model gave no log-probabilities."
