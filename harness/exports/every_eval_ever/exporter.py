"""The exporter of Every Eval Ever: an aggregate file for each run, with its samples."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from typing import Any

from harness.exports.every_eval_ever.aggregate import aggregate, as_json, epoch, evaluation_name
from harness.exports.every_eval_ever.options import EveryEvalEverOptions
from harness.exports.every_eval_ever.samples import SampleRows
from harness.exports.exporter import CannotHoldError, Exporter
from harness.exports.json_text import json_text
from harness.exports.model_identity import ModelIdentity, model_identity
from harness.exports.output_folder import OutputFolder, portable_name
from harness.exports.public_spec import public_spec
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredRun
from harness.imports.every_eval_ever.layout import SAMPLES_SUFFIX, SCHEMA_VERSION


class EveryEvalEverExporter(Exporter):
    """Writes ``data/{scenario}/{developer}/{model}/{uuid}.json``, and ``{uuid}_samples.jsonl`` beside it."""

    options_type = EveryEvalEverOptions
    options: EveryEvalEverOptions

    def export_run(self, run: StoredRun, folder: OutputFolder, report: ExportReport) -> None:
        if not run.record.stats:
            raise CannotHoldError("it has no statistics, and Every Eval Ever needs at least one result.")
        model = model_identity(run, self.options.developer)
        developer, _, name = model.id.partition("/")
        collection = _folder_name(run.record.spec.scenario.name)
        place = ("data", collection, _folder_name(developer), _folder_name(name.replace("/", "_")))
        identifier = f"{evaluation_name(run)}-{run.record.spec.digest}/{model.id}/{epoch(run.record.finished)}"
        name = str(file_uuid(run, model))
        samples = None
        if self.options.samples != "none" and run.has_examples:
            samples = self._write_samples(run, model, identifier, (*place, name + SAMPLES_SUFFIX), folder, report)
        value = aggregate(run, model, identifier, self.options, samples)
        folder.write(*place, f"{name}.json", text=json_text(value, indent=2) + "\n")
        report.leave_out("results for diagrams", len(run.record.details))
        if self.options.organization == "unknown":
            report.note(
                "the files name no organization; add --set organization=NAME and "
                "--set relationship=first_party|third_party|collaborative."
            )

    def _write_samples(
        self,
        run: StoredRun,
        model: ModelIdentity,
        identifier: str,
        file: tuple[str, ...],
        folder: OutputFolder,
        report: ExportReport,
    ) -> dict[str, Any] | None:
        """Write the samples file; return what the aggregate says of it, None if there is no sample to write."""
        spec = run.record.spec
        shared = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": identifier,
            "model_id": model.id,
            "evaluation_name": evaluation_name(run),
        }
        only = spec.main_metric if self.options.samples == "main" else None
        maker = SampleRows(shared, tuple(run.record.stats), only)
        lines = _lines(run, maker)
        first = next(lines, None)
        digest, count = hashlib.sha256(), 0
        if first is not None:
            with folder.open(*file) as opened:
                line: bytes | None = first
                while line is not None:
                    opened.write(line)
                    digest.update(line)
                    count += 1
                    line = next(lines, None)
        for what, number in maker.left_out.items():
            report.leave_out(what, number)
        if not count:
            return None
        return {
            "format": "jsonl",
            "file_path": "/".join(file),
            "hash_algorithm": "sha256",
            "checksum": digest.hexdigest(),
            "total_rows": count,
        }


def file_uuid(run: StoredRun, model: ModelIdentity) -> uuid.UUID:
    """Return the UUID of a run's files: the same whenever the same results are exported, of version 4 in form.

    The format's validator takes names of version 4 alone, whose bits are random; these are of a SHA-256.
    """
    record = run.record
    content = {
        "suite": record.suite,
        "spec": public_spec(record.spec),
        "model": model.id,
        "finished": record.finished,
        "stats": [[stat.metric, stat.split, stat.perturbation, stat.group, stat.computed_on, stat.mean, stat.count]
                  for stat in record.stats],
    }  # fmt: skip
    digest = hashlib.sha256(as_json(content).encode("utf-8", "surrogatepass")).digest()
    return uuid.UUID(bytes=digest[:16], version=4)


def _lines(run: StoredRun, maker: SampleRows) -> Iterator[bytes]:
    for one in run.examples():
        for row in maker.rows(one):
            text = json_text(row, separators=(",", ":"))
            yield text.encode("utf-8", "backslashreplace") + b"\n"


def _folder_name(text: str) -> str:
    name = portable_name(text)
    return "data_" if name == "data" else name  # which the format keeps for the folder above
