"""Inflated scores among finished runs: a benchmark against a reference set, relative to other models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from harness.contamination.statistics.inflation import FEWEST_MODELS, Inflation, Scores, inflation
from harness.errors import DataError
from harness.storage.results import RunRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Key = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class InflatedScore:
    """The estimate for one model."""

    model: str
    """The model's label."""
    others: Sequence[str]
    """The models that it was compared with, which are assumed to be clean."""
    instances: int
    """Number of the benchmark's instances that all models have."""
    reference_instances: int
    """Number of the reference set's."""
    found: Inflation
    """The estimate."""

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values, marked as an estimate."""
        return {
            "kind": "estimate, not a test",
            "model": self.model,
            "other_models": list(self.others),
            "instances": self.instances,
            "reference_instances": self.reference_instances,
            **asdict(self.found),
        }


def inflated_scores(
    records: Iterable[RunRecord],
    benchmark: str,
    reference: str,
    *,
    models: Sequence[str] = (),
    clean: Sequence[str] = (),
    chance: tuple[float, float] = (0.0, 0.0),
    resamples: int = 500,
    seed: int = 0,
) -> list[InflatedScore]:
    """Return the estimate for each model.

    Args:
        records: The runs.
        benchmark: The benchmark: a scenario with or without its parameters.
        reference: The reference set: paraphrases, or other questions of the same kind.
        models: The models to estimate for; all without any.
        clean: The models to compare with; without any, all others.
        chance: The score of a guessing model on the two sets.
        resamples: Number of bootstrap resamples.
        seed: Seeds them.

    Raises:
        DataError: Runs are missing or contradict each other, or scores are not between 0 and 1.
    """
    ok = [record for record in records if record.status == "ok" and record.instance_scores is not None]
    by_model, by_reference = _scores(ok, benchmark), _scores(ok, reference)
    known = sorted(by_model.keys() & by_reference.keys())
    for model in (*models, *clean):
        if model not in known:
            raise DataError(
                f"{model} has no finished runs of both {benchmark} and {reference}. Models that have both: "
                f"{', '.join(known) or 'none'}."
            )
    found = []
    for model in dict.fromkeys(models or known):
        others = [other for other in (clean or known) if other != model]
        if len(others) < FEWEST_MODELS:
            raise DataError(
                f"an estimate for {model} needs {FEWEST_MODELS} other models with finished runs of {benchmark} and "
                f"{reference}; there {'is' if len(others) == 1 else 'are'} {len(others)}."
            )
        own, clusters = _table([by_model[name] for name in (model, *others)], benchmark)
        theirs, their_clusters = _table([by_reference[name] for name in (model, *others)], reference)
        estimate = inflation(Scores(own, theirs, clusters, their_clusters), chance, resamples, seed=seed)
        found.append(InflatedScore(model, others, own.shape[1], theirs.shape[1], estimate))
    return found


def _scores(records: Sequence[RunRecord], wanted: str) -> dict[str, dict[_Key, tuple[float, object]]]:
    """Return each model's score and cluster of every instance of a benchmark.

    Raises:
        DataError: There is no such run, a model has several of one scenario, or runs differ in method or main metric.
    """
    found: dict[str, dict[_Key, tuple[float, object]]] = {}
    seen: dict[tuple[str, str], str] = {}
    measured: dict[tuple[str, str], str] = {}
    for record in records:
        scenario, model = record.spec.scenario, record.spec.model.label
        if wanted not in (scenario.label, scenario.name) or record.instance_scores is None:
            continue
        if (model, scenario.label) in seen:
            raise DataError(
                f"{model} has several runs of {scenario.label}: {seen[model, scenario.label]} and "
                f"{record.suite}/{record.name}. Name the suite to use."
            )
        seen[model, scenario.label] = f"{record.suite}/{record.name}"
        measured.setdefault((record.spec.main_metric, record.spec.adapter.label), f"{record.suite}/{record.name}")
        scores = record.instance_scores
        clusters = scores.clusters()
        numbers = range(len(scores)) if clusters is None else clusters.tolist()
        own = found.setdefault(model, {})
        for (key, score), number in zip(scores.by_key().items(), numbers, strict=True):
            cluster = key if clusters is None else number
            own[scenario.label, key] = (score, (scenario.label, cluster))
    if len(measured) > 1:
        (one, first), (other, second), *_ = measured.items()
        raise DataError(
            f"the runs of {wanted} cannot be compared: {first} has {one[0]} by {one[1]}, {second} has {other[0]} by "
            f"{other[1]}. Use runs with one main metric and one method."
        )
    if not found:
        labels = sorted({record.spec.scenario.label for record in records})
        raise DataError(f"there is no finished run of {wanted}. Scenarios with runs: {', '.join(labels) or 'none'}.")
    return found


def _table(
    models: Sequence[Mapping[_Key, tuple[float, object]]], wanted: str
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the scores of the instances that all models have, shape (models, instances), and their clusters."""
    import numpy as np

    keys = sorted(set.intersection(*(set(model) for model in models)))
    if not keys:
        raise DataError(f"no instance of {wanted} was scored for all models.")
    table = np.array([[model[key][0] for key in keys] for model in models])
    if table.min() < 0 or table.max() > 1:
        raise DataError(f"the scores of {wanted} are not between 0 and 1, as an estimate of inflation needs.")
    numbers: dict[object, int] = {}
    return table, np.array([numbers.setdefault(models[0][key][1], len(numbers)) for key in keys])
