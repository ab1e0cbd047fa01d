"""Files of lighteval: what they can hold comes back, what they cannot is said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness import Example, GenerateRequest, Instance, Message, Response, ScoreRequest, SequenceRequest
from harness.contracts import Completion, Origin
from harness.exports.export import export_runs
from harness.exports.exporter import CannotHoldError
from harness.exports.lighteval.details import method_of, row_of
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredExample, StoredRun, stored_runs
from harness.exports.tasks import Task
from harness.imports.imported_run import Imported
from harness.imports.lighteval import lighteval_files, read_lighteval
from harness.plugins.registry import Registry, default_registry
from tests.harness.exports.round_trips import asked


@pytest.fixture(scope="session")
def registry() -> Registry:
    return default_registry()


def _back(
    results: Path, folder: Path, registry: Registry
) -> list[tuple[StoredRun, dict[str, Any], dict[str, Imported]]]:
    report, _ = export_runs(results, "lighteval", folder)
    assert not report.refused
    runs = {run.record.name: run for run in stored_runs(results)}
    found = []
    for file in lighteval_files(folder):
        written = json.loads(file.read_text())
        imported = {one.origin["task"]: one for one in read_lighteval(file, "back", registry)}
        found.append((runs[written["config_general"]["written_by"]["run"]], written, imported))
    assert len(found) == len(runs)
    return found


def test_numbers_come_back(richer: Path, tmp_path: Path, registry: Registry) -> None:
    compared = 0
    for run, _, imported in _back(richer, tmp_path, registry):
        (main, *_) = imported.values()
        after = {one.metric: one for one in main.stats}
        for stat in Task.main(run.record.spec).means(run.record):
            found = after[stat.metric]
            assert found.mean == pytest.approx(stat.mean, abs=1e-12)
            assert found.stderr == stat.stderr
            if stat.metric == "exact_match" and run.record.provenance.get("origin") is None:
                assert found.count == stat.count
            compared += 1
    assert compared > 25


def test_prompts_answers_and_scores_come_back(richer: Path, tmp_path: Path, registry: Registry) -> None:
    compared = 0
    for run, _, imported in _back(richer, tmp_path, registry):
        before: dict[tuple[str, int], list[StoredExample]] = {}
        for one in run.examples():
            example = one.example
            if Task.of(example) == Task.main(run.record.spec):
                before.setdefault((example.instance.id, example.trial), []).append(one)
        (main, *_) = imported.values()
        assert len(main.examples) == len(before)
        for again in main.examples:
            found = again.example
            samples = before[found.instance.id, found.trial]
            first = samples[0].example
            assert [text for text, *_ in asked(found)] == [text for text, *_ in asked(first)]
            assert found.instance.input == first.instance.input
            assert [one.correct for one in found.instance.references] == [one.correct for one in first.references]
            sums = [math.fsum(one.logprobs) for one in first.responses if one.logprobs is not None]
            assert [math.fsum(one.logprobs) for one in found.responses if one.logprobs] == pytest.approx(sums)
            texts = [c.text for one in samples for answer in one.example.responses for c in answer.completions]
            assert [c.text for answer in found.responses for c in answer.completions] == texts
            logprobs = [c.logprob for one in samples for answer in one.example.responses for c in answer.completions]
            if None not in logprobs:
                assert [c.logprob for answer in found.responses for c in answer.completions] == logprobs
            thoughts = [c.reasoning for one in samples for answer in one.example.responses for c in answer.completions]
            assert [c.reasoning for answer in found.responses for c in answer.completions] == thoughts
            for name, score in again.scores.items():
                ours = name.removeprefix("lighteval.")
                known = [one.scores[ours] for one in samples if ours in one.scores]
                assert score == pytest.approx(sum(known) / len(known))
                compared += 1
    assert compared > 200


def test_what_has_no_place_is_said(richer: Path, tmp_path: Path) -> None:
    report, _ = export_runs(richer, "lighteval", tmp_path)
    assert report.left_out["errors of examples"] == 1
    assert report.left_out["scores of single samples"] > 0
    assert report.left_out["reasons why answers ended, token counts and calls of tools"] > 0


def test_files_are_where_lighteval_looks_for_them(finished: Path, tmp_path: Path) -> None:
    _, files = export_runs(finished, "lighteval", tmp_path)
    for file in files:
        root, kind, model, *rest = file.relative_to(tmp_path / "small").parts
        assert root.startswith("quiz,")
        assert model in ("0", "1")
        if kind == "details":
            date, name = rest
            assert name in (f"details_quiz|2_{date}.parquet", f"details_quiz_lowercase|2_{date}.parquet")
            assert pq.read_table(file).num_rows == 20
        else:
            assert rest[0].startswith("results_")


def _stored(requests: tuple[Any, ...], responses: tuple[Response, ...], **fields: Any) -> StoredExample:
    example = Example(instance=Instance("a", "in", meta={"x": 1}), requests=requests, responses=responses, **fields)
    return StoredExample(example, {"m": 0.5}, (), None)


def test_conversations_calibration_and_tasks_that_do_not_fit() -> None:
    chat = GenerateRequest((Message("user", "Hi"),), 5)
    row = row_of([_stored((chat,), (Response((Completion("Ho", logprob=-1.0),)),))], "t|0", ExportReport())
    assert json.loads(row["doc"]["query"]) == [{"role": "user", "content": "Hi"}]
    assert (row["model_response"]["text"], row["model_response"]["logprobs"]) == (["Ho"], [-1.0])
    assert json.loads(row["doc"]["specific"]["meta"]) == {"x": 1}
    pairs = [(context, role) for role, context in (("original", "Q"), ("calibration", "A:"))]
    scores = tuple(
        ScoreRequest(context, text, origin=Origin("a", reference=place, role=role))
        for context, role in pairs for place, text in enumerate((" x", " y"))
    )  # fmt: skip
    answers = tuple(Response(logprobs=(float(-place), -1.0)) for place in range(4))
    row = row_of([_stored(scores, answers, choice_scores=(1.0, 2.0))], "t|0", ExportReport())
    assert (row["doc"]["query"], row["doc"]["choices"], row["doc"]["unconditioned_query"]) == ("Q", [" x", " y"], "A:")
    assert row["model_response"]["logprobs"] == [-1.0, -2.0]
    assert row["model_response"]["unconditioned_logprobs"] == [-3.0, -4.0]
    for requests, message in (
        ((SequenceRequest(("a", "b"), (1, 0)),), "in several orders"),
        ((chat, ScoreRequest("a", "b")), "not both"),
        ((chat, chat), "in several turns"),
    ):
        with pytest.raises(CannotHoldError, match=message):
            method_of(_stored(requests, ()).example)


def test_the_same_run_gives_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    _, one = export_runs(finished, "lighteval", tmp_path / "one")
    _, other = export_runs(finished, "lighteval", tmp_path / "other")
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in other]
