"""Export runs: read them, have a format write them, and say what it could not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.errors import HarnessError
from harness.exports.exporter import make_exporter
from harness.exports.output_folder import OutputFolder
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredRun, stored_runs
from harness.plugins.registry import Registry, default_registry


def export_runs(
    results: Path,
    format_: str,
    output: Path,
    *,
    suites: Sequence[str] | None = None,
    settings: Mapping[str, str] | None = None,
    strict: bool = False,
    plugins: Sequence[Path] = (),
) -> tuple[ExportReport, list[Path]]:
    """Export the runs of a results folder, a suite or a single run.

    Args:
        results: A results folder, a suite's folder or a run's.
        format_: The format's name.
        output: The folder for the files; existing files of the same names are replaced.
        suites: Only these suites; None for all.
        settings: Values of the format's options.
        strict: True to write nothing if the format cannot hold everything.
        plugins: Files or folders of plugins to load.

    Returns:
        What was exported and left out, and the files.

    Raises:
        HarnessError: There are no runs, the format or an option does not exist, the files cannot be written, or with
            ``strict`` something would be lost.
    """
    registry = default_registry(plugins)
    exporter = make_exporter(format_, settings or {}, registry)
    runs = stored_runs(results, suites)
    report = ExportReport()
    finished = [_without_private_samples(run, registry, report) for run in runs if run.record.status == "ok"]
    report.leave_out("failed runs", len(runs) - len(finished))
    with OutputFolder(output) as folder:
        exporter.export(finished, folder, report)
        if strict and (report.left_out or report.unsupported or report.refused):
            folder.discard()
            lost = [f"{format_} has no place for {count:,} {what}" for what, count in report.left_out.items()]
            raise HarnessError(
                "\n".join(["nothing was exported (--strict):", *lost, *report.unsupported, *report.refused])
            )
    return report, folder.files


def _without_private_samples(run: StoredRun, registry: Registry, report: ExportReport) -> StoredRun:
    """Return a run without its examples if its scenario's data are private, such as the key of a sealed data set."""
    name = run.record.spec.scenario.name
    source = registry.source(name)
    if source is None or not source.private or run.record.examples is None:
        return run
    report.note(f"samples of private data are never exported: {name}.")
    return StoredRun(replace(run.record, examples=None))
