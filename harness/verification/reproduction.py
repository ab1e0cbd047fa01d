"""Reproduces a finished run: asks a random sample of its questions again, and says what changed and why it may."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.contracts import Determinism
from harness.contracts.models import IN_MEMORY
from harness.errors import DataError, HarnessError, ModelError, shown
from harness.inference.caching_model import CachingModel
from harness.inference.judge_pool import Judges
from harness.inference.model_pool import Models, load_model
from harness.inference.replica_server import worker_facts
from harness.plugins.registry import Registry
from harness.runs.evaluation import prepare
from harness.runs.lacking import lacking_data
from harness.runs.provenance import definitions, environment
from harness.statistics.proportions import finite_interval
from harness.storage.results import RUN_FILE, RunRecord, read_run
from harness.verification.asking import ask_again, score_again
from harness.verification.differences import (
    TOLERANCES,
    Difference,
    LogprobDifferences,
    ScoreChange,
    compare_examples,
)
from harness.verification.permissions import check_permissions
from harness.verification.reasons import (
    Reason,
    answering_reasons,
    data_changes,
    definition_changes,
    environment_changes,
    model_changes,
    reason_values,
)
from harness.verification.rebuilding import Rebuilt, changed_parts, rebuild
from harness.verification.recorded import RecordedRun
from harness.verification.statistics import ChangedStatistic, changed_statistics


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of asking a sample of a run's questions again."""

    run: str
    """The run, ``suite/name``."""
    population: int
    """Number of the run's questions that have answers."""
    sample: int
    """Number of them that were asked again."""
    seed: int
    """Seed by which they were drawn."""
    determinism: Determinism
    """The model's determinism grade now."""
    tolerance: float
    """The largest difference of a token's log-probability that counted as rounding."""
    rebuilt: Rebuilt
    """How the prompts of all questions compare."""
    differences: Sequence[Difference]
    """What changed, by question."""
    logprobs: LogprobDifferences
    """The differences of log-probabilities."""
    scores: Mapping[str, ScoreChange]
    """The scores on the sample, by stat name."""
    main_metric: str
    """The run's main metric."""
    reasons: Sequence[Reason]
    """Why answers may differ."""
    statistics: Sequence[ChangedStatistic]
    """The statistics in run.json that differ from those computed from the run's answers."""

    @property
    def same(self) -> bool:
        """True if all prompts are the same, nothing changed in the sample, and the statistics are of these answers."""
        rebuilt = self.rebuilt
        changed = self.differences or rebuilt.prompts or rebuilt.instances or rebuilt.missing or rebuilt.added
        return not (changed or self.statistics)

    @property
    def changed(self) -> int:
        """Number of questions of the sample that changed."""
        return len(self.differences)

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95 % interval of the share of the run's questions that would change."""
        return finite_interval(self.changed, self.sample, self.population)

    def count(self, what: str) -> int:
        """Return the number of questions of the sample in which ``answer``, ``score``, … changed."""
        return sum(what in difference.changed for difference in self.differences)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        rebuilt = self.rebuilt
        return {
            "run": self.run,
            "same": self.same,
            "questions": self.population,
            "sample": self.sample,
            "seed": self.seed,
            "changed": self.changed,
            "share": self.changed / self.sample,
            "ci95": list(self.interval),
            "tolerance": self.tolerance,
            "determinism": str(self.determinism),
            "prompts": {
                "compared": rebuilt.count,
                "changed": len(rebuilt.prompts),
                "instances_changed": len(rebuilt.instances),
                "missing": len(rebuilt.missing),
                "added": rebuilt.added,
            },
            "answers_changed": self.count("answer"),
            "errors": self.count("error"),
            "logprobs": self.logprobs.to_json(),
            "scores": {name: change.to_json() for name, change in sorted(self.scores.items())},
            "statistics": [asdict(one) for one in self.statistics],
            "reasons": reason_values(self.reasons),
            "differences": [asdict(difference) for difference in self.differences],
        }


def find_run(path: Path) -> RunRecord:
    """Return the record of a run, by its folder or its run.json.

    Raises:
        DataError: There is no run, it cannot be read, its model was evaluated in memory, or its settings do not match
            the digest in its name.
    """
    record = read_run(path.parent if path.name == RUN_FILE else path)
    origin = record.provenance.get("origin")
    if isinstance(origin, Mapping) and origin:
        program = origin.get("program", "another program")
        raise DataError(f"imported from {program}, so it cannot be asked again here.", file=record.directory / RUN_FILE)
    if record.spec.model.name.partition(":")[0] == IN_MEMORY:
        raise DataError(
            f"its model, {shown(record.spec.model.name)}, was evaluated in memory by harness.evaluate, so it cannot be "
            "asked again here.",
            file=record.directory / RUN_FILE,
        )
    if record.name != record.spec.name:
        raise DataError(
            f"its settings were edited: they belong to the run {record.spec.name!r}, not to {record.name!r}.",
            file=record.directory / RUN_FILE,
        )
    return record


