"""Files of lm-evaluation-harness: what they can hold comes back, what they cannot is said."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from harness import Example, GenerateRequest, Instance, Message, Response, ScoreRequest, SequenceRequest
from harness.contracts import Completion
from harness.contracts.specs import ChangedPrompt
from harness.errors import DataError
from harness.exports.export import export_runs
from harness.exports.exporter import CannotHoldError
from harness.exports.lm_eval.documents import document, hashed, output_type
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredExample, StoredRun, stored_runs
from harness.exports.tasks import Task, is_plain
from harness.imports.imported_run import Imported, write_imported
from harness.imports.lm_eval import lm_eval_files, read_lm_eval
from harness.leaderboard.columns import group_runs
from harness.plugins.registry import Registry, default_registry
from harness.storage.results import find_runs, write_run
from tests.harness.exports.round_trips import asked


@pytest.fixture(scope="session")
def registry() -> Registry:
    return default_registry()


def _back(results: Path, folder: Path, registry: Registry) -> list[tuple[StoredRun, dict[str, Any], Imported]]:
    report, _ = export_runs(results, "lm-eval", folder)
    assert not report.refused
    runs = {run.record.name: run for run in stored_runs(results)}
    found = []
    for file in lm_eval_files(folder):
        written = json.loads(file.read_text())
        (imported,) = read_lm_eval(file, "back", registry)
        found.append((runs[written["written_by"]["run"]], written, imported))
    assert len(found) == len(runs)
    return found


def test_numbers_come_back_once(richer: Path, tmp_path: Path, registry: Registry) -> None:
    compared = 0
    for run, written, imported in _back(richer, tmp_path, registry):
        plain = {(one.metric, one.split, one.perturbation): one for one in run.record.stats if is_plain(one)}
        after = {(one.metric, one.split, one.perturbation): one for one in imported.stats}
        assert len(after) == len(imported.stats)
        assert after.keys() == plain.keys()
        for key, stat in plain.items():
            assert (after[key].mean, after[key].stderr) == (stat.mean, stat.stderr)
            assert (after[key].computed_on, after[key].higher_is_better) == (stat.computed_on, stat.higher_is_better)
            compared += 1
        (name, *_) = written["results"]
        stated = written["results"][name]
        for stat in Task.main(run.record.spec).means(run.record):
            assert stated[f"{stat.metric.replace(',', ';')},none"] == stat.mean
    assert compared > 20


def test_prompts_answers_and_scores_come_back(richer: Path, tmp_path: Path, registry: Registry) -> None:
    compared = 0
    for run, _, imported in _back(richer, tmp_path, registry):
        before: dict[tuple[Any, ...], list[StoredExample]] = {}
        for one in run.examples():
            instance = one.example.instance
            place = (instance.split, instance.perturbation, one.example.trial, instance.id)
            before.setdefault(place, []).append(one)
        assert len(imported.examples) == len(before)
        for back in imported.examples:
            again = back.example
            instance = again.instance
            samples = before[instance.split, instance.perturbation, again.trial, instance.id]
            first = samples[0].example
            assert [[text for text, *_ in asked(one)] for one in (again,)] == [[text for text, *_ in asked(first)]]
            ours = [[text.text for sample in samples for text in sample.example.responses[place].completions]
                    for place in range(len(first.responses))]  # fmt: skip
            assert [[one.text for one in response.completions] for response in again.responses] == ours
            sums = [math.fsum(one.logprobs) for one in first.responses if one.logprobs is not None]
            assert [one.logprobs[0] for one in again.responses if one.logprobs] == pytest.approx(sums)
            for name, score in back.scores.items():
                known = [one.scores[name] for one in samples if name in one.scores]
                assert score == pytest.approx(sum(known) / len(known))
                compared += 1
    assert compared > 150


def test_train_trials_and_copies_come_back_as_one_run(richer: Path, finished: Path, registry: Registry) -> None:
    for results in (richer, finished):
        for run in stored_runs(results):
            if run.record.provenance.get("origin") is not None:
                continue
            with TemporaryDirectory() as folder:
                export_runs(run.record.directory, "lm-eval", Path(folder))
                (file,) = lm_eval_files(Path(folder))
                (back,) = read_lm_eval(file, run.record.suite, registry)
                record = write_imported(Path(folder, "back"), back)
            spec = run.record.spec
            assert back.spec.model_copy(update={"model": spec.model}).identity == spec.identity
            assert record.instance_scores is not None
            assert run.record.instance_scores is not None
            assert record.instance_scores.by_key() == run.record.instance_scores.by_key()


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
    assert len(theirs) == 4


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


# Our own files that lie


def _exported(results: Path, folder: Path, model: str) -> tuple[Path, dict[str, Any]]:
    export_runs(results, "lm-eval", folder)
    for file in lm_eval_files(folder):
        written = json.loads(file.read_text())
        if written["group_subtasks"] and written["model_name"] == model:
            return file, written
    raise AssertionError("no run has train trials")


@pytest.mark.parametrize(
    ("task", "key", "value", "message"),
    [
        ("quiz", "exact_match,none", 0.9, r"results\.quiz\.exact_match,none is 0\.9, but the mean of the 20 documents"),
        ("quiz_trial-1", "exact_match,none", 0.9, r"results\.quiz_trial-1\.exact_match,none is 0\.9, but the mean of"),
        ("quiz", "exact_match_stderr,none", 1e-4, r"results\.quiz\.exact_match_stderr,none is 0\.0001, but the 20 doc"),
        ("quiz", "exact_match_stderr,none", -1, r"results\.quiz\.exact_match_stderr,none must be at least 0, not -1"),
        ("quiz", "sample_len", 12.7, r"results\.quiz\.sample_len must be a whole number, not 12\.7"),
    ],
)
def test_numbers_of_trials_that_contradict_the_samples_are_refused(
    richer: Path, tmp_path: Path, registry: Registry, task: str, key: str, value: float, message: str
) -> None:
    file, written = _exported(richer, tmp_path, "0")
    assert key in written["results"][task]
    written["results"][task][key] = value
    file.write_text(json.dumps(written))
    with pytest.raises(DataError, match=message):
        list(read_lm_eval(file, "back", registry))


def test_two_lines_of_one_instance_are_refused(richer: Path, tmp_path: Path, registry: Registry) -> None:
    file, _ = _exported(richer, tmp_path, "0")
    samples = next(iter(file.parent.glob("samples_quiz_trial-0_*")))
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    rows[1]["doc"]["id"] = rows[0]["doc"]["id"]
    del rows[1]["doc_hash"]
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=r"samples_quiz_trial-0_.*, row 2: document .* is listed twice \(doc\.id\)"):
        list(read_lm_eval(file, "back", registry))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"correct": [99]}, r"doc\.answer \(there are only \d references\)"),
        ({"correct": [0], "choice": 7}, r"doc\.answer \(there are only \d references\)"),
        ({"correct": 1}, r"doc\.answer \(it has an unexpected value\)"),
        ("zzz", r"doc\.answer: must be a mapping, not 'zzz'"),
    ],
)
def test_answers_out_of_range_are_refused(
    richer: Path, tmp_path: Path, registry: Registry, answer: object, message: str
) -> None:
    file, _ = _exported(richer, tmp_path, "0")
    samples = next(iter(file.parent.glob("samples_quiz_trial-0_*")))
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    rows[0]["doc"]["answer"] = answer
    del rows[0]["doc_hash"]
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=rf"samples_quiz_trial-0_.*, row 1: .*{message}"):
        list(read_lm_eval(file, "back", registry))


def test_a_setup_of_another_shape_is_named(richer: Path, tmp_path: Path, registry: Registry) -> None:
    file, written = _exported(richer, tmp_path, "0")
    written["configs"]["quiz_trial-1"]["metadata"]["perturbation"] = 5
    file.write_text(json.dumps(written))
    with pytest.raises(DataError, match=r"configs\.quiz_trial-1\.metadata\.perturbation: must be text, not 5"):
        list(read_lm_eval(file, "back", registry))
