"""A run folder of HELM for each run: run_spec, scenario, scenario_state, stats and per_instance_stats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from typing import Any, BinaryIO

from harness.contracts import Stat
from harness.contracts.specs import RunSpec
from harness.exports.exporter import Exporter
from harness.exports.helm.states import THEIRS, count_left_out, instance_stats, perturbation_of, stat, states_of
from harness.exports.json_text import json_text
from harness.exports.output_folder import OutputFolder, portable_name
from harness.exports.privacy import public, public_text
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredExample, StoredRun
from harness.installation import DISTRIBUTION

Json = dict[str, Any]

_OURS = {"train_trials": "num_train_trials"}
"""Settings of adapters by HELM's names, where these differ."""

_KEYS = frozenset(
    {
        *("global_prefix", "global_suffix", "instructions", "input_prefix", "input_suffix", "reference_prefix"),
        *("reference_suffix", "chain_of_thought_prefix", "chain_of_thought_suffix", "output_prefix", "output_suffix"),
        *("instance_prefix", "max_train_instances", "sample_train", "temperature", "max_tokens", "stop_sequences"),
        *("multi_label", "num_train_trials"),
    }
)
"""Keys of HELM's adapter spec that ours have as well."""


class HelmExporter(Exporter):
    """Writes run folders of HELM, below ``runs/SUITE`` as helm-run does."""

    def export_run(self, run: StoredRun, folder: OutputFolder, report: ExportReport) -> None:
        """Write a run's folder.

        Raises:
            CannotHoldError: The run asks what HELM cannot ask.
        """
        record, spec = run.record, run.record.spec
        place = ("runs", portable_name(record.suite), portable_name(record.name))
        model = model_name(spec.model.name)
        categories = {
            one.perturbation: one.category
            for one in record.stats
            if one.perturbation is not None and one.category in ("robustness", "fairness")
        }
        adapter = adapter_spec(spec, model, report)
        folder.write(*place, "run_spec.json", text=_json(_run_spec(run, model, adapter)))
        folder.write(*place, "scenario.json", text=_json(_scenario(run)))
        folder.write(*place, "stats.json", text=_json(list(_stats(run, categories, report))))
        if not run.has_examples:
            report.leave_out("request states of runs without examples")
            return
        with (
            folder.open(*place, "scenario_state.json") as states,
            folder.open(*place, "per_instance_stats.json") as stats,
            _listed(states, f'{{"adapter_spec": {_json(adapter)}, "request_states": [', "]}") as add_state,
            _listed(stats, "[", "]") as add_stats,
        ):
            # The samples of an instance follow each other.
            for _, several in groupby(run.examples(), _key):
                samples = list(several)
                count_left_out(samples, report)
                for state in states_of(samples, model, categories):
                    add_state(state)
                add_stats(instance_stats(samples, categories))


def _key(one: StoredExample) -> tuple[str, str | None, int, str]:
    instance = one.example.instance
    return str(instance.split), instance.perturbation, one.example.trial, instance.id


@contextmanager
def _listed(file: BinaryIO, begin: str, end: str) -> Iterator[Any]:
    """Write a JSON list item by item, between two texts."""
    first = True
    file.write(begin.encode())

    def add(value: Json) -> None:
        nonlocal first
        file.write(b"\n" if first else b",\n")
        file.write(_json(value).encode("utf-8", "backslashreplace"))
        first = False

    yield add
    file.write(f"\n{end}\n".encode())


def _json(value: Any) -> str:
    return json_text(value)


def model_name(name: str) -> str:
    """Return a model's name in HELM's form, ``creator/model``, without folders of this machine."""
    backend, _, identifier = name.partition(":")
    public_name = public_text(identifier or backend).strip("/")
    return public_name if "/" in public_name else f"{backend}/{public_name}"


def adapter_spec(spec: RunSpec, model: str, report: ExportReport) -> Json:
    """Return HELM's adapter spec."""
    given = {_OURS.get(key, key): value for key, value in public(spec.adapter.arguments).items()}
    known = {key: value for key, value in given.items() if key in _KEYS and value is not None}
    report.leave_out(
        "settings of methods", sum(bool(v) for k, v in given.items() if k not in {*_KEYS, "substitutions"})
    )
    substitutions = [{"source": source, "target": target} for source, target in given.get("substitutions") or ()]
    limit = {} if spec.max_eval_instances is None else {"max_eval_instances": spec.max_eval_instances}
    return {
        "method": spec.adapter.name,
        **known,
        "substitutions": substitutions,
        **limit,
        "num_outputs": max(spec.samples, int(given.get("num_outputs") or 1)),
        "model": model,
        "model_deployment": model,
        "eval_splits": [spec.eval_split.value],
    }


def _run_spec(run: StoredRun, model: str, adapter: Json) -> Json:
    spec = run.record.spec
    arguments = public(spec.scenario.arguments)
    named = {**arguments, "method": spec.adapter.name, "model": model.replace("/", "_")}
    return {
        "name": f"{spec.scenario.name}:{','.join(f'{key}={value}' for key, value in named.items())}",
        "scenario_spec": {"class_name": f"{DISTRIBUTION}.{spec.scenario.name}", "args": arguments},
        "adapter_spec": adapter,
        "metric_specs": [
            {"class_name": f"{DISTRIBUTION}.{one.name}", "args": public(one.arguments)} for one in spec.metrics
        ],
        "data_augmenter_spec": {
            "perturbation_specs": [
                {"class_name": f"{DISTRIBUTION}.{one.name}", "args": public(one.arguments)}
                for one in spec.perturbations
            ],
            "should_augment_eval_instances": bool(spec.perturbations),
            "should_include_original_eval": True,
        },
        "groups": [spec.scenario.name],
        "annotators": [],
    }


def _scenario(run: StoredRun) -> Json:
    about = run.record.provenance.get("scenario") or {}
    name = run.record.spec.scenario.name
    return {
        "name": name,
        "description": public_text(str(about.get("description") or about.get("title") or name)),
        "tags": [],
        "definition_path": "",
    }


def _stats(run: StoredRun, categories: Mapping[str, str], report: ExportReport) -> Iterator[Json]:
    """Yield HELM's stats, the main metric's first, since HELM does not say which one is.

    It has neither standard errors nor counts, which follow from the per-instance stats.
    """
    main = run.main_stat
    for one in sorted(run.record.stats, key=lambda found: found != main):
        name = _name(one, categories)
        if name is None:
            kind = "drops under perturbations" if one.computed_on == "drop" else "statistics of groups"
            report.leave_out(kind)
        else:
            report.leave_out("standard errors over clusters of instances", one.clusters is not None)
            yield stat(name, one.mean)


def _name(one: Stat, categories: Mapping[str, str]) -> Json | None:
    """Return a statistic's name; None if HELM has none for it."""
    key, _, part = (one.group or "").partition("=")
    if one.computed_on == "drop" or (one.group is not None and (key != "sub_split" or not part)):
        return None
    name: Json = {"name": one.metric.removeprefix(THEIRS), "split": one.split}
    if part:
        name["sub_split"] = part
    if one.perturbation is not None:
        name["perturbation"] = perturbation_of(one.perturbation, categories, one.computed_on)
    return name
