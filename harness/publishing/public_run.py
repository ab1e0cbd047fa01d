"""A run without what does not leave this machine: folders, host, command line, keys, and settings such as addresses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.contracts.specs import RunSpec
from harness.errors import HarnessError
from harness.exports.privacy import public, public_text
from harness.exports.stored_run import StoredRun
from harness.runs.provenance import OF_THIS_MACHINE
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True)
class PublicRun:
    """A run as it is published, and as it is stored."""

    stored: StoredRun
    """As it is stored; its record names folders of this machine."""
    record: RunRecord
    """What is published; it has no examples."""


def public_run(run: StoredRun) -> PublicRun:
    """Return a run without what does not leave this machine.

    Its name is made of the published spec, but ends in the digest of the stored one.
    """
    record = run.record
    written = record.spec.model_dump(mode="json")
    for key in ("scenario", "perturbations", "metrics", "model"):
        written[key] = public(written[key])
    spec = RunSpec.model_validate({**written, "operational": {}, "judges_operational": {}})
    provenance = {key: value for key, value in record.provenance.items() if key not in OF_THIS_MACHINE}
    name = f"{spec.name.removesuffix(spec.digest)}{record.spec.digest}"
    return PublicRun(
        run,
        replace(
            record,
            name=name,
            spec=spec,
            provenance=public(provenance),
            error=None if record.error is None else public_text(record.error),
            examples=None,
        ),
    )


def public_runs(runs: Sequence[StoredRun]) -> list[PublicRun]:
    """Return runs as they are published.

    Raises:
        HarnessError: Two of them could not be told apart.
    """
    found: dict[tuple[str, str], PublicRun] = {}
    for run in runs:
        one = public_run(run)
        key = one.record.suite, json.dumps(one.record.spec.identity, sort_keys=True)
        if key in found:
            other = found[key].stored.record
            raise HarnessError(
                f"{other.directory} and {run.record.directory} differ only in folders of this machine, which are not "
                f"published ({other.spec.model.label}, {run.record.spec.model.label}). Rename the folder of one, or "
                "publish their suites separately."
            )
        found[key] = one
    return list(found.values())
