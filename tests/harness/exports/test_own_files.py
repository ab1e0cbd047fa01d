"""Our own files in other formats: imported runs share the original's column, and false numbers are refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.contracts import PROPORTION
from harness.errors import DataError
from harness.exports.export import export_runs
from harness.exports.stored_run import stored_runs
from harness.imports.every_eval_ever.files import every_eval_ever_files
from harness.imports.every_eval_ever.reader import read_every_eval_ever
from harness.imports.imported_run import Imported, Scored, write_imported
from harness.imports.inspect_ai import inspect_logs, read_inspect
from harness.imports.lighteval import lighteval_files, read_lighteval
from harness.leaderboard.columns import group_runs
from harness.plugins.registry import Registry, default_registry
from harness.statistics import clustered_mean
from harness.storage.instance_scores import cluster_number
from harness.storage.results import find_runs

READERS: dict[str, Callable[[Path, Registry], list[Imported]]] = {
    "every-eval-ever": lambda folder, registry: [
        one for file in every_eval_ever_files(folder) for one in read_every_eval_ever(file, "back", registry)
    ],
    "inspect": lambda folder, registry: [read_inspect(log, "back", registry) for log in inspect_logs(folder)],
    "lighteval": lambda folder, registry: [
        one for file in lighteval_files(folder) for one in read_lighteval(file, "back", registry)
    ],
}

FORMATS = pytest.mark.parametrize("format_", READERS)


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry()


@FORMATS
def test_an_imported_run_shares_the_column_of_its_original(
    finished: Path, tmp_path: Path, registry: Registry, format_: str
) -> None:
    export_runs(finished, format_, tmp_path / "out")
    originals = list(find_runs(finished))
    written = [write_imported(tmp_path / "back", one) for one in READERS[format_](tmp_path / "out", registry)]
    columns = group_runs([*originals, *written])
    for original in originals:
        (column,) = [one for one in columns if any(original in runs for runs in one.runs.values())]
        (again,) = [
            run for runs in column.runs.values() for run in runs
            if run.suite == "back" and run.spec.seed == original.spec.seed
            and run.spec.perturbations == original.spec.perturbations
            and run.spec.model.name.endswith(original.spec.model.name[-1])
        ]  # fmt: skip
        numbers = [
            [(stat.count, stat.mean, stat.stderr, stat.ci95, stat.category, stat.higher_is_better, stat.scale)
             for stat in run.stats if stat.overall and stat.metric == original.spec.main_metric]
            for run in (original, again)
        ]  # fmt: skip
        assert numbers[0] == numbers[1] != []
        assert again.instance_scores == original.instance_scores


@FORMATS
def test_errors_over_clusters_come_back(finished: Path, tmp_path: Path, registry: Registry, format_: str) -> None:
    run = next(run for run in stored_runs(finished) if not run.record.spec.perturbations)
    examples = []
    for place, one in enumerate(run.examples()):
        instance = one.example.instance.replace(meta={"page": place // 2})
        examples.append(Scored(replace(one.example, instance=instance), {"exact_match": float(place < 6)}))
    clusters = [cluster_number(one.example.instance.id, one.example.instance.meta, "page") for one in examples]
    found = clustered_mean([one.scores["exact_match"] for one in examples], clusters, PROPORTION)
    assert found.low is not None
    assert found.high is not None
    stat = next(stat for stat in run.record.stats if stat.metric == "exact_match" and stat.overall)
    stat = replace(
        stat, count=20, mean=found.value, stderr=found.stderr, ci95=(found.low, found.high), min=0.0, max=1.0,
        note=found.note, clusters=found.clusters,
    )  # fmt: skip
    assert stat.clusters == 10
    spec = run.record.spec.model_copy(update={"cluster": "page"})
    write_imported(tmp_path / "results", Imported(spec, [stat], {"program": "Other"}, examples))
    export_runs(tmp_path / "results", format_, tmp_path / "out")
    (back,) = READERS[format_](tmp_path / "out", registry)
    assert list(back.stats) == [stat]


Change = Callable[[dict[str, Any]], Any]


def _json(file: Path, change: Change) -> None:
    value = json.loads(file.read_text())
    change(value)
    file.write_text(json.dumps(value))


def _eval(file: Path, change: Change) -> None:
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    change(header)
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _one_run(finished: Path, folder: Path, format_: str) -> Path:
    """Export a run without perturbed copies; return its results file."""
    run = next(run for run in stored_runs(finished) if not run.record.spec.perturbations)
    _, files = export_runs(run.record.directory, format_, folder)
    return next(file for file in files if file.suffix in (".json", ".eval"))


def _main(value: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in value["evaluation_results"] if one["evaluation_result_id"].startswith("exact_match/"))


def _judged(row: dict[str, Any], score: float, *, wrongly: bool = False) -> None:
    row["evaluation"] = {"score": score, "is_correct": (score == 1) != wrongly}


def _spec(value: dict[str, Any], **changes: Any) -> None:
    details = value["eval_library"]["additional_details"]
    details["spec"] = json.dumps({**json.loads(details["spec"]), **changes})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: _main(v)["score_details"].update(score=0.9), r"score is 0\.9, but the mean of the 20 samples is"),
        (
            lambda v: _main(v)["score_details"]["uncertainty"].update(num_samples=1000),
            r"num_samples is 1,000, but there are samples of 20 instances",
        ),
        (
            lambda v: _main(v)["score_details"]["uncertainty"]["standard_error"].update(value=0.05),
            r"standard_error\.value is 0\.05, but the 20 samples give",
        ),
        (
            lambda v: _spec(v, scenario={"name": "boolq", "arguments": {}}),
            r"evaluation_name is 'quiz', but eval_library\.additional_details\.spec says 'boolq'",
        ),
        (
            lambda v: _spec(v, model={"name": "hf:gpt2", "arguments": {}}),
            r"model_info\.additional_details\.model is 'fake:.', but .*spec says 'hf:gpt2'",
        ),
        (
            lambda v: _spec(v, adapter={"name": "multiple_choice_joint", "arguments": {}}),
            r"additional_details\.method is 'generation', but .*spec says 'multiple_choice_joint'",
        ),
    ],
)
def test_a_false_file_of_every_eval_ever_is_refused(
    finished: Path, tmp_path: Path, registry: Registry, change: Change, message: str
) -> None:
    file = _one_run(finished, tmp_path, "every-eval-ever")
    _json(file, change)
    with pytest.raises(DataError, match=message) as raised:
        READERS["every-eval-ever"](tmp_path, registry)
    assert str(raised.value).startswith(f"{file}: ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: _judged(row, row["evaluation"]["score"], wrongly=True), r"is_correct is (tru|fals)e, but"),
        (lambda row: row["input"].update(raw="another question"), r"was changed: sample_hash does not match its input"),
        (lambda row: _judged(row, 1 - row["evaluation"]["score"]), r"score is .*, but the mean of the 20 samples is"),
    ],
)
def test_false_samples_are_refused_also_without_a_checksum(
    finished: Path, tmp_path: Path, registry: Registry, change: Change, message: str
) -> None:
    file = _one_run(finished, tmp_path, "every-eval-ever")
    _json(file, lambda value: value["detailed_evaluation_results"].pop("checksum"))
    samples = file.with_name(f"{file.stem}_samples.jsonl")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    change(next(row for row in rows if row["metadata"]["metric"] == "exact_match"))
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=message):
        READERS["every-eval-ever"](tmp_path, registry)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["eval"].update(task="boolq"), r"eval\.task is 'boolq', but eval\.metadata\.spec says 'quiz'"),
        (
            lambda h: h["results"]["scores"][0]["metrics"]["mean"]["metadata"].update(ci95=[0.0, 0.9]),
            r"scores\[0\]\.metrics\.mean\.metadata\.ci95 is 0 to 0\.9, but",
        ),
        (
            lambda h: h["results"]["scores"][0]["metrics"]["stderr"].update(value=0.3),
            r"scores\[0\]\.metrics\.stderr\.value is 0\.3, but the 20 samples give",
        ),
    ],
)
def test_a_false_log_is_refused(
    finished: Path, tmp_path: Path, registry: Registry, change: Change, message: str
) -> None:
    file = _one_run(finished, tmp_path, "inspect")
    _eval(file, change)
    with pytest.raises(DataError, match=message) as raised:
        READERS["inspect"](tmp_path, registry)
    assert str(raised.value).startswith(f"{file}: ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v["config_tasks"]["quiz|2"].update(hf_repo="boolq"), r"hf_repo is 'boolq', but .*spec says 'quiz'"),
        (
            lambda v: v["results"]["quiz|2"].update(exact_match_stderr=0.3),
            r"exact_match_stderr is 0\.3, but the 20 rows",
        ),
        (lambda v: v["results"]["quiz|2"].update(exact_match=17.5), r"quiz\|2\.exact_match is 17\.5, but the mean"),
    ],
)
def test_a_false_results_file_of_lighteval_is_refused(
    finished: Path, tmp_path: Path, registry: Registry, change: Change, message: str
) -> None:
    file = _one_run(finished, tmp_path, "lighteval")
    _json(file, change)
    with pytest.raises(DataError, match=message) as raised:
        READERS["lighteval"](tmp_path, registry)
    assert str(raised.value).startswith(f"{file}: ")


def test_a_gold_index_that_the_answer_contradicts_is_refused(
    finished: Path, tmp_path: Path, registry: Registry
) -> None:
    _one_run(finished, tmp_path, "lighteval")
    (details,) = tmp_path.rglob("*.parquet")
    table = pq.read_table(details)
    rows = table.to_pylist()
    rows[0]["doc"]["gold_index"] = [99]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), details)
    with pytest.raises(DataError, match=r"row 1 \(doc\.gold_index is \[99\], but doc\.specific\.holistic-harness says"):
        READERS["lighteval"](tmp_path, registry)
