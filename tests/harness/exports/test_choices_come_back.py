"""Answer options that other programs could confuse: an export imported again has the same references and answers."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.contracts import (
    PROPORTION,
    Completion,
    Example,
    GenerateRequest,
    Instance,
    Origin,
    Reference,
    Response,
    ScoreRequest,
    Split,
    Stat,
)
from harness.contracts.specs import Component, RunSpec
from harness.exports.exporter import make_exporter
from harness.exports.output_folder import OutputFolder
from harness.exports.report import ExportReport
from harness.exports.stored_run import stored_runs
from harness.imports.every_eval_ever.files import every_eval_ever_files
from harness.imports.every_eval_ever.reader import read_every_eval_ever
from harness.imports.helm import helm_runs, read_helm
from harness.imports.imported_run import Imported, Scored, write_imported
from harness.imports.inspect_ai import inspect_logs, read_inspect
from harness.imports.lighteval import lighteval_files, read_lighteval
from harness.imports.lm_eval import lm_eval_files, read_lm_eval
from harness.plugins.registry import Registry

NOTHING = Registry()

READERS: dict[str, Callable[[Path], Iterator[Imported]]] = {
    "every-eval-ever": lambda folder: (
        one for file in every_eval_ever_files(folder) for one in read_every_eval_ever(file, "back", NOTHING)
    ),
    "helm": lambda folder: (read_helm(run, "back", NOTHING, "rightness") for run in helm_runs(folder)),
    "inspect": lambda folder: (read_inspect(log, "back", NOTHING) for log in inspect_logs(folder)),
    "lighteval": lambda folder: (
        one for file in lighteval_files(folder) for one in read_lighteval(file, "back", NOTHING)
    ),
    "lm-eval": lambda folder: (one for file in lm_eval_files(folder) for one in read_lm_eval(file, "back", NOTHING)),
}

FORMATS = pytest.mark.parametrize("format_", READERS)


def _run(examples: list[Example]) -> Imported:
    scored = [Scored(one, {"rightness": float(one.chose_correctly)}) for one in examples]
    stats = []
    for changed in dict.fromkeys(one.instance.perturbation for one in examples):
        scores = [one.scores["rightness"] for one in scored if one.example.instance.perturbation == changed]
        mean = math.fsum(scores) / len(scores)
        stat = Stat("rightness", "accuracy", "test", changed, len(scores), mean, None, None, None, None)
        stats.append(replace(stat, scale=PROPORTION, computed_on="perturbed" if changed else "original"))
    spec = RunSpec(
        suite="small",
        scenario=Component(name="quiz"),
        adapter=Component(name="generation"),
        metrics=(Component(name="rightness"),),
        main_metric="rightness",
        model=Component(name="hf:gpt2"),
        eval_split=Split.TEST,
        perturbations=tuple(Component(name=stat.perturbation) for stat in stats if stat.perturbation),
    )
    return Imported(spec, stats, {"program": "Other", "version": "1"}, scored)


def _back(format_: str, examples: list[Example]) -> tuple[dict[str, Example], ExportReport]:
    """The examples as they are after an export and an import, by the instance's id."""
    report = ExportReport()
    with tempfile.TemporaryDirectory() as folder:
        write_imported(Path(folder, "results"), _run(examples))
        with OutputFolder(Path(folder, "out")) as out:
            make_exporter(format_, {}, NOTHING).export(stored_runs(Path(folder, "results")), out, report)
        assert (report.refused, report.unsupported) == ([], [])
        runs = list(READERS[format_](Path(folder, "out")))
    return {one.example.instance.id: one.example for run in runs for one in run.examples}, report


def _answer(example: Example) -> dict[str, Any]:
    names = ("prediction", "choice", "choices", "choice_scores", "unread", "labels", "readings", "probability")
    return {"references": example.references, **{name: getattr(example, name) for name in names}}


options = st.sampled_from([*"ABCDEabc0123", "26", "27", "no", "a long long answer", "No", "A, B", "(A)"])
kinds = st.sampled_from(["asked", "scored", "calibrated"])


