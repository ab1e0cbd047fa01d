"""Statistics of a run computed again from its examples; the run's model is not asked, its judges may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.contracts import RunMetric, Stat
from harness.contracts.plugins import Kind, MetricDetails
from harness.errors import HarnessError
from harness.inference.cache_file import cache_file
from harness.inference.judge_pool import Judges
from harness.inference.model_pool import Models
from harness.plugins.registry import Registry
from harness.runs.pipeline import Outcome, Scoring, build_scorer, summarise
from harness.runs.provenance import definitions
from harness.runs.record import shortfall
from harness.storage.example_files import ExampleWriter, read_examples
from harness.storage.results import RunRecord


def rescored(record: RunRecord, registry: Registry, cache_dir: Path | None = None) -> RunRecord:
    """Return a run's record with statistics, and hence status, computed again from its examples.

    Args:
        record: The run's record.
        registry: Knows the plugins.
        cache_dir: The folder of the response cache, which has the judges' answers; None for HARNESS_CACHE_DIR, or the
            folder of results.

    Raises:
        HarnessError: The examples are missing or damaged, or a metric cannot score them; or the run was imported.
    """
    if isinstance(origin := record.provenance.get("origin"), Mapping) and origin:
        raise HarnessError(f"its statistics were computed by {origin.get('program', 'another program')}.")
    models = Models(registry, cache_file(record.directory.parent.parent, cache_dir))
    judges = Judges(registry, models)
    try:
        outcome = _rescore(record, registry, judges, record.directory)
        now_used = definitions(record.spec, registry, judges)
    finally:
        models.close()
    message = shortfall(record.spec, outcome)
    known = record.provenance.get("definitions")
    metrics = {key: digest for key, digest in now_used.items() if key.startswith(f"{Kind.METRIC} ")}
    return replace(
        record,
        status="ok" if message is None else "failed",
        error=message,
        stats=outcome.stats,
        details=outcome.details,
        declined=outcome.declined.total(),
        instances=outcome.instances.total(),
        examples=outcome.written,
        instance_scores=outcome.instance_scores,
        provenance={**record.provenance, "definitions": {**(known if isinstance(known, Mapping) else {}), **metrics}},
    )


def recomputed_stats(record: RunRecord, registry: Registry) -> Sequence[Stat]:
    """Return a run's statistics, computed again from its examples without asking a model; nothing is written.

    Statistics of metrics that ask judges or other models are left out.

    Raises:
        HarnessError: The examples are missing or damaged, or a metric cannot score them.
    """

    def asks(name: str) -> bool:
        details = registry.get(Kind.METRIC, name).details
        return isinstance(details, MetricDetails) and (details.judges or details.models)

    metrics = tuple(metric for metric in record.spec.metrics if not asks(metric.name))
    if not metrics:
        return ()
    models = Models(registry)
    try:
        spec = record.spec.model_copy(update={"metrics": metrics})
        with TemporaryDirectory() as folder:
            return _rescore(replace(record, spec=spec), registry, Judges(registry, models), Path(folder)).stats
    finally:
        models.close()


def scores_of_instances(record: RunRecord, name: str, registry: Registry) -> Mapping[str, float]:
    """Return the scores of a run's instances that no example carries, since a run metric gives them.

    Raises:
        HarnessError: The examples are missing or damaged, or a metric cannot score them.
    """
    models = Models(registry, cache_file(record.directory.parent.parent))
    try:
        return _summarised_scores(record, name, registry, Judges(registry, models))
    finally:
        models.close()


def _rescore(record: RunRecord, registry: Registry, judges: Judges, folder: Path) -> Outcome:
    """Compute a run's statistics again from its examples, and write the examples with their scores into a folder.

    Returns:
        The statistics, and how many examples there are and have no answer; the run's cost is not computed again.

    Raises:
        HarnessError: The examples are missing or damaged, or a metric cannot score them.
    """
    outcome = Outcome()
    scorer = build_scorer(record.spec, registry, judges)
    with ExampleWriter(folder) as writer:
        scoring = Scoring(scorer, writer, record.spec.model.name)
        for example, _, error in read_examples(record):
            outcome.examples += 1
            outcome.declined.add(example)
            outcome.reasoning.add(example)
            outcome.instances.add(example, scorer.labels)
            outcome.unread += example.unread_for(record.spec.main_metric)
            if error is not None:
                outcome.failed += 1
                outcome.first_error = outcome.first_error or error
            scoring.add(example, error)
        summarise(record.spec, scoring, outcome)
    outcome.written = writer.written
    return outcome


def _summarised_scores(record: RunRecord, name: str, registry: Registry, judges: Judges) -> Mapping[str, float]:
    """Return what the run metrics say of a run's unperturbed instances under a name, by the instances' ids.

    Raises:
        HarnessError: The examples are missing or damaged, or a metric cannot score them.
    """
    spec = record.spec

    def says(metric: str) -> bool:
        target = registry.get(Kind.METRIC, metric).target
        return (
            isinstance(target, type)
            and issubclass(target, RunMetric)
            and target.instance_scores is not RunMetric.instance_scores
        )

    parts = tuple(part for part in spec.metrics if says(part.name))
    scorer = build_scorer(spec.model_copy(update={"metrics": parts}), registry, judges)
    for example, _, error in read_examples(record) if parts else ():
        if error is None and example.instance.perturbation is None and example.instance.split == spec.eval_split:
            scorer.add(example)
    return scorer.instance_scores(name, spec.eval_split)
