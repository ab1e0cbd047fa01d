"""What is exported to Every Eval Ever and imported again is what it was: statistics, examples, settings."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.contracts import (
    BOUNDED,
    COUNT,
    PROPORTION,
    Completion,
    Example,
    GenerateRequest,
    Instance,
    Judgement,
    Message,
    Reference,
    Request,
    Response,
    Scale,
    ScoreRequest,
    Split,
    Stat,
    Tool,
    ToolCall,
)
from harness.contracts.specs import Component, RunSpec
from harness.exports.every_eval_ever.exporter import EveryEvalEverExporter
from harness.exports.every_eval_ever.options import EveryEvalEverOptions
from harness.exports.exporter import CannotHoldError
from harness.exports.output_folder import OutputFolder
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredRun, stored_runs
from harness.imports.every_eval_ever.files import every_eval_ever_files
from harness.imports.every_eval_ever.reader import read_every_eval_ever
from harness.imports.every_eval_ever.validation import problem
from harness.imports.imported_run import Imported, Scored, write_imported
from harness.plugins.registry import Registry, default_registry
from harness.statistics import mean_estimate
from harness.storage.encoding import encode_example

NOTHING = Registry()


def _back(results: Path, folder: Path) -> dict[str, Imported]:
    """Return what an export of a results folder is imported as, by the name of the run; all of it is valid."""
    report = ExportReport()
    with OutputFolder(folder) as out:
        EveryEvalEverExporter(EveryEvalEverOptions(), NOTHING).export(stored_runs(results), out, report)
    assert report.refused == []
    found = {}
    for file in every_eval_ever_files(folder):
        (imported,) = read_every_eval_ever(file, "small", NOTHING)
        found[imported.spec.name] = imported
    return found


def _same_run(run: StoredRun, back: Imported) -> None:
    assert back.spec.model_dump() == run.record.spec.model_copy(update={"operational": {}}).model_dump()
    assert list(back.stats) == list(run.record.stats)
    assert back.efficiency == run.record.efficiency
    assert (back.started, back.finished) == (run.record.started, run.record.finished)
    before = [(encode_example(one.example), one.scores) for one in run.examples() if one.scores]
    assert [(encode_example(one.example), one.scores) for one in back.examples] == before


def test_real_runs_come_back(finished: Path, tmp_path: Path) -> None:
    back = _back(finished, tmp_path / "out")
    for run in stored_runs(finished):
        _same_run(run, back[run.record.name])
    for imported in back.values():
        record = write_imported(tmp_path / "again", imported)
        assert record.provenance["origin"]["program"] == "holistic-harness"
    for run, again in zip(stored_runs(finished), stored_runs(tmp_path / "again"), strict=True):
        assert again.record.instance_scores == run.record.instance_scores
        assert again.record.name == run.record.name


def test_instances_that_depend_on_each_other_still_do(finished: Path, tmp_path: Path) -> None:
    (run, *_) = stored_runs(finished)
    examples = [
        Scored(replace(one.example, instance=one.example.instance.replace(meta={"page": place // 2})), one.scores)
        for place, one in enumerate(run.examples())
    ]
    spec = run.record.spec.model_copy(update={"cluster": "page"})
    before = write_imported(tmp_path / "results", Imported(spec, run.record.stats, {"program": "Other"}, examples))
    (back,) = _back(tmp_path / "results", tmp_path / "out").values()
    after = write_imported(tmp_path / "again", back)
    assert before.instance_scores is not None
    assert before.instance_scores.packed_clusters
    assert after.instance_scores == before.instance_scores


def test_an_import_exported_again_names_the_program_that_evaluated(tmp_path: Path) -> None:
    foreign = Path(__file__).parents[2] / "imports" / "data" / "every_eval_ever"
    for file in every_eval_ever_files(foreign):
        for imported in read_every_eval_ever(file, "small", default_registry()):
            write_imported(tmp_path / "results", imported)
    back = _back(tmp_path / "results", tmp_path / "out")
    assert len(back) == 4
    for run in stored_runs(tmp_path / "results"):
        _same_run(run, back[run.record.name])
    written = json.loads(every_eval_ever_files(tmp_path / "out")[0].read_text())
    assert (written["eval_library"]["name"], written["eval_library"]["version"]) == ("lm_eval", "0.4.13")


# Made-up runs

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)
counts = st.integers(0, 10**6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words, lambda one: st.lists(one, max_size=2)
)


@st.composite
def stats(draw: st.DrawFn) -> list[Stat]:
    found = {}
    for _ in range(draw(st.integers(1, 4))):
        scale: Scale | None = draw(st.sampled_from([None, PROPORTION, BOUNDED, COUNT, Scale("bounded", -5.0, 5.0)]))
        kinds: list[Literal["original", "perturbed", "worst", "drop"]] = ["original", "perturbed", "worst", "drop"]
        on = draw(st.sampled_from(kinds))
        mean = abs(draw(numbers)) if scale is COUNT and on != "drop" else draw(st.floats(0, 1))
        if scale is None:
            mean = draw(numbers)
        low = draw(st.floats(-1, 1))
        one = Stat(
            metric=draw(st.sampled_from(["rightness", "rightness (flexible)", "bleu@4"])),
            category=draw(st.sampled_from(["accuracy", "robustness", "other"])),
            split=draw(st.sampled_from(["train", "valid", "test"])),
            perturbation=None if on == "original" else draw(st.sampled_from(["typos", "dialect"])),
            count=draw(counts),
            mean=mean,
            stderr=draw(st.none() | st.floats(0, 1)),
            ci95=draw(st.none() | st.just((min(mean, mean / 2), max(mean, mean / 2)))),
            min=draw(st.none() | st.just(low)),
            max=draw(st.none() | st.just(low + 1)),
            higher_is_better=draw(st.sampled_from([True, False, None])),
            missing=draw(st.integers(0, 9)),
            computed_on=on,
            group=draw(st.none() | st.just("language=de")),
            note=draw(words),
            scale=scale,
            clusters=draw(st.none() | st.integers(1, 99)),
        )
        found[(one.metric, one.split, one.perturbation, one.computed_on, one.group)] = one
    return list(found.values())


calls = st.builds(ToolCall, st.just("search"), st.dictionaries(words, json_values, max_size=2) | words, words)
roles = st.sampled_from(["system", "user", "assistant", "tool"])
turn = st.builds(Message, roles, words, st.lists(calls, max_size=1).map(tuple), words)
messages = st.lists(turn, min_size=1, max_size=3).map(tuple)
generate = st.builds(
    GenerateRequest,
    words | messages,
    max_tokens=st.integers(1, 99),
    temperature=st.floats(0, 2),
    stop=st.lists(words, max_size=2).map(tuple),
    top_p=st.none() | st.floats(0, 1),
    prefill=words,
    tools=st.lists(st.builds(Tool, words, words, st.dictionaries(words, json_values, max_size=1)), max_size=1).map(
        tuple
    ),
)
score = st.builds(ScoreRequest, words | messages, words)
completions = st.builds(
    Completion,
    words,
    logprob=st.none() | st.floats(-50, -0.1),
    tokens=st.none() | counts,
    finish_reason=st.sampled_from(["stop", "length", "unknown", "refusal", "tool_call"]),
    reasoning=words,
    tool_calls=st.lists(calls, max_size=1).map(tuple),
    top_logprobs=st.lists(st.dictionaries(words, st.floats(-9, 0), max_size=2), max_size=2).map(tuple),
)
responses = st.builds(
    Response,
    st.lists(completions, max_size=2).map(tuple),
    logprobs=st.none() | st.lists(st.floats(-9, 0), max_size=3).map(tuple),
    prompt_tokens=st.none() | counts,
    completion_tokens=st.none() | counts,
    seconds=st.floats(0, 100),
    truncated=st.booleans(),
    error=st.none() | words,
)


@st.composite
def examples(draw: st.DrawFn, name: str) -> Scored:
    references = draw(st.lists(st.builds(Reference, words, st.booleans(), st.none() | st.integers(0, 3)), max_size=4))
    asked: list[Request] = draw(st.lists(generate | score, max_size=3))
    example = Example(
        instance=Instance(
            name,
            draw(words),
            tuple(references),
            Split(draw(st.sampled_from(["train", "valid", "test"]))),
            draw(st.sampled_from([None, "typos"])),
            meta=draw(st.dictionaries(words, json_values, max_size=2)),
        ),
        requests=tuple(asked),
        responses=tuple(draw(responses) for _ in asked),
        prediction=draw(words),
        predictions=tuple(draw(st.lists(words, max_size=2))),
        choice=draw(st.sampled_from([None, *range(len(references))])),
        choice_scores=draw(st.none() | st.lists(st.floats(-9, 0), max_size=3).map(tuple)),
        probability=draw(st.none() | st.floats(0, 1)),
        unread=draw(st.booleans()),
        readings=draw(st.dictionaries(words, st.none() | words, max_size=2)),
        labels=tuple(draw(st.lists(words, max_size=2))),
        trial=draw(st.integers(0, 2)),
        sample=draw(st.integers(0, 2)),
        truncated=draw(st.booleans()),
    )
    scores = draw(st.dictionaries(st.sampled_from(["rightness", "other"]), st.sampled_from([0.0, 1.0]), min_size=1))
    said = Judgement("anna", draw(words), draw(st.none() | st.just(0.5)), draw(st.none() | st.just((0.0, 1.0))))
    judged = draw(st.booleans()) and "rightness" in scores
    return Scored(example, scores, judgements=(("rightness", said),) if judged else ())


def _of_scores(stat: Stat, made: list[Scored]) -> Stat:
    """The statistic with the numbers that the samples give, if they have its score."""
    found = [
        one.scores[stat.metric]
        for one in made
        if stat.metric in one.scores
        and (one.example.instance.split, one.example.instance.perturbation) == (stat.split, stat.perturbation)
    ]
    if not found or stat.group is not None or stat.computed_on not in ("original", "perturbed"):
        return stat
    estimate = mean_estimate(found, stat.scale)
    ends = None if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)
    return replace(
        stat, count=len(found), mean=estimate.value, stderr=estimate.stderr, ci95=ends, min=min(found), max=max(found)
    )


@st.composite
def imported_runs(draw: st.DrawFn) -> Imported:
    spec = RunSpec(
        suite="small",
        scenario=Component(name="quiz", arguments=draw(st.dictionaries(st.just("subject"), words))),
        adapter=Component(name="generation", arguments={"max_tokens": draw(st.integers(0, 9)), "text": draw(words)}),
        metrics=(Component(name="rightness"),),
        main_metric="rightness",
        model=Component(name=draw(st.sampled_from(["hf:gpt2", "vllm:Qwen/Qwen3-0.6B", "openai:gpt-5", "helm:a/b"]))),
        eval_split=Split.TEST,
    )  # fmt: skip
    made = [draw(examples(f"id-{number}")) for number in range(draw(st.integers(0, 3)))]
    found = [_of_scores(stat, made) for stat in draw(stats())]
    return Imported(spec, found, {"program": "Other", "version": "1"}, made, {"examples": len(made)})


@given(imported_runs())
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_made_up_runs_come_back(made: Imported) -> None:
    with tempfile.TemporaryDirectory() as folder:
        record = write_imported(Path(folder, "results"), made)
        (back,) = _back(Path(folder, "results"), Path(folder, "out")).values()
        assert list(back.stats) == list(made.stats)
        assert back.spec == made.spec
        before = [(encode_example(one.example), one.scores, one.judgements) for one in made.examples]
        assert [(encode_example(one.example), one.scores, tuple(one.judgements)) for one in back.examples] == before
        for file in every_eval_ever_files(Path(folder, "out")):
            assert problem(json.loads(file.read_text(encoding="utf-8")), "aggregate") is None
        assert record.examples is None or record.examples.count == len(made.examples)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_json_lacks_are_never_written(finished: Path, tmp_path: Path, value: float) -> None:
    (run, *_) = stored_runs(finished)
    damaged = replace(run.record, stats=[replace(run.record.stats[0], mean=value)], directory=tmp_path / "r")
    exporter = EveryEvalEverExporter(EveryEvalEverOptions(), NOTHING)
    with OutputFolder(tmp_path / "out") as folder, pytest.raises(CannotHoldError, match="infinite or undefined"):
        exporter.export_run(StoredRun(damaged), folder, ExportReport())
