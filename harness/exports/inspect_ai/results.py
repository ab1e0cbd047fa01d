"""A task's statistics as a log's results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.contracts import Stat
from harness.exports.tasks import Task
from harness.imports.inspect_own import ESTIMATE
from harness.storage.results import RunRecord

Json = dict[str, Any]


def results_of(
    record: RunRecord, task: Task, counts: Mapping[str, int], samples: int, failed: int, epochs: int
) -> Json:
    """Return the aggregates of a task.

    Args:
        record: The run.
        task: The task.
        counts: Number of instances with a score, of the metrics that are means of them.
        samples: Number of samples.
        failed: Number of samples without scores because of an error.
        epochs: Number of samples of an instance.
    """
    scores: dict[str, Json] = {}
    for stat in task.means(record):
        mean = "mean" if stat.metric in counts else ESTIMATE
        value = scores.setdefault(stat.metric, _score(stat, epochs, counts))
        value["metrics"][mean] = _metric(mean, stat)
        if stat.stderr is not None:
            value["metrics"]["stderr"] = {"name": "stderr", "value": stat.stderr, "params": {}}
    for stat in task.derived(record):
        value = scores.setdefault(stat.metric, _score(stat, epochs, counts))
        name = _derived_name(stat)
        value["metrics"][name] = _metric(name, stat)
    value = {
        "total_samples": samples,
        "completed_samples": samples - failed,
        "scores": list(scores.values()),
    }
    main = record.spec.main_metric
    if main in scores:
        metric = "mean" if "mean" in scores[main]["metrics"] else next(iter(scores[main]["metrics"]))
        value["headline"] = {"scorer": main, "score": main, "metric": metric}
    return value


def scorers_of(results: Mapping[str, Any], cluster: str) -> list[Json]:
    """Return the declarations of the scorers, by which inspect_ai can compute means and errors again.

    Args:
        results: The aggregates.
        cluster: Key of the samples' metadata by which instances are clustered; empty if they are independent.
    """
    options: Mapping[str, Json] = {"stderr": {"cluster": cluster}} if cluster else {}
    return [
        {
            "name": score["name"],
            "options": {},
            "metrics": [
                {"name": f"inspect_ai/{name}", "options": options.get(name, {})}
                for name in ("mean", "stderr")
                if name in score["metrics"]
            ],
        }
        for score in results["scores"]
    ]


def _score(stat: Stat, epochs: int, counts: Mapping[str, int]) -> Json:
    value: Json = {"name": stat.metric, "scorer": stat.metric, "params": {"category": stat.category}, "metrics": {}}
    if epochs > 1:
        value["reducer"] = "mean"
    value["scored_samples"] = counts.get(stat.metric, stat.count)
    value["unscored_samples"] = stat.missing
    return value


def _metric(name: str, stat: Stat) -> Json:
    about: Json = {"count": stat.count}
    if stat.stderr is not None:
        about["stderr"] = stat.stderr
    if stat.ci95 is not None:
        about["ci95"] = list(stat.ci95)
    if stat.higher_is_better is not None:
        about["higher_is_better"] = stat.higher_is_better
    if stat.note:
        about["note"] = stat.note
    return {"name": name, "value": stat.mean, "params": {}, "metadata": about}


def _derived_name(stat: Stat) -> str:
    """Return a name such as ``typos worst`` or ``gender=female``."""
    computed = "" if stat.computed_on in ("original", "perturbed") else stat.computed_on
    return " ".join(part for part in (stat.perturbation or "", computed, stat.group or "") if part)
