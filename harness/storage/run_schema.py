"""The schema of run.json, by which every record is checked: other programs may have written it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    JsonValue,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from harness.answers.declined import Declined
from harness.contracts import Stat
from harness.contracts.specs import RunSpec
from harness.errors import DataError, shown
from harness.storage.instance_counts import InstanceCounts
from harness.storage.instance_scores import InstanceScores
from harness.validation import explain

SCHEMA_VERSION = 2

_MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class ExamplesDigest:
    """Identifies the file of examples that belongs to a record."""

    count: Annotated[int, Field(ge=0)]
    """Number of examples."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of ``examples.jsonl.gz``, in hexadecimal."""


def check_stat(stat: Stat) -> Stat:
    """Return a statistic if its numbers are possible.

    Raises:
        ValueError: A number is impossible, such as a negative count.
    """
    low, high = stat.ci95 or (None, None)
    numbers = (stat.mean, stat.stderr, stat.min, stat.max, low, high)
    if not all(number is None or math.isfinite(number) for number in numbers):
        names = ("mean", "stderr", "min", "max", "ci95[0]", "ci95[1]")
        name, wrong = next(
            (n, v) for n, v in zip(names, numbers, strict=True) if v is not None and not math.isfinite(v)
        )
        raise ValueError(f"{stat.metric}: {name} must be a finite number, not {wrong}")
    for name, count in (("count", stat.count), ("missing", stat.missing)):
        if count < 0:
            raise ValueError(f"{stat.metric}: {name} must be at least 0, not {count}")
    if stat.stderr is not None and stat.stderr < 0:
        raise ValueError(f"{stat.metric}: stderr must be at least 0, not {stat.stderr:g}")
    for name, pair in (("ci95", stat.ci95), ("min and max", (stat.min, stat.max))):
        if pair is not None and pair[0] is not None and pair[1] is not None and pair[0] > pair[1]:
            raise ValueError(f"{stat.metric}: {name} must be in ascending order, not {pair[0]:g} and {pair[1]:g}")
    if stat.scale is not None and stat.computed_on != "drop" and not (stat.group or "").endswith(": gap"):
        check_range(stat.metric, stat.mean, stat.scale.low, stat.scale.high)
    return stat


def check_range(metric: str, mean: float, low: float | None, high: float | None) -> None:
    """Check that a mean lies in its metric's range; None for no limit.

    Raises:
        ValueError: It does not.
    """
    if (low is None or mean >= low - 1e-9) and (high is None or mean <= high + 1e-9):
        return
    hint = "; it looks like a percentage: divide it by 100" if (low, high) == (0, 1) and 1 < mean <= 100 else ""
    limits = f"from {low:g} to {high:g}" if low is not None and high is not None else (
        f"at least {low:g}" if low is not None else f"at most {high:g}"
    )  # fmt: skip
    raise ValueError(f"{metric}: mean must be {limits}, not {mean:g}{hint}")


def _finite(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if not _all_finite(value):
        path, number = next((path, number) for path, number in _numbers(value, "") if not math.isfinite(number))
        raise ValueError(f"{path.lstrip('.')} must be a finite number, not {number}")
    return value


def _all_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_all_finite, value.values()))
    return not isinstance(value, list) or all(map(_all_finite, value))


