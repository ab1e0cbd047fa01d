"""What is signed: an in-toto statement about the files of a results folder.

Source: in-toto Attestation Framework, Statement v1. The predicate type is our own: the one proposed for evaluation
results (in-toto/attestation pull request 575) is not registered, and describes one threshold on one model and data set.
Fields that mean the same have its names: ``harness``, ``evaluatedAt``, ``assuranceLevel``, ``sampleSize``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.data.strict_json import parse_json
from harness.errors import DataError, StrictJsonError, shown
from harness.installation import DISTRIBUTION, harness_version
from harness.runs.provenance import now
from harness.storage.results import RunRecord
from harness.verification.parts import part
from harness.verification.results_files import is_inside

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:x-holistic-harness:evaluation-results:v1"
"""The type of the predicate, which says what the signed files hold."""


def make_statement(files: Mapping[str, str], records: Sequence[RunRecord]) -> bytes:
    """Return the statement about files, as JSON.

    Args:
        files: SHA-256 of each file, by its path in the results folder.
        records: The runs among them.
    """
    subjects = [{"name": name, "digest": {"sha256": digest}} for name, digest in files.items()]
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "harness": {"name": DISTRIBUTION, "version": harness_version()},
            "signedAt": now(),
            "assuranceLevel": "self_attested",
            "runs": [_run(record) for record in records],
        },
    }
    return json.dumps(statement, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")


def _run(record: RunRecord) -> dict[str, Any]:
    """Return what the predicate says of a run; numbers are text, so that no reader rounds them."""
    spec = record.spec
    stat = next((one for one in record.stats if one.metric == spec.main_metric and one.overall), None)
    result = None
    if stat is not None:
        ends = None if stat.ci95 is None else [None if end is None else repr(end) for end in stat.ci95]
        result = {"metric": stat.metric, "mean": repr(stat.mean), "ci95": ends, "sampleSize": stat.count}
    checkpoint = part(record.provenance, "model", "fingerprint").get("checkpoint")
    return {
        "suite": record.suite,
        "run": record.name,
        "status": record.status,
        "evaluatedAt": record.finished,
        "scenario": spec.scenario.label,
        "method": spec.adapter.name,
        "model": {"name": spec.model.name, **({"checkpoint": checkpoint} if checkpoint else {})},
        **({"result": result} if result else {}),
    }


def signed_files(payload: bytes, file: Path) -> dict[str, str]:
    """Return the SHA-256 of each file that a statement is about, by its path in the results folder.

    Raises:
        DataError: It is not a statement about a results folder, or names a path outside of it.
    """
    try:
        statement = parse_json(payload.decode("utf-8"))
    except (UnicodeDecodeError, StrictJsonError) as error:
        raise DataError(f"the signed statement is damaged: {error}.", file=file) from None
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        raise DataError(f"the signed content is not an in-toto statement of type {STATEMENT_TYPE}.", file=file)
    if statement.get("predicateType") != PREDICATE_TYPE:
        found = shown(statement.get("predicateType"), 60)
        raise DataError(f"the statement is not about evaluation results: its predicateType is {found}.", file=file)
    subjects = statement.get("subject")
    if not isinstance(subjects, list) or not subjects:
        raise DataError("the statement names no files.", file=file)
    files: dict[str, str] = {}
    for subject in subjects:
        name, digest = _subject(subject, file)
        if name in files:
            raise DataError(f"the statement names {shown(name, 60)} twice.", file=file)
        files[name] = digest
    return files


def _subject(subject: Any, file: Path) -> tuple[str, str]:
    name = subject.get("name") if isinstance(subject, dict) else None
    digests = subject.get("digest") if isinstance(subject, dict) else None
    digest = digests.get("sha256") if isinstance(digests, dict) else None
    if not isinstance(name, str) or not isinstance(digest, str):
        raise DataError("a file of the statement has no name or no SHA-256.", file=file)
    if not is_inside(name):
        raise DataError(f"the statement names a path outside of the folder: {shown(name, 60)}.", file=file)
    return name, digest
