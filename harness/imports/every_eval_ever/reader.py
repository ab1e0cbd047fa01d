"""Importing files of Every Eval Ever: one run for each evaluation of an aggregate file.

Files that this harness wrote give back the run that they were made of, except for folders of the machine, which are
not written. In other programs' files, a metric keeps its name after the program's (``lm-eval.acc``); a metric that ours
declares as defined alike gets our name as well.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.contracts import Split, Stat
from harness.contracts.specs import Component, RunSpec
from harness.data.strict_json import parse_json
from harness.errors import DataError, did_you_mean
from harness.imports.every_eval_ever.checks import check_results, check_rows, checked_spec
from harness.imports.every_eval_ever.files import ARCHIVE, read_aggregate, read_rows
from harness.imports.every_eval_ever.layout import LIBRARY, WRITTEN_BY, result_id
from harness.imports.every_eval_ever.samples import read_samples
from harness.imports.every_eval_ever.statistics import split_of, stat_of
from harness.imports.foreign_files import identity
from harness.imports.imported_run import Imported, Scored, counterparts, described
from harness.imports.our_plugins import chosen_parts, scenario_component
from harness.plugins.registry import Registry

_LOG = logging.getLogger(__name__)

_PROGRAMS = {"lm_eval": "lm-eval", "lm-evaluation-harness": "lm-eval", "HELM": "helm"}
"""Prefixes of programs' metrics where they are not the library's name."""

_UNSAFE = re.compile(r"[^A-Za-z0-9.=+_-]+")


def read_every_eval_ever(file: Path, suite: str, registry: Registry, metric: str | None = None) -> Iterator[Imported]:
    """Yield a run for each evaluation of an aggregate file, with its samples if they are there.

    Raises:
        DataError: The file, or its samples, do not fit the schema or contradict themselves, or no evaluation has the
            metric.
    """
    value = read_aggregate(file)
    library = value["eval_library"]
    ours = (library.get("additional_details") or {}).get(WRITTEN_BY) == LIBRARY
    grouped: dict[str, dict[int, Mapping[str, Any]]] = {}
    for index, result in enumerate(value["evaluation_results"]):
        grouped.setdefault(result["evaluation_name"], {})[index] = result
    if not grouped:
        raise DataError("has no evaluation_results.", file=file)
    rows, sources = read_rows(file, value)
    missed = set[str]()
    found = False
    for name, placed in grouped.items():
        results = list(placed.values())
        named = _Named(results, library["name"], registry, ours)
        try:
            stats = [stat for result in results for stat in named.stats(result)]
            lines = list(named.rows([row for row in rows if row["evaluation_name"] == name]))
            examples = read_samples(lines, ours)
            _check_range(stats, examples)
            reported = [(index, result, next(named.stats(result))) for index, result in placed.items()]
            check_rows(lines, reported, ours=ours)
            own = checked_spec(value, name, suite) if ours else None
            exact = ours and library["name"] == LIBRARY
            check_results(reported, examples, named.program, own, exact=exact)
            if own is not None:
                spec = own
            else:
                main = _main(stats, metric)
                missed.update(stat.metric for stat in stats)
                if main is None:
                    continue
                spec = _spec(name, value, results, suite, registry, stats, main)
                examples = [_also_ours(one, named.same) for one in examples]
            known = _known(value, examples, ours)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, StopIteration, RecursionError) as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
            raise DataError(f"{name} cannot be imported: {reason}.", file=file) from error
        if (again := _repeated(stats)) is not None:
            raise DataError(
                f"{name} has two results of {again}; results of different evaluations need different names "
                "(evaluation_name).",
                file=file,
            )
        found = True
        yield Imported(spec, stats, _origin(value, name, [identity(file), *sources]), examples, *known)
    if not found:
        hint = did_you_mean(metric or "", missed)
        raise DataError(f"no evaluation has the metric {metric}. {hint}".strip(), file=file)


class _Named:
    """The names here of an evaluation's metrics."""

    def __init__(self, results: Sequence[Mapping[str, Any]], library: str, registry: Registry, ours: bool) -> None:
        self._registry = registry
        self._ours = ours
        self.program = _PROGRAMS.get(library, _UNSAFE.sub("-", library).strip("-").lower() or "unknown")
        self._by_result: dict[str, tuple[str, str]] = {}
        self._splits = {split_of(result) for result in results}
        self._metrics = dict[str, str]()
        known = counterparts(registry, self.program)
        self.same: dict[str, tuple[str, ...]] = {}
        for result in results:
            theirs = _metric_name(result)
            here = theirs if ours else f"{self.program}.{theirs}"
            self._metrics[theirs] = here
            if (identifier := result.get("evaluation_result_id")) is not None:
                self._by_result[identifier] = here, split_of(result)
            if not ours and theirs in known.same:
                self.same[here] = known.same[theirs]

    def stats(self, result: Mapping[str, Any]) -> Iterator[Stat]:
        stat = stat_of(result, self._metrics[_metric_name(result)])
        yield stat
        for name in self.same.get(stat.metric, ()):
            category, higher = described(self._registry, name)
            yield replace(stat, metric=name, category=category, higher_is_better=higher)

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str, str]]:
        """Yield each line with its metric's name here and its split, if the line says which result it is of.

        Raises:
            ValueError: It refers to a result that the aggregate file lacks.
        """
        unknown = 0
        for row in rows:
            identifier = row.get("evaluation_result_id")
            if self._ours:
                metadata = row["metadata"]
                yield row, metadata["metric"], metadata["split"]
            elif identifier is not None:
                if identifier not in self._by_result:
                    raise ValueError(f"sample {row['sample_id']!r} is of a result that is not there ({identifier!r})")
                yield row, *self._by_result[identifier]
            elif len(self._metrics) == 1 and len(self._splits) == 1:
                yield row, next(iter(self._metrics.values())), next(iter(self._splits))
            else:
                unknown += 1
        if unknown:
            _LOG.warning(
                "%s: left out %d samples: the evaluation has several results, and the samples do not say which one "
                "they belong to (evaluation_result_id).",
                rows[0]["evaluation_name"],
                unknown,
            )


