"""Table 2 of Oren et al. 2023: benchmarks and open models, with one p-value for the files of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.contamination.lab.paper import FOLDER
from harness.contamination.order_tests import JudgedTest, combined, judged_tests
from harness.contamination.p_values import shown_p
from harness.contamination.statistics.verdict import Verdict
from harness.contracts.specs import RunSpec
from harness.output.display import brief
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote
from harness.plugins.registry import Registry
from harness.storage.results import RunRecord
from harness.sweeps.load import find_sweep, load_sweep

SWEEP = "contamination"
"""The sweep that comes with the harness and has the benchmarks of table 2."""

FILE_SOURCES: Mapping[str, str] = {
    "lambada/lambada_test.jsonl": "https://huggingface.co/datasets/EleutherAI/lambada_openai",
    "natural_qa/NQ-open.efficientqa.test.1.1.jsonl": (
        "https://github.com/google-research-datasets/natural-questions, folder nq_open"
    ),
    "piqa/tests.jsonl": "https://yonatanbisk.com/piqa",
}
"""Where to get the files that the sweep names by their path in the data folder."""


def benchmark_runs(models: Sequence[str], suite: str, examples: int | None) -> tuple[list[RunSpec], Registry]:
    """Return the runs that test models on the benchmarks of table 2.

    Args:
        models: The models, ``backend:identifier``.
        suite: The name of the suite.
        examples: Largest number of examples to test of each file; None for all.

    Raises:
        SpecError: A model is wrong.
    """
    sweep, registry = load_sweep(find_sweep(SWEEP), models=models, suite=suite)
    runs = [spec for spec in sweep.runs if not str(spec.scenario.arguments.get("path", "")).startswith(FOLDER)]
    if examples is None:
        return runs, registry
    return [
        spec.model_copy(
            update={
                "adapter": spec.adapter.model_copy(
                    update={"arguments": {**spec.adapter.arguments, "max_examples": examples}}
                )
            }
        )
        for spec in runs
    ], registry  # fmt: skip


def table_2(records: Iterable[RunRecord], examples: str) -> ResultTable:
    """Return the p-value of each benchmark and model; of a benchmark's files together, by Fisher's method."""
    rows: dict[str, dict[str, list[RunRecord]]] = {}
    records = list(records)
    for record in records:
        rows.setdefault(_benchmark(record), {}).setdefault(record.spec.model.label, []).append(record)
    models = list(dict.fromkeys(record.spec.model.label for record in records))
    judged = {model: [test for test in tests if test.counts] for model, tests in judged_tests(records).items()}
    found = {
        model: {
            name: _Together(
                rows[name].get(model, []),
                [test for test in judged.get(model, []) if _benchmark(test.record) == name],
            )
            for name in rows
        }
        for model in models
    }
    values = [
        {
            "benchmark": name,
            "model": model,
            "files": len(found[model][name].records),
            "used files": len(found[model][name].valid),
            "n": found[model][name].examples,
            "log10 p": found[model][name].log10_p,
        }
        for name in rows
        for model in models
    ]
    notes = [
        TableNote(
            "p of the published order, and the number of examples. A benchmark of several files has one row: Fisher's "
            f"combination of the files that can be tested, and how many these are. {Verdict.NOT_TESTABLE}: the text "
            f"alone shows that the order is not random, or there are too few examples. {examples}".strip()
        )
    ]
    if any(record.status != "ok" for record in records):
        notes.append(TableNote("failed: the test could not be run; the messages above say why.", "failure"))
    return ResultTable(
        columns=[
            TableColumn(("benchmark",), repeated=True, limit=36),
            *(TableColumn((short_model(model),), numeric=True, movable=True) for model in models),
        ],
        rows=[[TableCell(name), *(found[model][name].cell for model in models)] for name in rows],
        notes=notes,
        caption="Benchmarks and models.",
        fields=("benchmark", "model", "files", "used files", "n", "log10 p"),
        records=values,
        value=values,
    )


@dataclass(frozen=True, slots=True)
class _Together:
    """The runs of one model on the files of one benchmark, and the tests that count."""

    records: Sequence[RunRecord]
    valid: Sequence[JudgedTest]

    @property
    def examples(self) -> int:
        return sum(int(test.found["n_used"]) for test in self.valid)

    @property
    def log10_p(self) -> float | None:
        return combined(self.valid) if self.valid else None

    @property
    def cell(self) -> TableCell:
        if self.log10_p is None:
            failed = all(record.status != "ok" for record in self.records)
            return TableCell("failed" if failed else str(Verdict.NOT_TESTABLE))
        files = f", {len(self.valid)} of {len(self.records)} files" if len(self.records) > 1 else ""
        return TableCell(shown_p(self.log10_p), detail=f"n = {self.examples:,}{files}")


def _benchmark(record: RunRecord) -> str:
    """Return the name of a row: the scenario without its parameters, or the folder of the file that a run names."""
    scenario = record.spec.scenario
    return str(scenario.arguments.get("path", "")).rpartition("/")[0].rpartition("/")[2] or scenario.name


def short_model(model: str) -> str:
    """Return a model's name without the folders before it."""
    return brief(model.rpartition("/")[2], 24)