def _numbers(value: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _numbers(item, f"{path}[{place}]")


def _objects(value: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("model", "data", "versions", "host", "definitions", "determinism", "origin", "scenario"):
        if value.get(key) is not None and not isinstance(value[key], dict):
            raise ValueError(f"{key} must be an object, not {shown(value[key], 40)}")
    workers = value.get("workers", [])
    if not isinstance(workers, list) or not all(isinstance(worker, dict) for worker in workers):
        raise ValueError(f"workers must be a list of objects, not {shown(workers, 40)}")
    return value


def _check_declined(declined: Declined) -> Declined:
    for group in declined.groups:
        if any(count < 0 for count in group.kinds.values()) or group.examples > group.of:
            raise ValueError(f"{dict(group.kinds)!r} cannot be counts of {group.of!r} examples")
    return declined


def _check_instances(counts: InstanceCounts) -> InstanceCounts:
    pairs = [(one.changed, one.copies) for one in counts.perturbed.values()]
    pairs += [(count, counts.evaluated) for count in counts.unlabelled.values()]
    for part, whole in pairs:
        if not 0 <= part <= whole:
            raise ValueError(f"{part} of {whole} instances is impossible")
    return counts


def _scores(value: Any) -> InstanceScores | None:
    return None if value is None else InstanceScores.from_json(value)


_SCORES = {"anyOf": [{"type": "object", "additionalProperties": {"type": "string"}}, {"type": "null"}]}

Json = Annotated[Mapping[str, Any], AfterValidator(_finite)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """What run.json holds."""

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "strict": True}

    schema_version: Literal[2] = 2
    """Version of the layout."""

    name: str
    """The run's name, which is also its folder's."""

    suite: str
    """The suite that the run belongs to."""

    status: Literal["ok", "failed"]
    """`ok`, or `failed` with the reason in `error`."""

    error: str | None
    """Why the run failed; null if it did not."""

    spec: RunSpec
    """The resolved settings: everything that determines the results."""

    stats: Sequence[Annotated[Stat, AfterValidator(check_stat)]]
    """Every statistic, by metric, split, perturbation and group."""

    efficiency: Json
    """Requests, tokens (``reasoning_tokens`` among them), seconds, and where known money and energy, of the whole run;
    and the numbers of examples with shortened prompts, answers that could not be read, and reasoning that did not end
    (``unfinished_reasoning``) or that nothing announced (``unannounced_reasoning``, marked by ``reasoning_mark``).
    """

    details: Json = field(default_factory=dict)
    """What metrics give for diagrams and reports, by metric, split and perturbation."""

    declined: Annotated[Declined, AfterValidator(_check_declined)] = field(default_factory=Declined)
    """Number of examples that the model or its provider declined to answer, by kind."""

    instances: Annotated[InstanceCounts, AfterValidator(_check_instances)] = field(default_factory=InstanceCounts)
    """Number of instances that each perturbation changed, and of those without a label to group by."""

    provenance: Annotated[Json, AfterValidator(_objects)]
    """Versions, model, data, the scenario's title, seeds, host, the definitions of metrics and plugins, and the
    processes that held the model (``workers``: machine, process, threads, GPUs, driver, CUDA, the kinds of attention
    that PyTorch may use), and the determinism grade."""

    examples: ExamplesDigest | None
    """Count and digest of the examples; null if the run failed before any were written."""

    started: str
    """When the run started: UTC, ISO 8601."""

    finished: str
    """When the run ended: UTC, ISO 8601."""

    instance_scores: Annotated[InstanceScores | None, PlainValidator(_scores), WithJsonSchema(_SCORES)] = None
    """The main metric's score of every unperturbed instance, packed and in base64, for paired comparisons."""


_RUN_FILE = TypeAdapter(RunFile)


class _Version(BaseModel):
    schema_version: JsonValue


def parse_run(content: bytes, file: Path) -> RunFile:
    """Return what a run.json holds.

    Raises:
        DataError: It does not fit the schema; the message has the first keys that are wrong.
    """
    try:
        if b"\\ud" in content.lower():
            content = _without_lone_surrogates(content)
        try:
            return _RUN_FILE.validate_json(content)
        except ValidationError:
            # Of another version, its version is what is wrong, whatever else does not fit.
            version = _Version.model_validate_json(content).schema_version
            if version == SCHEMA_VERSION:
                raise
        raise DataError(
            f"schema version {version} is not the one that this version reads ({SCHEMA_VERSION}).", file=file
        )
    except ValidationError as error:
        raise DataError(f"not a run's record: {reasons(error)}.", file=file) from None
    except RecursionError:
        raise DataError("not a run's record: it is nested too deeply.", file=file) from None


def _without_lone_surrogates(content: bytes) -> bytes:
    """Return a JSON text with U+FFFD for each half of a pair, which Python writes and pydantic does not read."""
    try:
        text = json.dumps(json.loads(content), ensure_ascii=False)
    except ValueError:
        return content  # the parser will report the error
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def reasons(error: ValidationError, model: type = RunFile) -> str:
    """Return the first few keys that do not fit a model, with what is wrong, without a full stop."""
    first = error.errors(include_url=False)[0]
    if first["type"] == "json_invalid":
        return f"it is not JSON ({first['msg'].removeprefix('Invalid JSON: ')})"
    found = explain(error, model, noun="key of run.json")
    texts = [f"{one.path}: {one.message.removesuffix('.')}".removeprefix(": ") for one in found[:_MOST_SHOWN]]
    return "; ".join(texts) + (f"; and {len(found) - len(texts)} more" if len(found) > len(texts) else "")
