"""The record of a run that has ended, well or badly, as ``run.json`` has it."""

from __future__ import annotations

import math
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.answers.declined import Declined
from harness.contracts.specs import RunSpec
from harness.costs.costs import costs
from harness.costs.prices import PriceTable, load_prices
from harness.errors import HarnessError, describe_failure, did_you_mean
from harness.inference.caching_model import CachingModel
from harness.inference.replica_server import worker_facts
from harness.runs.determinism import determinism
from harness.runs.evaluation import Evaluation
from harness.runs.pipeline import Outcome
from harness.runs.provenance import environment, now
from harness.runs.settings import Settings
from harness.storage.example_files import discard_examples
from harness.storage.results import RunRecord, no_value_of, run_directory


@dataclass(frozen=True, slots=True, eq=False)
class EndedRun:
    """A run that has ended."""

    spec: RunSpec
    """What was run."""
    error: BaseException | None = None
    """Why it failed; None if it finished."""
    outcome: Outcome = field(default_factory=Outcome)
    """Its outcome."""
    evaluation: Evaluation | None = None
    """The run with its data; None where they were never read."""
    started: str = field(default_factory=now)
    """When its preparation began, in UTC."""
    seconds: float = 0.0
    """Its own time: data, prompts, its part of the model's time, scores."""
    joules: Mapping[str, float] = field(default_factory=dict)
    """Its part of the energy used meanwhile, by kind of processor."""


def run_record(
    run: EndedRun,
    model: CachingModel | None,
    defined: Mapping[str, str],
    settings: Settings,
    title: Mapping[str, Any] | None = None,
) -> RunRecord:
    """Return the record of a run; the examples of one that failed are discarded.

    Args:
        run: The run.
        model: Its model; None if it could not be opened.
        defined: What :func:`harness.runs.provenance.definitions` returned for the run.
        settings: Where results are, and what things cost.
        title: What :func:`harness.runs.provenance.scenario_title` returned for the run.
    """
    spec, outcome, error = run.spec, run.outcome, run.error
    directory = run_directory(settings.results_dir, spec)
    trace = None
    if error is not None:
        discard_examples(directory)
    message = shortfall(spec, outcome) if error is None else _message(error)
    if error is not None and not isinstance(error, HarnessError):
        trace = "".join(traceback.format_exception(error))
    description = {} if model is None else dict(model.model.description())
    workers = description.pop("workers", [worker_facts()])
    fingerprint = {} if model is None else {"fingerprint": dict(model.fingerprint)}
    prices = settings.prices or load_prices()
    return RunRecord(
        directory=directory,
        name=spec.name,
        suite=spec.suite,
        status="ok" if message is None else "failed",
        error=message,
        spec=spec,
        stats=outcome.stats,
        details=outcome.details,
        declined=outcome.declined.total(),
        instances=outcome.instances.total(),
        instance_scores=outcome.instance_scores,
        efficiency={
            "examples": outcome.examples,
            **costs(
                outcome.usage,
                description,
                prices.price(spec.model.name),
                settings.runtimes.runtimes(spec.model.name),
                {kind: round(joules, 3) for kind, joules in run.joules.items()},
            ),
            "wall_seconds": round(run.seconds, 3),
            "truncated_examples": outcome.truncated,
            "unread_examples": outcome.unread,
            "failed_examples": outcome.failed,
            **({"unjudged_examples": outcome.unjudged} if outcome.unjudged else {}),
            **({"without_probability": outcome.without_probability} if outcome.without_probability else {}),
            **outcome.reasoning.total(),
            **({"judges": asked} if (asked := _judges(outcome, prices)) else {}),
        },
        provenance={
            "model": {"name": spec.model.name, **fingerprint, **description},
            **({} if model is None else {"determinism": determinism(model.model, outcome)}),
            **({"generation": generation} if (generation := outcome.generation.total()) else {}),
            "served": outcome.served.total(),
            "imported_answers": dict(outcome.usage.imported),
            **({"answers_of_other_gpus": dict(others)} if (others := outcome.usage.other_gpus) else {}),
            "data": {} if run.evaluation is None else run.evaluation.data.provenance(),
            "definitions": dict(defined),
            **({"scenario": dict(title)} if title else {}),
            "seed": spec.seed,
            **environment(),
            "workers": workers,
            **({"traceback": trace} if trace else {}),
        },
        examples=outcome.written if error is None else None,
        started=run.started,
        finished=now(),
    )


def shortfall(spec: RunSpec, outcome: Outcome) -> str | None:
    """Return why a finished run does not count as successful; None if it does."""
    if outcome.failed:
        return f"{outcome.failed} of {outcome.examples} examples have no answer; the first: {outcome.first_error}"
    declined = outcome.declined.total()
    if declined.share > spec.max_declined:
        return _too_many_declined(declined, spec.max_declined)
    if any(stat.metric == spec.main_metric and stat.overall for stat in outcome.stats):
        return None
    if no_value_of(spec, outcome.details):
        return None
    if any(spec.main_metric == metric.name for metric in spec.metrics):
        bare = outcome.without_probability
        why = f", of which {bare} came without log-probabilities" if bare else ""
        return (
            f"the main metric {spec.main_metric!r} is undefined for all {outcome.examples} examples{why}. `details` in "
            "run.json may say why."
        )
    message = f"no metric gave the main metric {spec.main_metric!r} for any of {outcome.examples} examples."
    return f"{message} {did_you_mean(spec.main_metric, {stat.metric for stat in outcome.stats})}".rstrip()


def _judges(outcome: Outcome, prices: PriceTable) -> dict[str, Any]:
    """Return what the questions took that metrics put to models of their own, by model."""
    return {name: costs(usage, {}, prices.price(name)) for name, usage in sorted(outcome.judges.items())}


def _too_many_declined(declined: Declined, limit: float) -> str:
    enough = math.ceil(declined.share * 100) / 100
    return (
        f"{declined}, which is more than the {limit:.0%} that max_declined allows. To accept it, set `max_declined: "
        f"{enough:g}` in the sweep (in `defaults` or in the run), or add --max-declined {enough:g}, and run the same "
        "command again; questions that were answered or declined are not asked again."
    )


def _message(error: BaseException) -> str:
    known = isinstance(error, HarnessError)
    return describe_failure(error) + ("" if known else "; the traceback is in run.json")