@st.composite
def choices(draw: st.DrawFn, id: str) -> Example:
    """An example of multiple choice; texts of options are unique, of up to 30."""
    texts = draw(st.lists(options, min_size=2, max_size=5, unique=True))
    if draw(st.booleans()):
        texts += [f"option {index}" for index in range(28)]
    count = len(texts)
    correct = draw(st.sets(st.integers(0, count - 1), max_size=3))
    references = tuple(
        Reference(text, index in correct, draw(st.none() | st.integers(0, 2))) for index, text in enumerate(texts)
    )
    instance = Instance(id, "Which?", references, meta=draw(st.sampled_from([{}, {"choice": 1, "correct": "x"}])))
    choice = draw(st.none() | st.integers(0, count - 1))
    prediction = draw(options) if choice is None else texts[choice]
    kind = draw(kinds)
    if kind == "asked":
        labels = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi"[:count]) if draw(st.booleans()) else ()
        written = draw(options)
        return Example(
            instance,
            (GenerateRequest("Which?", 5, 0.5, origin=Origin(id)),),
            (Response((Completion(written),)),),
            prediction,
            (prediction,),
            choice,
            choices=draw(st.sampled_from([None, (), (0, 1)])),
            unread=choice is None and draw(st.booleans()),
            readings=draw(st.sampled_from([{}, {"strict": None, "flexible": "A"}])),
            labels=labels,
        )
    roles = ["original", "calibration"] if kind == "calibrated" else ["original"]
    requests = tuple(
        ScoreRequest("Q" if role == "original" else "", f" {text}", origin=Origin(id, reference=place, role=role))
        for role in roles
        for place, text in enumerate(texts)
    )  # fmt: skip
    logprobs = st.lists(st.floats(-9, -0.1), min_size=1, max_size=4).map(tuple)
    scores = draw(st.lists(st.floats(-9, 0), min_size=count, max_size=count))
    choice = scores.index(max(scores))
    return Example(
        instance,
        requests,
        tuple(Response(logprobs=draw(logprobs)) for _ in requests),
        texts[choice],
        (texts[choice],),
        choice,
        choice_scores=tuple(scores),
        probability=draw(st.none() | st.floats(0, 1)),
    )


@st.composite
def several(draw: st.DrawFn) -> list[Example]:
    """Examples of one method, since a task asks the same way about all."""
    first = draw(choices("id-0"))
    rest = [draw(choices(f"id-{number}")) for number in range(1, draw(st.integers(1, 5)))]
    same = [one for one in rest if len({type(request) for request in (*one.requests, *first.requests)}) == 1]
    return [first, *same]


@FORMATS
@given(examples=several())
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_references_and_answers_come_back(format_: str, examples: list[Example]) -> None:
    found, _ = _back(format_, examples)
    assert {id: _answer(one) for id, one in found.items()} == {one.instance.id: _answer(one) for one in examples}


def _scored_by_length(id: str, **instance: Any) -> Example:
    """The longer option has the better score for each of its tokens, but not in total."""
    texts = ("a long long answer", "no")
    return Example(
        Instance(id, "Which?", (Reference(texts[0], correct=True), Reference(texts[1])), **instance),
        tuple(ScoreRequest("Q", f" {text}", origin=Origin(id, reference=place)) for place, text in enumerate(texts)),
        (Response(logprobs=(-1.0,) * 4), Response(logprobs=(-2.0,))),
        texts[0],
        (texts[0],),
        0,
        choice_scores=(-1.0, -2.0),
    )


@FORMATS
def test_options_scored_by_length_keep_their_choice(format_: str) -> None:
    plain = _scored_by_length("one")
    found, _ = _back(format_, [plain])
    assert _answer(found["one"]) == _answer(plain)


@FORMATS
def test_perturbed_copies_which_are_a_task_of_their_own_keep_their_choice(format_: str) -> None:
    examples = [_scored_by_length("one"), _scored_by_length("two", perturbation="typos")]
    found, _ = _back(format_, examples)
    assert _answer(found["two"]) == _answer(examples[1])


def test_the_score_of_an_impossible_option_comes_back() -> None:
    example = replace(_scored_by_length("one"), choice_scores=(-1.0, -math.inf))
    found, _ = _back("lm-eval", [example])
    assert found["one"].choice_scores == (-1.0, -math.inf)


@pytest.mark.parametrize("format_", ["helm", "lighteval", "lm-eval"])
def test_choices_of_later_samples_are_said_to_be_left_out(format_: str) -> None:
    first = Example(
        Instance("one", "Which?", (Reference("A"), Reference("B", correct=True))),
        (GenerateRequest("Which?", 5, 0.5, origin=Origin("one")),),
        (Response((Completion("The second"),)),),
        "B",
        ("B",),
        1,
    )
    other = replace(first, prediction="A", predictions=("A",), choice=0, sample=1)
    found, report = _back(format_, [first, other])
    assert (found["one"].choice, found["one"].predictions) == (1, ("B", "A"))
    assert report.left_out["choices of later samples"] == 1