def reproduce_run(
    record: RunRecord,
    registry: Registry,
    *,
    sample: int = 50,
    seed: int = 0,
    data_dir: Path | None = None,
    tolerance: float | None = None,
    allow: Collection[str] = (),
) -> Reproduction:
    """Ask a random sample of a run's questions again, without the response cache, and compare.

    Args:
        record: The run.
        registry: Knows the plugins.
        sample: Number of questions to ask; all if there are fewer.
        seed: Seeds the choice of questions.
        data_dir: The local data folder.
        tolerance: Largest difference of a token's log-probability that counts as rounding; None for that of the
            determinism grade.
        allow: Permissions for what run.json wants beyond asking a model: see :func:`check_permissions`.

    Raises:
        HarnessError: The tolerance is negative or not finite, the run has no answers, its examples are damaged, its
            model or data are not here, or running it needs a permission.
    """
    if tolerance is not None and not 0 <= tolerance < math.inf:
        raise HarnessError(f"tolerance must be a finite number, at least 0, not {tolerance:g}.")
    spec = record.spec
    if record.examples is None:
        why = f": {record.error}" if record.error else "."
        raise DataError(f"the run has no examples, so nothing can be compared{why}", file=record.directory / RUN_FILE)
    check_permissions(spec, allow)
    if lacking := lacking_data(spec, registry, data_dir):
        raise DataError(lacking)
    statistics = changed_statistics(record, registry)
    opened = load_model(spec.configured_model, registry)
    try:
        model = CachingModel(opened, spec.model.name, None)
        evaluation = prepare(spec, registry, data_dir)
        recorded = RecordedRun(record, evaluation.converses)
        chosen = recorded.draw(sample, seed)
        if not chosen:
            raise DataError("none of the run's questions has an answer.", file=record.directory / RUN_FILE)
        rebuilt = rebuild(evaluation, opened, recorded, chosen)
        answered, errors = ask_again(evaluation, model, rebuilt.chosen)
        if errors.keys() >= rebuilt.chosen.keys() and errors:
            raise ModelError(
                f"none of {len(errors)} questions was answered. The first error: {next(iter(errors.values()))}"
            )
        grade = opened.determinism
        limit = TOLERANCES[grade] if tolerance is None else tolerance
        fine = {key: one for key, one in answered.items() if key not in errors}
        after = score_again(evaluation, registry, fine)
        before = recorded.examples(chosen)
        logprobs, scores = LogprobDifferences(), dict[str, ScoreChange]()
        differences = []
        parts = changed_parts(rebuilt)
        for key in chosen:
            already = [word for word, keys in parts.items() if key in keys]
            if key in errors or key not in after:
                word, text = ("error", errors[key]) if key in errors else ("missing", "")
                differences.append(Difference(*key[:3], (*already, word), after=text))
                continue
            found = compare_examples(key, before[key], after[key], already, limit, logprobs, scores)
            differences += [found] if found is not None else []
        reasons = [
            *data_changes(record.provenance, evaluation.data.provenance()),
            *model_changes(record.provenance, model.fingerprint),
            *_definitions(record, registry),
            *environment_changes(record.provenance, {**environment(), "workers": _workers(opened.description())}),
            *answering_reasons(record, grade, [one for _, responses in answered.values() for one in responses]),
        ]
    finally:
        _close(opened)
    population = sum(not question.failed for question in recorded.questions.values())
    name = f"{record.suite}/{record.name}"
    return Reproduction(
        name,
        population,
        len(chosen),
        seed,
        grade,
        limit,
        rebuilt,
        differences,
        logprobs,
        scores,
        spec.main_metric,
        reasons,
        statistics,
    )


def _definitions(record: RunRecord, registry: Registry) -> list[Reason]:
    models = Models(registry)
    try:
        return list(definition_changes(record.provenance, definitions(record.spec, registry, Judges(registry, models))))
    finally:
        models.close()


def _workers(description: Mapping[str, Any]) -> Any:
    return description.get("workers") or [worker_facts()]


def _close(model: Any) -> None:
    with suppress(HarnessError):  # all that was asked is known
        model.close()
