"""The contamination page's data: for each model and data set the verdict and all that it is based on."""

from __future__ import annotations

from typing import Any

from harness.contamination.benchmarks import Benchmark
from harness.contamination.order_tests import JudgedTest
from harness.contamination.statistics.verdict import Verdict
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import Snapshot


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write ``contamination``, a line for each finding, and ``contamination/RUN.SPLIT`` with its fields.

    ``contamination/benchmarks`` has a line for each model's benchmark of several files.
    """
    lines = []
    for finding in snapshot.findings:
        key = f"{address_of(finding.record)}.{finding.split}"
        lines.append(_line(snapshot, finding, key))
        fields = {name: value for name, value in finding.found.items() if name != "row_digests"}
        folder.put(f"contamination/{key}", {**_line(snapshot, finding, key), "fields": fields})
    folder.put("contamination", lines)
    folder.put("contamination/benchmarks", [_benchmark(snapshot, found) for found in snapshot.benchmarks])


def _benchmark(snapshot: Snapshot, found: Benchmark) -> dict[str, Any]:
    record = found.files[0].record
    model = [snapshot.model(record), model_address(record.spec.model)]
    return {**found.as_json(), "model": model, "seen": found.verdict is Verdict.DETECTED}


def _line(snapshot: Snapshot, finding: JudgedTest, key: str) -> dict[str, Any]:
    spec = finding.record.spec
    return {
        "key": key,
        "model": [snapshot.model(finding.record), model_address(spec.model)],
        "scenario": [spec.scenario.label, scenario_address(spec.scenario)],
        "run": address_of(finding.record),
        "split": finding.split,
        "rows": spec.adapter.arguments.get("rows"),
        "log10_p": finding.log10_p if finding.testable else None,
        "log10_p_holm": finding.log10_p_holm if finding.testable else None,
        "reason": finding.why_not_testable,
        "family": finding.family,
        "verdict": finding.verdict,
        "seen": finding.seen,
        "control": finding.control,
        "examples": finding.found.get("n_used", finding.found.get("n_examples")),
    }
