"""Checks that samples and results of Every Eval Ever contradict neither each other nor their run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.contracts import Instance, Stat
from harness.contracts.specs import RunSpec
from harness.data.strict_json import parse_json
from harness.errors import StrictJsonError
from harness.imports.every_eval_ever.layout import is_best, sample_hash
from harness.imports.imported_run import Scored, unit_interval
from harness.imports.own_spec import check_own_spec, own_spec
from harness.imports.reported_numbers import Keys, by_instance, clusters_of, contradicted, impossible

Json = Mapping[str, Any]
Reported = Sequence[tuple[int, Json, Stat]]
"""Results, with their place in the file and the statistic read from each."""

_SPEC = "eval_library.additional_details.spec"

_PER_SAMPLE = ("original", "perturbed")


def checked_spec(value: Json, name: str, suite: str) -> RunSpec:
    """Return the spec that this harness wrote, in another suite.

    Raises:
        ValueError: It is not a spec, or is that of another task, model or method than the results.
    """
    text = value["eval_library"]["additional_details"]["spec"]
    try:
        spec = own_spec(parse_json(text), _SPEC, suite)
    except StrictJsonError as error:
        raise ValueError(f"{_SPEC} {error}") from None
    model = (value["model_info"].get("additional_details") or {}).get("model")
    stated = {
        "evaluation_name": (name, spec.scenario.label),
        "model_info.additional_details.model": (model, spec.model.name),
    }
    for index, result in enumerate(value["evaluation_results"]):
        details = (result.get("generation_config") or {}).get("additional_details") or {}
        key = f"evaluation_results[{index}].generation_config.additional_details.method"
        stated[key] = (details.get("method"), spec.adapter.name)
    check_own_spec(_SPEC, {key: pair for key, pair in stated.items() if pair[0] is not None})
    return spec


def check_rows(rows: Sequence[tuple[Json, str, str]], reported: Reported, *, ours: bool) -> None:
    """Check what each line says besides its score.

    Args:
        rows: Each line, with the name of its metric here and its split.
        reported: The results of the evaluation.
        ours: True if this harness wrote the file, which decides what ``is_correct`` and ``sample_hash`` are.

    Raises:
        ValueError: A line contradicts its own score or text.
    """
    stats = {(stat.metric, stat.split, stat.perturbation): stat for _, _, stat in _per_sample(reported)}
    for row, metric, split in rows:
        here = f"sample {row['sample_id']!r}"
        score, said = row["evaluation"]["score"], row["evaluation"]["is_correct"]
        stat = stats.get((metric, split, (row.get("metadata") or {}).get("perturbation") or None))
        if said != is_best(score, stat) and (ours or _is_extreme(score, stat)):
            raise ValueError(f"{here}: evaluation.is_correct is {str(said).lower()}, but evaluation.score is {score:g}")
        hashed = row.get("sample_hash")
        if ours and hashed and hashed != sample_hash(row["input"]["raw"], row["input"]["reference"]):
            raise ValueError(f"{here} was changed: sample_hash does not match its input and references")


def _is_extreme(score: float, stat: Stat | None) -> bool:
    """Return True if a score on the scale from 0 to 1 is exactly 0 (wrong) or 1 (right)."""
    return stat is not None and stat.higher_is_better is True and stat.scale is not None and (
        stat.scale.bounds == (0.0, 1.0) and score in (0.0, 1.0)
    )  # fmt: skip


def check_results(
    reported: Reported, examples: Sequence[Scored], library: str, spec: RunSpec | None, *, exact: bool
) -> None:
    """Check that results are possible, and that they are what the samples give.

    Args:
        reported: The results of the evaluation.
        examples: Its samples.
        library: The program that computed the results.
        spec: The run's spec if this harness wrote the file.
        exact: True if this harness computed the results.

    Raises:
        ValueError: A number is false.
    """
    clusters = None
    if spec is not None:
        clusters = clusters_of((one.example for one in examples), spec.cluster, _instance)
    for index, result, stat in _per_sample(reported):
        details = f"evaluation_results[{index}].score_details"
        uncertainty = f"{details}.uncertainty"
        keys = Keys(
            mean=f"{details}.score",
            stderr=f"{uncertainty}.standard_error.value",
            ci95=f"{uncertainty}.confidence_interval",
            count=f"{uncertainty}.num_samples",
        )
        scores = by_instance(_scores(examples, stat))
        if scores and stat.count not in (0, len(scores)) and (exact or stat.count != sum(map(len, scores.values()))):
            raise ValueError(f"{keys.count} is {stat.count:,}, but there are samples of {len(scores):,} instances")
        method = ((result["score_details"].get("uncertainty") or {}).get("standard_error") or {}).get("method") or ""
        # The clusters of others are unknown.
        knows_errors = clusters is not None or (stat.clusters is None and "cluster" not in method.lower())
        checked = stat if knows_errors else replace(stat, stderr=None, ci95=None)
        is_mean = exact or (spec is not None and stat.scale is not None) or _is_known_mean(result, stat, library)
        _refuse(contradicted(checked, keys, scores, "samples", is_mean=is_mean, exact=exact, clusters=clusters))
        _refuse(impossible(stat, keys))


def _refuse(problems: Iterator[str]) -> None:
    for problem in problems:
        raise ValueError(problem)


def _per_sample(reported: Reported) -> Reported:
    return [one for one in reported if one[2].group is None and one[2].computed_on in _PER_SAMPLE]


def _scores(examples: Sequence[Scored], stat: Stat) -> Iterator[tuple[object, float]]:
    for one in examples:
        instance = one.example.instance
        if stat.metric in one.scores and (instance.split, instance.perturbation) == (stat.split, stat.perturbation):
            yield _instance(instance), one.scores[stat.metric]


def _instance(instance: Instance) -> tuple[str, str]:
    return instance.id, instance.input


def _is_known_mean(result: Json, stat: Stat, library: str) -> bool:
    """Return True if another program's result is known to be a mean of the samples' scores.

    Others may be of all samples together, such as BLEU or a macro average.
    """
    config = result["metric_config"]
    return (
        config.get("score_type") == "binary"
        or config.get("metric_kind") in ("accuracy", "exact_match")
        or str(config.get("metric_name") or "").lower() in ("accuracy", "exact match", "em", "mean")
        or unit_interval(stat.metric.removeprefix(f"{library}."))
    )
