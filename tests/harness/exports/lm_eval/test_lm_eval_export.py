"""Files of lm-evaluation-harness: what they can hold comes back, what they cannot is said."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import Example, GenerateRequest, Instance, Message, Response, ScoreRequest, SequenceRequest
from harness.contracts import Completion
from harness.contracts.specs import ChangedPrompt
from harness.exports.export import export_runs
from harness.exports.exporter import CannotHoldError
from harness.exports.lm_eval.documents import document, hashed, output_type
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredExample, StoredRun, stored_runs
from harness.exports.tasks import Task
from harness.imports.imported_run import Imported, write_imported
from harness.imports.lm_eval import lm_eval_files, read_lm_eval
from harness.leaderboard.columns import group_runs
from harness.plugins.registry import Registry, default_registry
from harness.storage.results import find_runs, write_run
from tests.harness.exports.round_trips import asked


@pytest.fixture(scope="session")
def registry() -> Registry:
    return default_registry()


def _back(
    results: Path, folder: Path, registry: Registry
) -> list[tuple[StoredRun, dict[str, Any], dict[str, Imported]]]:
    report, _ = export_runs(results, "lm-eval", folder)
    assert not report.refused
    runs = {run.record.name: run for run in stored_runs(results)}
    found = []
    for file in lm_eval_files(folder):
        written = json.loads(file.read_text())
        imported = {one.origin["task"]: one for one in read_lm_eval(file, "back", registry)}
        found.append((runs[written["written_by"]["run"]], written, imported))
    assert len(found) == len(runs)
    return found


def test_numbers_come_back(richer: Path, tmp_path: Path, registry: Registry) -> None:
    compared = 0
    for run, written, imported in _back(richer, tmp_path, registry):
        spec = run.record.spec
        for stat in Task.main(spec).means(run.record):
            (name, *_) = written["results"]
            stated = written["results"][name]
            metric = stat.metric.replace(",", ";")
            assert stated[f"{metric},none"] == stat.mean
            assert stated[f"{metric}_stderr,none"] == ("N/A" if stat.stderr is None else stat.stderr)
            if name in imported:
                after = {one.metric: one for one in imported[name].stats}[f"lm-eval.{metric}"]
                assert (after.mean, after.stderr) == (stat.mean, stat.stderr)
                compared += 1
            else:
                assert written["group_subtasks"][name]
    assert compared > 20


def test_prompts_answers_and_scores_come_back(richer: Path, tmp_path: Path, registry: Registry) -> None:
    compared = 0
    for run, written, imported in _back(richer, tmp_path, registry):
        split = run.record.spec.eval_split.value
        stored = [one for one in run.examples() if one.example.instance.perturbation is None]
        stored = [one for one in stored if str(one.example.instance.split) == split]
        for task, back in imported.items():
            trial = int(task.rpartition("-")[2]) if "_trial-" in task else 0
            if written["configs"][task].get(f"{ {'valid': 'validation'}.get(split, split) }_split") is None:
                continue
            before: dict[str, list[StoredExample]] = {}
            for one in stored:
                if one.example.trial == trial:
                    before.setdefault(one.example.instance.id, []).append(one)
            if "perturbation" in written["configs"][task]["metadata"]:
                continue
            assert len(back.examples) == len(before)
            for again, samples in zip(back.examples, before.values(), strict=True):
                first = samples[0].example
                generated = [[text for text, *_ in asked(one)] for one in (again.example, first)]
                assert generated[0] == generated[1]
                ours = [[text.text for sample in samples for text in sample.example.responses[place].completions]
                        for place in range(len(first.responses))]  # fmt: skip
                assert [[one.text for one in response.completions] for response in again.example.responses] == ours
                sums = [math.fsum(one.logprobs) for one in first.responses if one.logprobs is not None]
                assert [one.logprobs[0] for one in again.example.responses if one.logprobs] == pytest.approx(sums)
                for name, score in again.scores.items():
                    ours_ = name.removeprefix("lm-eval.")
                    known = [one.scores[ours_] for one in samples if ours_ in one.scores]
                    if known:  # not a metric that got our name on the way back
                        assert score == pytest.approx(sum(known) / len(known))
                        compared += 1
    assert compared > 150


def test_runs_come_back_into_their_own_columns(finished: Path, tmp_path: Path, registry: Registry) -> None:
    export_runs(finished, "lm-eval", tmp_path / "out")
    for file in lm_eval_files(tmp_path / "out"):
        for one in read_lm_eval(file, "back", registry):
            write_imported(tmp_path / "back", one)
    ours = [run.record for run in stored_runs(finished)]
    theirs = find_runs(tmp_path / "back")
    main = [record for record in theirs if record.spec.scenario.name == "quiz"]
    assert len(main) == 4
    (column,) = group_runs([*ours, *main])
    assert {record.spec.model.name for record in column.runs["{}"]} == {"fake:0", "fake:1", "lm-eval:0", "lm-eval:1"}
    for record in main:
        of = f"fake:{record.spec.model.name.removeprefix('lm-eval:')}"
        before = next(one for one in ours if one.spec.model.name == of)
        assert before.instance_scores is not None
        assert record.instance_scores is not None
        assert record.instance_scores.by_key() == before.instance_scores.by_key()
    assert {record.spec.scenario.name for record in theirs} == {"quiz", "quiz_lowercase"}


def test_variants_of_a_prompt_repeats_and_clusters_come_back(results: Path, tmp_path: Path, registry: Registry) -> None:
    record = find_runs(results)[0]
    setup = {
        "prompt_variant": ChangedPrompt(description="other words", original={"instructions": "Answer."}),
        "sampling_seed": 7,
        "cluster": "number",
    }
    write_run(replace(record, spec=record.spec.model_copy(update=setup)))
    export_runs(record.directory, "lm-eval", tmp_path / "out")
    (back,) = (
        one.spec
        for file in lm_eval_files(tmp_path / "out")
        for one in read_lm_eval(file, "back", registry)
        if one.spec.scenario == record.spec.scenario
    )
    assert {key: getattr(back, key) for key in setup} == setup


def test_samples_have_the_hash_of_their_task(richer: Path, tmp_path: Path) -> None:
    _, files = export_runs(richer, "lm-eval", tmp_path)
    for file in (file for file in files if file.name.startswith("results_")):
        written = json.loads(file.read_text())
        for task, stated in written["task_hashes"].items():
            (samples,) = file.parent.glob(f"samples_{task}_{file.stem.removeprefix('results_')}.jsonl")
            rows = [json.loads(line) for line in samples.read_text().splitlines()]
            hashes = "".join(row["doc_hash"] + row["prompt_hash"] + row["target_hash"] for row in rows)
            assert hashed(hashes) == stated
            assert [row["doc_id"] for row in rows] == list(range(len(rows)))


def test_what_has_no_place_is_said(richer: Path, tmp_path: Path) -> None:
    report, _ = export_runs(richer, "lm-eval", tmp_path)
    assert report.left_out["errors of examples"] == 1
    assert report.left_out["texts of reasoning"] == 1
    assert report.left_out["scores of single samples"] > 0
    assert report.left_out["log-probabilities of single tokens"] > 0


def test_train_trials_are_a_group_of_tasks(richer: Path, tmp_path: Path) -> None:
    _, files = export_runs(richer, "lm-eval", tmp_path)
    groups = [json.loads(file.read_text()) for file in files if file.name.startswith("results_")]
    (written,) = [one for one in groups if one["group_subtasks"] and one["model_name"] == "0"]
    assert written["group_subtasks"] == {"quiz": ["quiz_trial-0", "quiz_trial-1"]}
    values = [written["results"][name]["exact_match,none"] for name in ("quiz", "quiz_trial-0", "quiz_trial-1")]
    assert values[0] == pytest.approx((values[1] + values[2]) / 2)


def _stored(**fields: Any) -> StoredExample:
    return StoredExample(Example(instance=Instance("a", "in"), **fields), {"m,x": 0.5}, (), None)


def test_conversations_and_tasks_that_do_not_fit() -> None:
    chat = (Message("system", "Be brief."), Message("user", "Hi"))
    asked_ = GenerateRequest(chat, 5, 0.5)
    line = document([_stored(requests=(asked_,), responses=(Response((Completion("Ho"),)),), prediction="Ho")], 3,
                    ExportReport())  # fmt: skip
    (prompt,) = line["arguments"]["gen_args_0"]["arg_0"]
    assert [turn["content"] for turn in json.loads(prompt)] == ["Be brief.", "Hi"]
    assert (line["doc_id"], line["metrics"], line["m;x"], line["resps"]) == (3, ["m;x"], 0.5, [["Ho"]])
    with pytest.raises(CannotHoldError, match="in several orders"):
        output_type(_stored(requests=(SequenceRequest(("a", "b"), (1, 0)),)).example)
    with pytest.raises(CannotHoldError, match="not both"):
        output_type(_stored(requests=(asked_, ScoreRequest("a", "b"))).example)


def test_the_same_run_gives_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    _, one = export_runs(finished, "lm-eval", tmp_path / "one")
    _, other = export_runs(finished, "lm-eval", tmp_path / "other")
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in other]
