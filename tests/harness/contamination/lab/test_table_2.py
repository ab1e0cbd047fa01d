"""Table 2: one row for the files of a benchmark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.contamination.lab.table_2 import benchmark_runs, table_2
from harness.contracts import Split
from harness.contracts.specs import Component, RunSpec
from harness.statistics.families import fisher
from harness.storage.results import RunRecord


def run(scenario: str | dict[str, Any], log10_p: float | None, *, sorted_text: bool = False) -> RunRecord:
    spec = RunSpec(
        suite="table2",
        scenario=Component.model_validate(scenario),
        adapter=Component(name="exchangeability"),
        metrics=(Component(name="contamination"),),
        main_metric="contamination",
        model=Component(name="hf:org/model"),
        eval_split=Split.TEST,
    )
    found = {"headline_log10_p": log10_p, "n_used": 30, "exchangeable": not sorted_text, "order_hash": spec.name}
    details = {} if log10_p is None else {"contamination": {"test": {"original": found}}}
    status = {"status": "ok", "error": None} if details else {"status": "failed", "error": "no file"}
    record: Any = SimpleNamespace(spec=spec, name=spec.name, details=details, started="", **status)
    found_run: RunRecord = record
    return found_run


@pytest.fixture
def records() -> list[RunRecord]:
    return [
        run("boolq", -0.5),
        run({"name": "mmlu", "subject": "anatomy"}, -1.0),
        run({"name": "mmlu", "subject": "virology"}, -2.0),
        run({"name": "mmlu", "subject": "sorted"}, -30.0, sorted_text=True),
        run({"name": "published_file", "path": "piqa/tests.jsonl"}, None),
        run({"name": "gsm8k"}, -9.0, sorted_text=True),
    ]


def test_files_of_a_benchmark_are_one_row(records: list[RunRecord]) -> None:
    table = table_2(records, "")
    assert [[row[0].text, row[1].text, row[1].detail] for row in table.rows] == [
        ["boolq", "0.316", "n = 30"],
        ["mmlu", f"{10 ** fisher([-1.0, -2.0]):.3f}", "n = 60, 2 of 3 files"],
        ["piqa", "failed", ""],
        ["gsm8k", "not testable", ""],
    ]
    assert table.records[1]["used files"] == 2
    assert table.notes[-1].kind == "failure"


def test_the_sweep_of_the_paper_is_asked() -> None:
    runs, _ = benchmark_runs(["fake:0"], "table2", 40)
    assert len(runs) == 7 + 57
    assert {spec.model.name for spec in runs} == {"fake:0"}
    assert {spec.adapter.arguments["max_examples"] for spec in runs} == {40}
    whole, _ = benchmark_runs(["fake:0"], "table2", None)
    assert {spec.adapter.arguments["max_examples"] for spec in whole} == {5000}