def _metric_name(result: Mapping[str, Any]) -> str:
    config = result["metric_config"]
    given = config.get("metric_name") or config.get("metric_id") or config.get("evaluation_description")
    return str(given or result["evaluation_name"])


def _spec(
    name: str,
    value: Mapping[str, Any],
    results: Sequence[Mapping[str, Any]],
    suite: str,
    registry: Registry,
    stats: Sequence[Stat],
    main: Stat,
) -> RunSpec:
    scenario = scenario_component(registry, _UNSAFE.sub("-", name).strip("-.") or "unknown", {})
    generation = results[0].get("generation_config") or {}
    settings = {**(generation.get("generation_args") or {}), **(generation.get("additional_details") or {})}
    perturbations = dict.fromkeys(stat.perturbation for stat in stats if stat.perturbation)
    return RunSpec(
        suite=suite,
        scenario=scenario,
        parts=chosen_parts(registry, scenario),
        adapter=Component(
            name=f"{value['eval_library']['name']} run",
            # Two evaluations of the same model at different times are two runs.
            arguments={**settings, "evaluation_id": value["evaluation_id"]},
        ),
        perturbations=tuple(Component(name=one) for one in perturbations if one),
        metrics=tuple(Component(name=one) for one in dict.fromkeys(stat.metric for stat in stats)),
        main_metric=main.metric,
        model=Component(name=f"{value['eval_library']['name']}:{value['model_info']['id']}"),
        eval_split=Split(main.split),
    )


def _main(stats: Sequence[Stat], metric: str | None) -> Stat | None:
    """Return an evaluation's main statistic: the first, unless a metric is named, by either program's name."""
    overall = [stat for stat in stats if stat.overall]
    if metric is None:
        return next(iter(overall), None)
    return next((stat for stat in overall if metric in (stat.metric, stat.metric.partition(".")[2])), None)


def _also_ours(one: Scored, same: Mapping[str, Sequence[str]]) -> Scored:
    ours = {name: score for theirs, score in one.scores.items() for name in same.get(theirs, ())}
    return replace(one, scores={**one.scores, **ours})


def _check_range(stats: Sequence[Stat], examples: Sequence[Scored]) -> None:
    """Check that each sample's scores lie in the range that its results declare.

    Raises:
        ValueError: One does not.
    """
    scales = {
        (stat.metric, stat.split, stat.perturbation): stat.scale
        for stat in stats
        if stat.scale is not None and stat.group is None and stat.computed_on in ("original", "perturbed")
    }
    for one in examples:
        instance = one.example.instance
        for name, score in one.scores.items():
            scale = scales.get((name, instance.split.value, instance.perturbation))
            if scale is not None and scale.clipped(score) is None:
                raise ValueError(
                    f"the score of sample {instance.id!r} is {score:g}, outside the range of {name} ({scale})"
                )


def _repeated(stats: Sequence[Stat]) -> str | None:
    seen = set[str]()
    for stat in stats:
        identifier = result_id(stat)
        if identifier in seen:
            return identifier
        seen.add(identifier)
    return None


def _origin(value: Mapping[str, Any], name: str, files: list[dict[str, str]]) -> dict[str, Any]:
    library, source = value["eval_library"], value["source_metadata"]
    details = {
        key: text for key, text in (library.get("additional_details") or {}).items() if key not in ("spec", WRITTEN_BY)
    }
    return {
        "program": library["name"],
        "version": library["version"],
        "archive": ARCHIVE,
        "task": name,
        "evaluation_id": value["evaluation_id"],
        "organization": source["source_organization_name"],
        "relationship": source["evaluator_relationship"],
        **({"details": details} if details else {}),
        "files": files,
    }


def _known(
    value: Mapping[str, Any], examples: Sequence[Scored], ours: bool
) -> tuple[dict[str, Any], dict[str, Any], str, str]:
    """Return what is known of efficiency and model, and when the run started and finished."""
    details = value["eval_library"].get("additional_details") or {}
    model = {key: item for key, item in value["model_info"].items() if key not in ("name", "additional_details")}
    if ours:
        efficiency = parse_json(details.get("efficiency", "{}"))
        return dict(efficiency), {"archived": model}, details.get("started", ""), details.get("finished", "")
    efficiency = {"examples": len(examples)} if examples else {}
    return efficiency, {"archived": model}, "", _time(value.get("evaluation_timestamp"))


def _time(written: str | None) -> str:
    """Return a time in ISO 8601; the schema leaves the form open, and programs write seconds since 1970 or ISO 8601."""
    try:
        return datetime.fromtimestamp(float(written or ""), UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        pass
    try:
        return datetime.fromisoformat(written or "").astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""
