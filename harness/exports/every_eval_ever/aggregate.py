"""A run as the aggregate file of Every Eval Ever."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from harness.exports.every_eval_ever.options import EveryEvalEverOptions
from harness.exports.every_eval_ever.statistics import evaluation_result
from harness.exports.json_text import json_text
from harness.exports.model_identity import ModelIdentity
from harness.exports.privacy import public
from harness.exports.public_spec import public_spec
from harness.exports.stored_run import StoredRun
from harness.imports.every_eval_ever.layout import LIBRARY, SCHEMA_VERSION, WRITTEN_BY
from harness.installation import DISTRIBUTION

Json = dict[str, Any]


def aggregate(
    run: StoredRun, model: ModelIdentity, identifier: str, options: EveryEvalEverOptions, samples: Json | None
) -> Json:
    """Return the content of the aggregate file.

    Args:
        run: The run.
        model: Its model.
        identifier: The ``evaluation_id``.
        options: Who publishes the file.
        samples: The ``detailed_evaluation_results``; None without samples.
    """
    record, spec = run.record, run.record.spec
    arguments = {metric.name: public(metric.arguments) for metric in spec.metrics}
    shared = {
        "evaluation_name": evaluation_name(run),
        "source_data": _source_data(run),
        **({"evaluation_timestamp": record.finished} if record.finished else {}),
        "generation_config": _generation_config(run),
    }
    results = [evaluation_result(stat, arguments.get(stat.metric, {}), shared) for stat in record.stats]
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": identifier,
        **({"evaluation_timestamp": record.finished} if record.finished else {}),
        "retrieved_timestamp": epoch(record.finished),
        "source_metadata": _source_metadata(run, options),
        "eval_library": _library(run),
        "model_info": _model_info(run, model),
        "evaluation_results": results,
        **({} if samples is None else {"detailed_evaluation_results": samples}),
    }


def evaluation_name(run: StoredRun) -> str:
    """Return the name of what was evaluated: the scenario with its arguments, ``mmlu:subject=anatomy``."""
    return str(public(run.record.spec.scenario.label))


def epoch(time: str) -> str:
    """Return a time in ISO 8601 as seconds since 1970; ``0`` if it is unknown, as in results of some programs."""
    try:
        return str(int(datetime.fromisoformat(time).timestamp()))
    except ValueError:
        return "0"


def _source_metadata(run: StoredRun, options: EveryEvalEverOptions) -> Json:
    origin = run.record.provenance.get("origin")
    return {
        "source_name": "holistic-harness" if origin is None else str(origin.get("program", "unknown")),
        "source_type": "evaluation_run",
        "source_organization_name": options.organization,
        **({"source_organization_url": options.organization_url} if options.organization_url else {}),
        "evaluator_relationship": options.relationship,
        **({} if origin is None else {"additional_details": {"origin": as_json(public(origin))}}),
    }


def _library(run: StoredRun) -> Json:
    record = run.record
    versions = record.provenance.get("versions") or {}
    details = {
        WRITTEN_BY: LIBRARY,
        "suite": record.suite,
        "run": record.name,
        "spec": as_json(public_spec(record.spec)),
        "started": record.started,
        "finished": record.finished,
        "seed": str(record.spec.seed),
        "efficiency": as_json(record.efficiency),
        "declined": as_json({"examples": record.declined.examples, "of": record.declined.of}),
    }
    if versions:
        details["versions"] = as_json(versions)
    if (definitions := record.provenance.get("definitions")) is not None:
        details["definitions"] = as_json(definitions)
    origin = record.provenance.get("origin")
    if origin:
        name, version = str(origin.get("program", "unknown")), str(origin.get("version", "unknown"))
    else:
        name, version = LIBRARY, str(versions.get(DISTRIBUTION, "unknown"))
    return {"name": name, "version": version, "additional_details": details}


def _model_info(run: StoredRun, model: ModelIdentity) -> Json:
    known = run.record.provenance.get("model") or {}
    facts = {key: text(value) for key, value in public(dict(known)).items() if key != "name" and value is not None}
    settings = {f"setting.{key}": text(value) for key, value in public(run.record.spec.model.flat).items()}
    details = {"deployment_type": model.deployment, "model_availability": model.availability}
    info: Json = {
        "name": str(public(run.record.spec.model_label)),
        "id": model.id,
        "developer": model.id.partition("/")[0],
        "additional_details": {**facts, **settings, "model": str(public(run.record.spec.model.name)), **details},
    }
    if model.engine is not None:
        version = {} if model.engine_version is None else {"version": str(model.engine_version)}
        info["inference_engine"] = {"name": model.engine, **version}
    return info


def _source_data(run: StoredRun) -> Json:
    record = run.record
    data = record.provenance.get("data") or {}
    titles = record.provenance.get("scenario") or {}
    title = str(titles.get("title") or record.spec.scenario.name)
    details = {"scenario": evaluation_name(run), "evaluated_instances": str(record.instances.evaluated)}
    if data.get("kind") == "hub" and data.get("path"):
        details |= {key: str(data[key]) for key in ("config", "revision") if data.get(key)}
        return {
            "dataset_name": title,
            "source_type": "hf_dataset",
            "hf_repo": str(data["path"]),
            "hf_split": record.spec.eval_split.value,
            "additional_details": details,
        }
    if data:
        details["data"] = as_json(public(data))
    return {"dataset_name": title, "source_type": "other", "additional_details": details}


def _generation_config(run: StoredRun) -> Json:
    """Return the settings of generation; where the schema has a field for one, in that field."""
    spec = run.record.spec
    generation = run.record.provenance.get("generation") or {}
    settings = {**spec.adapter.arguments, **spec.model.arguments, **generation}
    arguments = {
        key: settings[key]
        for key in ("temperature", "top_p", "top_k")
        if isinstance(settings.get(key), int | float) and not isinstance(settings.get(key), bool)
    }
    longest = settings.get("max_tokens")
    if isinstance(longest, int) and longest >= 1:
        arguments["max_tokens"] = longest
    if settings.get("chain_of_thought") is True or settings.get("reasoning"):
        arguments["reasoning"] = True
    details = {"method": spec.adapter.name, "samples": str(spec.samples)}
    details |= {f"adapter.{key}": text(value) for key, value in spec.adapter.arguments.items() if value or value == 0}
    details |= {f"generation.{key}": text(value) for key, value in public(dict(generation)).items()}
    return {"generation_args": arguments, "additional_details": details}


def text(value: Any) -> str:
    """Return a value as the schema's details hold it: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def as_json(value: Any) -> str:
    """Return a value as compact JSON."""
    return json_text(value, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")
