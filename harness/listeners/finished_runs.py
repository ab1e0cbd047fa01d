"""Records of runs as listeners get them, and titles that tell the runs of a sweep apart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial

from harness.contracts.listeners import FinishedRun
from harness.contracts.specs import RunSpec
from harness.leaderboard.columns import grouped, run_settings
from harness.plugins.registry import Registry
from harness.storage.results import RunRecord
from harness.storage.sample_rows import sample_rows


def finished_run(record: RunRecord, titles: Mapping[str, str], registry: Registry) -> FinishedRun:
    """Return a run as listeners get it.

    Args:
        record: The run's record.
        titles: The titles of the sweep's runs, by question digest.
        registry: Tells which scenarios' data are private; the texts of these are not given to listeners.
    """
    source = registry.source(record.spec.scenario.name)
    private = source is not None and source.private
    training = record.spec.training_step
    return FinishedRun(
        folder=record.directory,
        suite=record.suite,
        name=record.name,
        spec=record.spec,
        model=record.spec.model_label,
        series=training.series if training else None,
        step=training.step if training else None,
        title=titles.get(record.spec.question_digest) or record.spec.scenario.label,
        error=record.error,
        stats=record.stats,
        efficiency=record.efficiency,
        samples=partial(iter, ()) if private else partial(sample_rows, record),
    )


def run_titles(specs: Iterable[RunSpec]) -> dict[str, str]:
    """Return a title for what each run asks, different for different questions, by question digest.

    It is the scenario with its parameters, ``mmlu:subject=anatomy``; where a sweep asks it in several ways, the
    settings in which these differ follow: ``boolq (max_train_instances=5)``.
    """
    questions = {spec.question_digest: spec for spec in specs}
    titles: dict[str, str] = {}
    for label, digests in grouped(questions, lambda digest: questions[digest].scenario.label).items():
        settings = {digest: _settings(questions[digest]) for digest in digests}
        keys = dict.fromkeys(key for each in settings.values() for key in each)
        differing = [key for key in keys if len({each.get(key) for each in settings.values()}) > 1]
        for digest in digests:
            told = ", ".join(f"{key}={settings[digest].get(key, 'null')}" for key in differing)
            titles[digest] = f"{label} ({told})" if told else label
    return titles


def _settings(spec: RunSpec) -> dict[str, str]:
    """Return everything in which runs of a scenario can differ, as JSON."""
    settings = {
        "method": spec.adapter.name,
        **run_settings(spec),
        "seed": spec.seed,
        "sampling_seed": spec.sampling_seed,
        "eval_split": str(spec.eval_split),
        "perturbations": [one.label for one in spec.perturbations],
        "metrics": [one.label for one in spec.metrics],
    }
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()}
