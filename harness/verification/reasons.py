"""Why answers may differ from those of a recorded run: what has changed since."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.answers.served_models import served_models
from harness.contracts import Determinism, Response
from harness.output.display import brief
from harness.storage.results import RunRecord
from harness.verification.parts import part

MACHINE = ("system", "machine", "cpu", "gpus", "driver", "cuda", "cudnn", "threads")
"""What of the machine can change an answer."""


_DIGEST = re.compile(r"[0-9a-f]{32,}")

MODEL = "model's "
"""The beginning of what changed about the model."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that changed since the run was recorded, or that makes answers differ by itself."""

    what: str
    """What it is: ``torch``, ``gpus``, ``data``, ``batches``."""
    then: str
    """The recorded value; empty if this is not a change."""
    now: str
    """The present value or, if this is not a change, an explanation."""

    def __str__(self) -> str:
        return f"{self.what}: {self.then} → {self.now}" if self.then else f"{self.what}: {self.now}"


def environment_changes(recorded: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[Reason]:
    """Yield what differs between two environments: versions of libraries, and the machine.

    Args:
        recorded: A run's provenance.
        present: What :func:`harness.runs.provenance.environment` returns, with ``workers``.
    """
    then, now = part(recorded, "versions"), part(present, "versions")
    yield from _changes({name: (then.get(name), now.get(name)) for name in (*then, *now)})
    machines = [_machine(recorded), _machine(present)]
    # Facts that the run did not record are not compared.
    yield from _changes({name: (machines[0][name], machines[1].get(name)) for name in MACHINE if name in machines[0]})


def _machine(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of the machine, or of the machines of a run's workers."""
    found = dict(part(provenance, "host"))
    for name in ("gpus", "driver", "cuda", "cudnn", "threads"):
        values = [worker[name] for worker in provenance.get("workers", []) if worker.get(name) is not None]
        if values:
            kinds = {text for value in values for text in (value if isinstance(value, list) else [value])}
            found[name] = ", ".join(sorted(map(str, kinds)))
        elif isinstance(found.get(name), list):
            found[name] = ", ".join(sorted(set(map(str, found[name]))))
    if "gpus" not in found and "system" in found:
        found["gpus"] = "none"
    return found


def model_changes(recorded: Mapping[str, Any], fingerprint: Mapping[str, Any]) -> Iterator[Reason]:
    """Yield what differs about the model: weights, revision, precision, chat template.

    Args:
        recorded: A run's provenance.
        fingerprint: The model's fingerprint now.
    """
    then = part(recorded, "model", "fingerprint")
    now = json.loads(json.dumps(dict(fingerprint)))
    for reason in _changes({name: (then.get(name), now.get(name)) for name in (*then, *now)}):
        yield Reason(f"{MODEL}{reason.what}", reason.then, reason.now)


def data_changes(recorded: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[Reason]:
    """Yield the data files that changed, by their SHA-256, and another source.

    Args:
        recorded: A run's provenance.
        present: What the data's ``provenance()`` returns now.
    """
    then, now = part(recorded, "data"), json.loads(json.dumps(dict(present)))
    files = [_digests(each.get("files")) for each in (then, now)]
    pairs = {name: (files[0].get(name), files[1].get(name)) for name in (*files[0], *files[1])}
    for reason in _changes(pairs):
        yield Reason(f"data file {reason.what}", reason.then, reason.now)
    for reason in _changes({key: (then.get(key), now.get(key)) for key in (*then, *now) if key != "files"}):
        yield Reason(f"data {reason.what}", reason.then, reason.now)


def _digests(files: Any) -> dict[str, Any]:
    """Return the SHA-256 of each data file by its path; what does not describe a file is left out."""
    described = [one for one in files if isinstance(one, Mapping)] if isinstance(files, list | tuple) else []
    return {str(one.get("path")): one.get("sha256") for one in described}


def definition_changes(recorded: Mapping[str, Any], present: Mapping[str, str]) -> Iterator[Reason]:
    """Yield the plugins whose files changed; their arguments are those of :func:`data_changes`."""
    then = part(recorded, "definitions")
    for reason in _changes({name: (then.get(name), present.get(name)) for name in (*then, *present)}):
        yield Reason(f"definition of {reason.what}", reason.then, reason.now)


def answering_reasons(record: RunRecord, grade: Determinism, responses: Sequence[Response]) -> Iterator[Reason]:
    """Yield why the same model may answer differently: batches, a server, sampling, answers of other origin.

    Args:
        record: The run.
        grade: The model's determinism grade now.
        responses: The answers now.
    """
    provenance = record.provenance
    if grade is not Determinism.EXACT:
        yield Reason("determinism", "", f"{grade}. {grade.meaning}")
    if grade in (Determinism.FLOAT32, Determinism.BATCHED):
        yield Reason("batches", "", "a sample is batched differently from the whole run, so sums round differently.")
    known = provenance.get("determinism")
    if isinstance(known, Mapping) and known.get("sampled") and grade is not Determinism.EXACT:
        yield Reason("sampling", "", "answers are drawn at a temperature above 0; rounding can change a draw.")
    then = {_served(one.get("model"), one.get("system_fingerprint")) for one in served_models(provenance)}
    now = {_served(one.model, one.fingerprint) for response in responses for one in response.served}
    if not now <= then:
        yield Reason("served model", brief(", ".join(sorted(then)) or "none"), brief(", ".join(sorted(now))))
    if provenance.get("imported_answers"):
        yield Reason("imported answers", "", "some of the run's answers were imported, not generated in that run.")
    if provenance.get("answers_of_other_gpus"):
        yield Reason("other GPUs", "", "some of the run's answers came from another kind of GPU.")


def _served(model: Any, fingerprint: Any) -> str:
    return f"{model or 'unnamed'}{f' ({fingerprint})' if fingerprint else ''}"


def _changes(pairs: Mapping[str, tuple[Any, Any]]) -> Iterator[Reason]:
    for name, (then, now) in pairs.items():
        if then != now:
            yield Reason(name, _shown(then), _shown(now))


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, str) and _DIGEST.fullmatch(value):
        return f"{value[:12]}…"
    return brief(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 60)


def reason_values(reasons: Sequence[Reason]) -> list[dict[str, str]]:
    """Return reasons as JSON values."""
    return [asdict(reason) for reason in reasons]
