"""A sweep ends whatever happens in it; the same command again asks nothing twice and changes nothing."""

from __future__ import annotations

import importlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import Component, RunSpec
from harness.errors import StorageError
from harness.inference.cache import ResponseCache
from harness.inference.cache_file import CacheError
from harness.models.offline.fake import FakeModel
from harness.plugins.decorators import ATTRIBUTE
from harness.plugins.registry import Registry, default_registry
from harness.runs.rescoring import rescored
from harness.runs.runner import Settings, run_sweep
from harness.runs.sweep_state import RunState, SweepState
from harness.storage.example_files import read_examples
from harness.storage.results import RunRecord, find_runs, read_run

SCENARIO = """\
name: quiz
title: Quiz
description: Made-up yes/no questions.
citation: Made up for these tests.
taxonomy: {task: question answering, what: numbers, who: nobody, when: now, language: English}
source: {files: {train: quiz/train.jsonl, valid: quiz/valid.jsonl}}
id: "{{ id }}"
input: "Is {{ number }} even?"
references: ["Yes", "No"]
correct: "{{ 'Yes' if number % 2 == 0 else 'No' }}"
adapter: {method: generation, max_tokens: 2}
metrics: [exact_match]
main_metric: exact_match
eval_split: valid
"""


class Silent(SweepState):
    """A sweep's state that remembers more than views need."""

    def __init__(self) -> None:
        super().__init__()
        self.planned_examples: list[int] = []
        self.skipped_runs: list[str] = []
        self.finished_runs: list[str] = []

    def plan(self, run: RunState, examples: int) -> None:
        super().plan(run, examples)
        self.planned_examples.append(examples)

    def skip(self, record: RunRecord) -> None:
        super().skip(record)
        self.skipped_runs.append(record.name)

    def end(self, record: RunRecord, run: RunState | None = None) -> None:
        super().end(record, run)
        self.finished_runs.append(record.name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the scenario and its data, 5 train and 30 evaluation instances."""
    (tmp_path / "quiz.yaml").write_text(SCENARIO)
    (tmp_path / "quiz").mkdir()
    for split, count in (("train", 5), ("valid", 30)):
        rows = [json.dumps({"id": f"{split}-{number}", "number": number}) for number in range(count)]
        (tmp_path / "quiz" / f"{split}.jsonl").write_text("\n".join(rows) + "\n")
    return tmp_path


@pytest.fixture
def registry(folder: Path) -> Registry:
    return default_registry([folder / "quiz.yaml"])


def spec(model: str = "fake:0", arguments: dict[str, Any] | None = None, **changes: Any) -> RunSpec:
    fields: dict[str, Any] = {
        "suite": "test",
        "scenario": Component(name="quiz"),
        "adapter": Component(name="generation", arguments={"max_train_instances": 2, "max_tokens": 2}),
        "metrics": (Component(name="exact_match"), Component(name="efficiency")),
        "main_metric": "exact_match",
        "model": Component(name=model, arguments=arguments or {}),
        "eval_split": "valid",
    }
    return RunSpec.model_validate({**fields, **changes})


Sweep = Callable[..., list[RunRecord]]

MODELS = ("fake:0", "fake:1")


@pytest.fixture
def sweep(folder: Path, registry: Registry) -> Sweep:
    def run(*specs: RunSpec, watcher: Silent | None = None, results: str = "results", force: bool = False) -> Any:
        settings = Settings(folder / results, folder, force)
        return list(run_sweep(specs, registry, settings, watcher or Silent()))

    return run


def asked(log: Path) -> list[str]:
    return log.read_text().split()


def comparable(record: RunRecord) -> dict[str, Any]:
    """Return what of a run.json must not depend on when and how often it was run."""
    value = json.loads((record.directory / "run.json").read_text())
    value["stats"] = [stat for stat in value["stats"] if "seconds" not in stat["metric"]]
    return {key: value[key] for key in ("name", "suite", "status", "error", "spec", "stats", "schema_version")}


def lines(record: RunRecord) -> list[tuple[Any, ...]]:
    return [
        (example.instance, example.requests, example.prediction, example.train_instances, scores)
        for example, scores, _ in read_examples(record)
    ]


def test_a_run_is_recorded_whole(sweep: Sweep, folder: Path) -> None:
    (record,) = sweep(spec())
    value = json.loads((record.directory / "run.json").read_text())
    assert record.directory.parent == folder / "results" / "test"
    assert record.directory.name.endswith(record.spec.digest)
    assert (value["status"], value["error"], value["schema_version"]) == ("ok", None, 2)
    assert value["spec"]["scenario"] == {"name": "quiz"}
    (stat,) = [stat for stat in value["stats"] if stat["metric"] == "exact_match"]
    assert (stat["count"], stat["split"], stat["perturbation"], stat["category"]) == (30, "valid", None, "accuracy")
    assert stat["ci95"][0] <= stat["mean"] <= stat["ci95"][1]
    assert value["efficiency"]["queries"] == value["efficiency"]["examples"] == 30
    assert value["provenance"]["model"]["fingerprint"]["seed"] == "0"
    (worker,) = value["provenance"]["workers"]
    assert (worker["host"], worker["pid"]) == (platform.node(), os.getpid())
    assert value["provenance"]["data"]["sample"] is False
    assert {Path(file["path"]).name for file in value["provenance"]["data"]["files"]} == {"train.jsonl", "valid.jsonl"}
    assert value["started"] <= value["finished"]


def test_a_run_counts_what_was_declined(sweep: Sweep, folder: Path) -> None:
    (record,) = sweep(spec(arguments={"decline_every": 4}, max_declined=1))
    marked = [example.declined for example, _, _ in read_examples(record)]
    counted = Counter(kind for kind in marked if kind is not None)
    assert counted, "the fake declined nothing"
    value = json.loads((record.directory / "run.json").read_text())
    assert value["declined"] == {
        "examples": counted.total(),
        "of": 30,
        "kinds": counted,
        "groups": [{"split": "valid", "perturbation": None, "of": 30, "kinds": counted}],
    }
    assert record.status == "ok"
    assert read_run(record.directory).declined.kinds == counted
    # Declined examples are scored: an unanswered question is not a correct one.
    (stat,) = [stat for stat in record.stats if stat.metric == "exact_match"]
    assert (stat.count, stat.missing) == (30, 0)


def test_too_many_fail_the_run_until_the_limit_is_raised(sweep: Sweep, folder: Path, registry: Registry) -> None:
    log = folder / "log"
    model = {"decline_every": 2, "log": str(log)}
    (failed,) = sweep(spec(arguments=model))
    asked = log.read_text().split()
    share = failed.declined.share
    assert share > 0.1
    assert failed.status == "failed"
    assert failed.error is not None
    assert failed.error.startswith(f"{failed.declined.examples} of 30 answers were declined (")
    limit = float(failed.error.partition("--max-declined ")[2].partition(",")[0])
    assert share <= limit <= share + 0.01
    assert f"max_declined: {limit:g}" in failed.error
    assert rescored(failed, registry).status == "failed"
    (accepted,) = sweep(spec(arguments=model, max_declined=limit))
    assert (accepted.status, accepted.directory) == ("ok", failed.directory)
    assert log.read_text().split() == asked, "the same questions were asked again"
    assert rescored(accepted, registry).declined == accepted.declined == failed.declined
    (lowered,) = sweep(spec(arguments=model, max_declined=0))
    assert lowered.status == "failed"
    assert log.read_text().split() == asked


def test_the_limit_is_not_part_of_a_runs_identity() -> None:
    assert spec().name == spec(max_declined=0.5).name


def test_a_run_is_not_repeated_for_another_pace(sweep: Sweep, folder: Path) -> None:
    log = folder / "asked"
    (first,) = sweep(spec(operational={"log": str(log)}))
    watcher = Silent()
    (again,) = sweep(spec(operational={"log": str(log), "delay": 0.001}), watcher=watcher)
    assert watcher.skipped_runs == [first.name] == [again.name]
    assert len(asked(log)) == 30
    assert len(find_runs(folder / "results")) == 1


def test_examples_hold_what_was_asked_and_answered(sweep: Sweep) -> None:
    (record,) = sweep(spec())
    examples = list(read_examples(record))
    assert [example.instance.id for example, _, _ in examples] == [f"valid-{number}" for number in range(30)]
    example, scores, error = examples[3]
    assert error is None
    assert set(scores) == {"exact_match"}
    assert len(example.train_instances) == 2
    (request,) = example.requests
    assert "Is 3 even?" in str(getattr(request, "prompt", ""))


def test_a_finished_run_is_skipped_and_the_same_model_asked_nothing(sweep: Sweep, folder: Path) -> None:
    log = {"log": str(folder / "log")}
    sweep(spec(arguments=log))
    watcher = Silent()
    (again,) = sweep(spec(arguments=log), watcher=watcher)
    assert watcher.skipped_runs == [again.name]
    assert len(asked(folder / "log")) == 30


def test_force_runs_again_from_the_cache(sweep: Sweep, folder: Path) -> None:
    log = {"log": str(folder / "log")}
    (first,) = sweep(spec(arguments=log))
    before = comparable(first)
    watcher = Silent()
    (again,) = sweep(spec(arguments=log), watcher=watcher, force=True)
    assert watcher.finished_runs == [again.name]
    assert comparable(again) == before
    assert again.efficiency["cached_queries"] == 30
    assert len(asked(folder / "log")) == 30


def test_changed_data_are_run_again(sweep: Sweep, folder: Path) -> None:
    sweep(spec())
    file = folder / "quiz" / "valid.jsonl"
    file.write_text(file.read_text() + json.dumps({"id": "valid-30", "number": 30}) + "\n")
    watcher = Silent()
    (again,) = sweep(spec(), watcher=watcher)
    assert watcher.skipped_runs == []
    assert again.efficiency["examples"] == 31


def test_a_changed_scenario_is_run_again(sweep: Sweep, folder: Path) -> None:
    sweep(spec())
    file = folder / "quiz.yaml"
    file.write_text(file.read_text().replace("even", "odd"))
    registry = default_registry([file])
    watcher = Silent()
    (again,) = run_sweep([spec()], registry, Settings(folder / "results", folder), watcher)
    assert watcher.skipped_runs == []
    assert "odd?" in next(read_examples(again))[0].instance.input


def test_an_undefined_main_metric_is_a_failed_run(sweep: Sweep) -> None:
    (record,) = sweep(spec(main_metric="f1_score"))
    assert record.status == "failed"
    assert "no metric gave the main metric 'f1_score' for any of 30 examples" in str(record.error)
    (misspelt,) = sweep(spec(main_metric="exactmatch"))
    assert str(misspelt.error).endswith("Did you mean 'exact_match'?")


def test_one_failing_run_does_not_take_the_sweep_down(sweep: Sweep, folder: Path) -> None:
    records = sweep(
        spec(),
        spec(eval_split="test"),
        spec(model="hf:./no/such/checkpoint"),
        spec(model="nothing:x"),
        spec(seed=1),
    )
    # What cannot start at all comes first; the runs of one model go together, and end in any order.
    assert [record.status for record in records[:2]] == ["failed", "failed"]
    assert sorted(record.status for record in records[2:]) == ["failed", "ok", "ok"]
    errors = {record.spec.model.name: record.error for record in records if record.error}
    assert "no instances in split test" in str(errors["fake:0"])
    assert "no/such/checkpoint" in str(errors["hf:./no/such/checkpoint"])
    assert "nothing" in str(errors["nothing:x"])
    assert len(find_runs(folder / "results")) == 5


def test_what_cannot_start_is_told_before_anything_is_asked(sweep: Sweep, folder: Path) -> None:
    log = {"log": str(folder / "log")}
    nowhere = Component(name="bbq", arguments={"subject": "Age"})
    records = sweep(spec(arguments=log), spec(arguments=log, scenario=nowhere))
    assert [record.status for record in records] == ["failed", "ok"]


def test_a_method_that_the_model_cannot_answer_fails_its_run_before_anything_is_asked(sweep: Sweep) -> None:
    pytest.importorskip("openai")
    scores = Component(name="multiple_choice_separate_original")
    batches = {"base_url": "http://127.0.0.1:9/v1", "batch": True}
    (record,) = sweep(spec("openai:x", batches, adapter=scores))
    assert record.status == "failed"
    assert "openai:x: batches only generate, but the method scores" in (record.error or "")


def test_a_file_that_is_edited_while_the_sweep_runs_is_not_what_ran(
    folder: Path, registry: Registry, sweep: Sweep
) -> None:
    file = folder / "quiz.yaml"

    class Editing(Silent):
        def plan(self, run: RunState, examples: int) -> None:
            file.write_text(file.read_text().replace("even", "odd"))

    list(run_sweep([spec()], registry, Settings(folder / "results", folder), Editing()))
    watcher = Silent()
    list(run_sweep([spec()], default_registry([file]), Settings(folder / "results", folder), watcher))
    assert watcher.skipped_runs == []


def test_a_request_that_fails_is_recorded_on_its_example(sweep: Sweep) -> None:
    (record,) = sweep(spec(arguments={"fail_every": 7}))
    failed = [error for _, _, error in read_examples(record) if error]
    assert 0 < len(failed) < 30
    assert record.status == "failed"
    assert f"{len(failed)} of 30 examples have no answer" in str(record.error)
    (stat,) = [stat for stat in record.stats if stat.metric == "exact_match"]
    assert stat.count == 30 - len(failed)


def test_a_limit_takes_the_same_instances_in_any_order_of_the_file(sweep: Sweep, folder: Path) -> None:
    (first,) = sweep(spec(max_eval_instances=7))
    file = folder / "quiz" / "valid.jsonl"
    file.write_text("\n".join(reversed(file.read_text().splitlines())) + "\n")
    (second,) = sweep(spec(max_eval_instances=7), results="reversed")
    ids = [{example.instance.id for example, _, _ in read_examples(record)} for record in (first, second)]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 7


def test_the_seed_changes_neither_the_instances_nor_their_copies(sweep: Sweep) -> None:
    typos = (Component(name="typos", arguments={"prob": 0.5}),)
    first, second = sweep(*(spec(max_eval_instances=7, perturbations=typos, seed=seed) for seed in (0, 1)))

    def asked(record: RunRecord) -> list[tuple[str, str]]:
        return [(example.instance.id, example.instance.input) for example, _, _ in read_examples(record)]

    assert asked(first) == asked(second)


def test_another_instance_seed_takes_other_instances(sweep: Sweep) -> None:
    first, second = sweep(spec(max_eval_instances=7), spec(max_eval_instances=7, instance_seed=1))
    ids = [{example.instance.id for example, _, _ in read_examples(record)} for record in (first, second)]
    assert ids[0] != ids[1]


def test_perturbed_copies_follow_their_original_and_are_counted_apart(sweep: Sweep) -> None:
    watcher = Silent()
    perturbations = (Component(name="lowercase"), Component(name="typos", arguments={"prob": 0.5}))
    (record,) = sweep(spec(perturbations=perturbations), watcher=watcher)
    examples = [example.instance for example, _, _ in read_examples(record)]
    assert [instance.perturbation for instance in examples[:3]] == [None, "lowercase", "typos"]
    assert {instance.id for instance in examples[:3]} == {"valid-0"}
    assert examples[1].input == "is 0 even?"
    exact = [stat for stat in record.stats if stat.metric == "exact_match"]
    counts = {stat.perturbation: stat.count for stat in exact if stat.computed_on in {"original", "perturbed"}}
    assert counts == {None: 30, "lowercase": 30, "typos": 30}
    assert watcher.planned_examples == [90]
    assert watcher.answered == pytest.approx(90)


def test_groups_that_no_instance_has_fail_the_run(sweep: Sweep) -> None:
    (record,) = sweep(spec(groups=("identities",)))
    assert record.status == "failed"
    assert record.error is not None
    assert "has the key 'identities' in its meta to group by" in record.error


def test_a_perturbation_that_has_no_copy_of_anything_fails_the_run(sweep: Sweep) -> None:
    (record,) = sweep(spec(perturbations=(Component(name="contrast_sets"),)))
    assert record.status == "failed"
    assert record.error is not None
    assert "perturbation 'contrast_sets' changes none of the 30 instances" in record.error
    assert "harness show perturbation contrast_sets" in record.error


def test_trials_use_other_examples_and_count_each_instance_once(sweep: Sweep) -> None:
    adapter = Component(name="generation", arguments={"max_train_instances": 2, "max_tokens": 2, "train_trials": 3})
    (record,) = sweep(spec(adapter=adapter))
    shots = {example.trial: example.train_instances for example, _, _ in read_examples(record)}
    assert set(shots) == {0, 1, 2}
    assert len(set(shots.values())) > 1
    (stat,) = [stat for stat in record.stats if stat.metric == "exact_match"]
    assert stat.count == 30
    assert record.efficiency["examples"] == 90


def test_a_run_keeps_its_main_metrics_scores_by_instance_for_boards(sweep: Sweep, registry: Registry) -> None:
    adapter = Component(name="generation", arguments={"max_train_instances": 2, "max_tokens": 2, "train_trials": 3})
    both = [sweep(spec(model, adapter=adapter, perturbations=(Component(name="typos"),)))[0] for model in MODELS]
    assert both[0].instance_scores is not None
    assert both[1].instance_scores is not None
    assert both[0].instance_scores.keys == both[1].instance_scores.keys
    for record in both:
        assert record.instance_scores is not None
        assert len(record.instance_scores) == 30
        means: dict[str, list[float]] = {}
        for example, scores, _ in read_examples(record):
            if example.instance.perturbation is None:
                means.setdefault(example.instance.id, []).append(scores["exact_match"])
        found = sorted(record.instance_scores.scores().tolist())
        assert found == pytest.approx(sorted(sum(scores) / 3 for scores in means.values()))
        assert read_run(record.directory) == record
        assert rescored(record, registry).instance_scores == record.instance_scores


# ---------------------------------------------------------------------------------------------------------------
# What is skipped, and what is not


def test_a_run_without_its_examples_is_run_again(sweep: Sweep) -> None:
    (record,) = sweep(spec())
    (record.directory / "examples.jsonl.gz").unlink()
    watcher = Silent()
    sweep(spec(), watcher=watcher)
    assert watcher.skipped_runs == []
    assert len(lines(record)) == 30


@pytest.mark.parametrize(
    "damage",
    [
        lambda value: "",
        lambda value: json.dumps(value)[:-1],
        lambda value: "[]",
        lambda value: "[" * 100_000,
        lambda value: json.dumps({**value, "provenance": None}),
        lambda value: json.dumps({**value, "provenance": {**value["provenance"], "model": None, "data": []}}),
        lambda value: json.dumps({**value, "provenance": {**value["provenance"], "data": {"files": 7}}}),
        lambda value: json.dumps({**value, "status": "fine"}),
        lambda value: json.dumps({**value, "stats": None}),
        lambda value: json.dumps({key: value[key] for key in value if key != "spec"}),
        lambda value: json.dumps({**value, "schema_version": 0}),
        lambda value: json.dumps({**value, "more": 1}),
        lambda value: json.dumps({**value, "instance_scores": {"keys": "MTIzNDU2", "scores": ""}}),
    ],
)
def test_a_damaged_record_is_run_again(sweep: Sweep, damage: Callable[[dict[str, Any]], str]) -> None:
    (record,) = sweep(spec())
    before = comparable(record)
    file = record.directory / "run.json"
    file.write_text(damage(json.loads(file.read_text())))
    watcher = Silent()
    (again,) = sweep(spec(), watcher=watcher)
    assert watcher.skipped_runs == []
    assert comparable(again) == before


def test_another_version_is_run_again(sweep: Sweep) -> None:
    (record,) = sweep(spec())
    file = record.directory / "run.json"
    file.write_text(file.read_text().replace(f'"holistic-harness": "{version("holistic-harness")}"', '"other": "0"'))
    watcher = Silent()
    sweep(spec(), watcher=watcher)
    assert watcher.skipped_runs == []


PLUGIN = '''\
"""A scenario that computes its instances, and metrics."""

import sys
from collections.abc import Iterator

from harness import Data, Example, Instance, Reference, Source, metric, scenario


@scenario(
    "sums",
    title="Sums",
    source="Made up.",
    data=Source(),
    adapter={"method": "generation", "max_tokens": 3, "max_train_instances": 0},
    metrics=["exact_match"],
    main_metric="exact_match",
    taxonomy=dict.fromkeys(("task", "what", "who", "when", "language"), "made up"),
)
def sums(data: Data, *, different: int = 10) -> Iterator[Instance]:
    """Sums."""
    for number in range(10):
        yield Instance(f"sum-{number % different}", f"{number}+{number}=", (Reference(str(2 * number), True),))


@metric("exits", category="accuracy", source="Made up.")
def exits(example: Example) -> float:
    """Ends the process at the third example."""
    if example.instance.id == "sum-2":
        sys.exit(3)
    return 1.0
'''


def computed(**changes: Any) -> RunSpec:
    arguments = changes.pop("arguments", {})
    adapter = Component(name="generation", arguments={"max_train_instances": 0, "max_tokens": 3})
    scenario = Component(name="sums", arguments=changes.pop("scenario", {}))
    return spec(arguments=arguments, **{"scenario": scenario, "adapter": adapter, "eval_split": "test", **changes})


@pytest.fixture
def computing(folder: Path) -> Sweep:
    (folder / "sums.py").write_text(PLUGIN)
    registry = default_registry([folder / "sums.py"])

    def run(*specs: RunSpec, watcher: Silent | None = None, data_dir: Path | None = None) -> list[RunRecord]:
        return list(run_sweep(specs, registry, Settings(folder / "results", data_dir), watcher or Silent()))

    return run


def test_a_scenario_may_compute_its_instances_and_is_skipped_like_any_other(computing: Sweep) -> None:
    (record,) = computing(computed())
    assert (record.status, record.error) == ("ok", None)
    assert record.efficiency["examples"] == 10
    assert record.provenance["data"] == {"kind": "computed", "sample": False, "files": []}
    watcher = Silent()
    computing(computed(), watcher=watcher)
    assert watcher.skipped_runs == [record.name]


def test_an_id_that_two_instances_have_is_refused(computing: Sweep) -> None:
    (record,) = computing(computed(scenario={"different": 7}))
    assert record.status == "failed"
    assert "two instances of split test the id 'sum-0'" in str(record.error)


def test_a_metric_that_exits_fails_its_run_alone(computing: Sweep) -> None:
    exits = (Component(name="exact_match"), Component(name="exits"))
    first, second = computing(computed(metrics=exits), computed())
    assert (first.status, second.status) == ("failed", "ok")
    assert "metric 'exits'" in str(first.error)
    assert "instance 'sum-2'" in str(first.error)
    assert first.efficiency["queries"] == 3


def test_a_changed_module_that_a_plugin_uses_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = folder / "counted"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "counting.py").write_text("def count(text):\n    return float(len(text))\n")
    (package / "measures.py").write_text(
        "from counted.counting import count\nfrom harness import metric\n\n\n"
        "@metric('counted', category='accuracy', source='Made up.')\n"
        "def counted(example):\n    '''Counted.'''\n    return count(example.prediction)\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    measures = importlib.import_module("counted.measures")

    def as_in_a_new_process() -> Registry:
        registry = default_registry([folder / "quiz.yaml"])
        registry.add(vars(measures.counted)[ATTRIBUTE])
        return registry

    one = spec(metrics=(Component(name="counted"),), main_metric="counted")
    list(run_sweep([one], as_in_a_new_process(), Settings(folder / "results", folder), Silent()))
    for changed, skipped in ((False, 1), (True, 0)):
        if changed:
            (package / "counting.py").write_text("def count(text):\n    return 2.0 * len(text)\n")
        watcher = Silent()
        list(run_sweep([one], as_in_a_new_process(), Settings(folder / "results", folder), watcher))
        assert len(watcher.skipped_runs) == skipped


# ---------------------------------------------------------------------------------------------------------------
# What is left on disk


def test_a_run_that_fails_leaves_no_examples_of_an_earlier_attempt(sweep: Sweep, folder: Path) -> None:
    (record,) = sweep(spec())
    (folder / "quiz" / "valid.jsonl").write_text('{"id": "valid-0", "number": "no number"}\n')
    (again,) = sweep(spec())
    assert again.status == "failed"
    assert [path.name for path in record.directory.iterdir()] == ["run.json"]


def test_what_a_killed_process_left_half_written_is_cleared(sweep: Sweep) -> None:
    (record,) = sweep(spec())
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host = platform.node()
    abandoned = record.directory / f".examples.jsonl.gz.{host}.{gone.pid}"
    alive = record.directory / f".examples.jsonl.gz.{host}.{os.getppid()}"
    elsewhere = record.directory / f".examples.jsonl.gz.not-{host}.{gone.pid}"
    for file in (abandoned, alive, elsewhere):
        file.write_text("")
    sweep(spec(), force=True)
    assert not abandoned.exists()
    assert alive.exists()
    assert elsewhere.exists()


def test_a_disk_that_fails_stops_the_sweep_and_spoils_no_record(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (record,) = sweep(spec())
    before = (record.directory / "run.json").read_text()

    def full(*_: Any) -> None:
        raise CacheError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(ResponseCache, "put", full)
        with pytest.raises(StorageError, match="full"):
            sweep(spec(model="fake:1"), spec(model="fake:2"))
    assert (record.directory / "run.json").read_text() == before
    assert len(find_runs(folder / "results")) == 1
    assert [one.status for one in sweep(spec(model="fake:1"), spec(model="fake:2"))] == ["ok", "ok"]


def test_a_folder_that_cannot_be_made_is_one_message(sweep: Sweep, folder: Path) -> None:
    (folder / "results" / "test").mkdir(parents=True)
    (folder / "results" / "test" / spec().name).write_text("in the way")
    with pytest.raises(StorageError, match=rf"{spec().name}.*cannot be written"):
        sweep(spec())


def test_what_the_model_cuts_counts_as_truncated(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    respond = FakeModel._respond
    monkeypatch.setattr(FakeModel, "_respond", lambda self, request: replace(respond(self, request), truncated=True))
    (record,) = sweep(spec())
    assert all(example.truncated for example, _, _ in read_examples(record))
    assert record.efficiency["truncated_examples"] == 30


KILLED = """
import sys
from pathlib import Path
from harness.plugins.registry import default_registry
from harness.runs.runner import Settings, run_sweep
from harness.contracts.specs import RunSpec
sys.path.insert(0, sys.argv[3])
from test_runner import Silent
folder = Path(sys.argv[1])
registry = default_registry([folder / "quiz.yaml"])
specs = [RunSpec.model_validate_json(line) for line in Path(sys.argv[2]).read_text().splitlines()]
list(run_sweep(specs, registry, Settings(folder / "results", folder), Silent()))
"""


@pytest.mark.slow
def test_killed_and_started_again_gives_the_same_and_asks_nothing_twice(sweep: Sweep, folder: Path) -> None:
    log = folder / "log"
    arguments = {"delay": 0.02, "log": str(log)}
    specs = [spec(arguments=arguments, instance_seed=seed, max_eval_instances=25) for seed in (0, 1)]
    uninterrupted = sweep(*specs, results="uninterrupted")
    expected = asked(log)
    log.unlink()
    (folder / "specs").write_text("\n".join(one.model_dump_json() for one in specs))
    command = [sys.executable, "-c", KILLED, str(folder), str(folder / "specs"), str(Path(__file__).parent)]
    for wanted in (5, 15, 30):
        process = subprocess.Popen(command)
        while not log.exists() or len(asked(log)) < wanted:
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    resumed = sweep(*specs)
    assert [comparable(record) for record in resumed] == [comparable(record) for record in uninterrupted]
    assert [lines(record) for record in resumed] == [lines(record) for record in uninterrupted]
    # The fake model notes a request before it answers, so the one in flight at each of the three kills counts twice.
    assert set(asked(log)) == set(expected)
    assert len(asked(log)) - len(expected) <= 3
