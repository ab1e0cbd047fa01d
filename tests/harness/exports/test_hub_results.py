"""Results for repositories of models on the Hub: what its own library reads back, of scenarios that are there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results

from harness.contracts.specs import Component
from harness.errors import HarnessError
from harness.exports.export import export_runs
from harness.exports.exporter import CannotHoldError
from harness.exports.hub_results import HubOptions, eval_result_entry, hub_data
from harness.exports.model_identity import model_identity
from harness.exports.stored_run import StoredRun, stored_runs
from harness.imports.hub_results import hub_files, read_hub
from harness.imports.imported_run import write_imported
from harness.leaderboard.columns import group_runs
from harness.plugins.registry import Registry, default_registry
from harness.storage.results import find_runs
from tests.harness.cli.conftest import SCENARIO

HUB = 'hub: {path: "made-up/quiz", revision: "%s", splits: {valid: validation}}' % ("a" * 40)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The quiz as a data set on the Hub."""
    text = SCENARIO.replace("source: {", f"source: {{{HUB}, ")
    file = tmp_path / "plugin" / "quiz.yaml"
    file.parent.mkdir()
    file.write_text(text)
    return file


@pytest.fixture
def registry(plugin: Path) -> Registry:
    found = Registry()
    found.load_path(plugin)
    assert found.problems == []
    return found


def _changed(run: StoredRun, **provenance: Any) -> StoredRun:
    return StoredRun(replace(run.record, provenance={**run.record.provenance, **provenance}))


def test_each_run_has_a_file_that_the_hub_reads(finished: Path, plugin: Path, tmp_path: Path) -> None:
    report, files = export_runs(
        finished, "eval-results", tmp_path / "out", plugins=[plugin],
        settings={"source_url": "https://example.org/results", "source_name": "Results", "developer": "acme"},
    )  # fmt: skip
    assert (report.runs, report.refused) == (4, [])
    by_digest = {run.record.spec.digest: run for run in stored_runs(finished)}
    for file in files:
        assert file.parent.name == ".eval_results"
        assert file.parent.parent.parent.name == "acme"
        (entry,) = parse_eval_result_entries(yaml.safe_load(file.read_text()))
        run = by_digest[file.stem.rpartition("-")[2]]
        main = run.main_stat
        assert main is not None
        assert entry == EvalResultEntry(
            dataset_id="made-up/quiz",
            task_id="default",
            value=main.mean,
            date=run.record.finished,
            source_url="https://example.org/results",
            source_name="Results",
            notes=entry.notes,
        )
        assert f"n={main.count}" in str(entry.notes)


def test_what_is_not_on_the_hub_is_refused_by_name(finished: Path, tmp_path: Path) -> None:
    report, files = export_runs(finished, "eval-results", tmp_path / "out")
    assert (report.runs, files, len(report.unsupported)) == (0, [], 4)
    assert report.unsupported[0].endswith("the scenario quiz does not name a data set on the Hub.")


def test_sample_data_is_not_the_benchmark(finished: Path, registry: Registry) -> None:
    (run, *_) = stored_runs(finished)
    with pytest.raises(CannotHoldError, match="it evaluated sample data, not the benchmark"):
        hub_data(_changed(run, data={"kind": "sample", "sample": True}), registry)


def test_a_revision_is_named_only_if_it_was_read(finished: Path, registry: Registry) -> None:
    (run, *_) = stored_runs(finished)
    assert hub_data(run, registry).revision is None  # files of the data's authors were read
    read = {"kind": "hub", "sample": False, "path": "made-up/quiz", "config": "hard", "revision": "b" * 40}
    data = hub_data(_changed(run, data=read), registry)
    assert (data.path, data.config, data.split, data.revision) == ("made-up/quiz", "hard", "validation", "b" * 40)
    entry = eval_result_entry(_changed(run, data=read), registry, HubOptions())
    assert (entry.task_id, entry.dataset_revision) == ("hard", "b" * 40)
    assert eval_result_entry(run, registry, HubOptions(task_id="quiz_easy")).task_id == "quiz_easy"


def test_a_source_needs_an_address(finished: Path, registry: Registry) -> None:
    (run, *_) = stored_runs(finished)
    with pytest.raises(HarnessError, match="source_name needs source_url"):
        eval_result_entry(run, registry, HubOptions(source_name="Results"))


def test_a_card_has_every_overall_result(finished: Path, plugin: Path, tmp_path: Path) -> None:
    report, files = export_runs(finished, "model-index", tmp_path / "out", plugins=[plugin])
    assert report.runs == 4
    assert sorted(file.relative_to(tmp_path / "out").as_posix() for file in files) == [
        "local/0/README.md", "local/1/README.md",
    ]  # fmt: skip
    for file in files:
        metadata = yaml.safe_load(file.read_text().split("---\n")[1])
        name, results = model_index_to_eval_results(metadata["model-index"])
        runs = [run for run in stored_runs(finished) if run.record.spec.model.name == f"fake:{name}"]
        wanted = [stat for run in runs for stat in run.record.stats if stat.overall]
        assert sorted(one.metric_value for one in results) == sorted(stat.mean for stat in wanted)
        assert {one.dataset_type for one in results} == {"made-up/quiz"}


@pytest.mark.parametrize("format_", ["eval-results", "model-index"])
def test_main_results_come_back(finished: Path, plugin: Path, tmp_path: Path, format_: str) -> None:
    export_runs(finished, format_, tmp_path / "out", plugins=[plugin])
    back = [one for file in hub_files(tmp_path / "out") for one in read_hub(file, "hub", default_registry())]
    for one in back:
        write_imported(tmp_path / "again", one)
    assert len(back) == 4
    values = sorted(next(stat.mean for stat in one.stats if stat.metric == one.spec.main_metric) for one in back)
    mains = [run.main_stat for run in stored_runs(finished)]
    assert values == sorted(stat.mean for stat in mains if stat is not None)
    assert {one.spec.scenario.name for one in back} == {"made-up-quiz"}
    records = find_runs(tmp_path / "again")
    (column,) = group_runs(records)
    assert len({record.spec.model.name for record in column.runs["{}"]}) == 2
    assert {record.spec.perturbations != () for record in records} == {True, False}
    counts = {stat.count for one in back for stat in one.stats if stat.metric == one.spec.main_metric}
    assert counts == {20}


@pytest.mark.parametrize(
    ("model", "provenance", "expected"),
    [
        ("hf:models/tiny", {"access": "local weights"}, "local/models_tiny"),
        ("hf:openai-community/gpt2", {"access": "open weights"}, "openai-community/gpt2"),
    ],
)
def test_the_path_of_a_checkpoint_is_not_its_developer(
    finished: Path, model: str, provenance: dict[str, str], expected: str
) -> None:
    run = stored_runs(finished)[0]
    spec = run.record.spec.model_copy(update={"model": Component(name=model)})
    changed = _changed(StoredRun(replace(run.record, spec=spec)), model=provenance)
    identity = model_identity(changed)
    assert (identity.id, identity.on_hub) == (expected, "open" in provenance["access"])


@pytest.mark.parametrize("format_", ["eval-results", "model-index"])
def test_split_and_model_come_back(
    finished: Path, plugin: Path, registry: Registry, tmp_path: Path, format_: str
) -> None:
    export_runs(finished, format_, tmp_path / "out", plugins=[plugin])
    back = [one for file in hub_files(tmp_path / "out") for one in read_hub(file, "hub", registry)]
    assert {one.spec.model.name for one in back} == {"hub:local/0", "hub:local/1"}
    assert {one.spec.eval_split for one in back} == {run.record.spec.eval_split for run in stored_runs(finished)}
