"""Runs that share a model are asked together, are prepared while it computes, and fail alone."""

from __future__ import annotations

import json
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness import GenerateRequest, ModelError, Request, Response, Split
from harness.contracts.plugins import Kind
from harness.contracts.specs import Component, RunSpec
from harness.costs.apportion import Slice
from harness.costs.energy import Counter
from harness.inference import prompt_thread
from harness.models.offline.fake import FakeModel
from harness.plugins.registry import Registry, default_registry
from harness.runs import cost_sharing
from harness.runs.runner import Settings, run_sweep
from harness.runs.sweep_state import RunState, SweepState
from harness.storage.example_files import read_examples
from harness.storage.results import RunRecord

PLUGIN = '''\
"""A scenario, and an adapter that asks for more only when it knows the answer."""

import threading

from pydantic import BaseModel

from harness import Adapted, Adapter, Data, GenerateRequest, Instance, Prediction, Reference, Source, adapter, scenario

MADE = []
READ = []
THREADS = set()


@scenario(
    "counting",
    title="Counting",
    source="Made up.",
    data=Source(),
    adapter={"method": "one_by_one"},
    metrics=["exact_match"],
    main_metric="exact_match",
    taxonomy=dict.fromkeys(("task", "what", "who", "when", "language"), "made up"),
)
def counting(data: Data, *, letter: str = "a", count: int = 10, broken: bool = False):
    """Numbers."""
    if broken:
        raise RuntimeError("this scenario is broken")
    for number in range(count):
        yield Instance(f"{letter}-{number}", f"{letter} {number}", (Reference("x", True),))


@adapter("one_by_one", source="Made up.")
class OneByOne(Adapter):
    """Asks for the next instance when it has read the answer to the one before."""

    asks = frozenset({"generate"})

    class Params(BaseModel, extra="forbid", frozen=True):
        awaited: bool = True
        breaks_at: int = -1

    def __init__(self, params):
        self.params = params

    def adapt(self, instances, train, tokenization, *, trial, seed):
        for number, instance in enumerate(instances):
            if number == self.params.breaks_at:
                raise ValueError("this adapter breaks")
            MADE.append(instance.id)
            THREADS.add(threading.current_thread().name)
            yield Adapted(instance, (GenerateRequest(instance.input, 1),), awaited=self.params.awaited)

    def predict(self, adapted, responses):
        READ.append((adapted.instance.id, len(MADE)))
        return Prediction(responses[0].completions[0].text)
'''


class Heard(SweepState):
    """A sweep's state that writes down what the engine says of it, each run by its letter."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[Any, ...]] = []

    def begin(self, spec: RunSpec) -> RunState:
        self.heard.append(("begun", spec.scenario.arguments["letter"]))
        return super().begin(spec)

    def plan(self, run: RunState, examples: int) -> None:
        super().plan(run, examples)
        self.heard.append(("planned", run.spec.scenario.arguments["letter"], examples))

    def advance(self, run: RunState, examples: float) -> None:
        super().advance(run, examples)
        letter = run.spec.scenario.arguments["letter"]
        if self.heard[-1][:2] == ("advanced", letter):
            self.heard.pop()
        self.heard.append(("advanced", letter, run.answered))

    def skip(self, record: RunRecord) -> None:
        super().skip(record)
        self.heard.append(("skipped", record.spec.scenario.arguments["letter"]))

    def end(self, record: RunRecord, run: RunState | None = None) -> None:
        super().end(record, run)
        self.heard.append(("ended", record.spec.scenario.arguments["letter"], record.status))


def spec(name: str, count: int = 10, *, model: dict[str, Any] | None = None, **adapter: Any) -> RunSpec:
    scenario: dict[str, Any] = {"letter": name, "count": count}
    if adapter.pop("broken", False):
        scenario["broken"] = True
    return RunSpec(
        suite="test",
        scenario=Component(name="counting", arguments=scenario),
        adapter=Component(name="one_by_one", arguments={"awaited": False, **adapter}),
        metrics=(Component(name="exact_match"), Component(name="efficiency")),
        main_metric="exact_match",
        model=Component(name="fake:0", arguments=model or {}),
        eval_split=Split.TEST,
    )


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    (tmp_path / "counting.py").write_text(PLUGIN)
    return default_registry([tmp_path / "counting.py"])


@pytest.fixture
def plugin(registry: Registry) -> Any:
    """The plugin's module, with what it wrote down."""
    target: Any = registry.get(Kind.ADAPTER, "one_by_one").target
    return sys.modules[target.__module__]


Sweep = Callable[..., list[RunRecord]]


@pytest.fixture
def sweep(tmp_path: Path, registry: Registry) -> Sweep:
    def run(*specs: RunSpec, watcher: Any = None, results: str = "results") -> list[RunRecord]:
        return list(run_sweep(specs, registry, Settings(tmp_path / results), watcher or Heard()))

    return run


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the model was asked, in order, for a model that wants to see all that there is before it begins."""
    seen: list[str] = []
    answer = FakeModel.answer

    def watched(self: FakeModel, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        taken = list(requests)
        seen.extend(str(request.prompt) for request in taken if isinstance(request, GenerateRequest))
        seen.append("|")
        return answer(self, taken)

    monkeypatch.setattr(FakeModel, "look_ahead", 1000)
    monkeypatch.setattr(FakeModel, "answer", watched)
    return seen


def prompts(name: str, *numbers: int) -> list[str]:
    return [f"{name} {number}" for number in numbers]


def ids(record: RunRecord) -> list[str]:
    return [example.instance.id for example, _, _ in read_examples(record)]


def test_requests_of_several_runs_are_taken_together(sweep: Sweep, asked: list[str]) -> None:
    records = sweep(spec("a", 3), spec("b", 2), spec("c", 4))
    assert asked == [*prompts("a", 0, 1, 2), *prompts("b", 0, 1), *prompts("c", 0, 1, 2, 3), "|"]
    assert [record.status for record in records] == ["ok"] * 3
    assert [ids(record) for record in records] == [
        [f"{n}-{i}" for i in range(k)] for n, k in (("a", 3), ("b", 2), ("c", 4))
    ]
    assert [record.efficiency["queries"] for record in records] == [3, 2, 4]


def test_no_more_are_on_their_way_than_fit(sweep: Sweep, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_thread, "MOST_UNANSWERED", 4)
    first, second = sweep(spec("a", 6), spec("b", 3))
    assert asked == [
        *prompts("a", 0, 1, 2, 3),
        "|",
        *prompts("a", 4, 5),
        *prompts("b", 0, 1),
        "|",
        *prompts("b", 2),
        "|",
    ]
    assert (len(ids(first)), len(ids(second))) == (6, 3)


def test_only_so_many_runs_are_on_their_way(sweep: Sweep, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_thread, "RUNS_AT_ONCE", 2)
    sweep(*(spec(name, 1) for name in "abcde"))
    assert asked == ["a 0", "b 0", "|", "c 0", "d 0", "|", "e 0", "|"]


def _numbers(record: RunRecord) -> dict[str, Any]:
    value = json.loads((record.directory / "run.json").read_text())
    value["stats"] = [stat for stat in value["stats"] if "seconds" not in stat["metric"]]
    return {key: value[key] for key in ("name", "status", "error", "spec", "stats", "details")}


@pytest.mark.parametrize(("window", "at_once"), [(1, 1), (3, 2), (7, 8)])
def test_how_requests_are_put_together_changes_no_result(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, window: int, at_once: int
) -> None:
    runs = [spec("a", 5), spec("b", 1), spec("c", 7, awaited=True), spec("d", 3, awaited=True)]
    together = {record.name: record for record in sweep(*runs)}
    monkeypatch.setattr(prompt_thread, "MOST_UNANSWERED", window)
    monkeypatch.setattr(prompt_thread, "RUNS_AT_ONCE", at_once)
    apart = {record.name: record for record in sweep(*runs, results="apart")}
    assert {name: _numbers(record) for name, record in apart.items()} == {
        name: _numbers(record) for name, record in together.items()
    }
    assert {name: ids(record) for name, record in apart.items()} == {
        name: ids(record) for name, record in together.items()
    }


def test_prompts_of_the_next_run_are_made_while_the_model_computes(
    sweep: Sweep, plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    respond = FakeModel._respond
    made: list[bool] = []

    def patient(self: FakeModel, request: Request) -> Response:
        if not made:  # the first request: hold the model until the prompts of the second run are made
            until = threading.Event()
            for _ in range(6000):
                if "b-2" in plugin.MADE or until.wait(0.01):
                    break
            made.append("b-2" in plugin.MADE)
        return respond(self, request)

    monkeypatch.setattr(FakeModel, "_respond", patient)
    sweep(spec("a", 3), spec("b", 3))
    assert made == [True]
    assert {"prompts"} == plugin.THREADS


def test_what_waits_for_an_answer_holds_back_itself_alone(sweep: Sweep, plugin: Any, asked: list[str]) -> None:
    records = sweep(spec("a", 3, awaited=True), spec("b", 4), spec("c", 2, awaited=True))
    first = [*prompts("a", 0), *prompts("b", 0, 1, 2, 3), *prompts("c", 0)]
    assert asked == [*first, "|", *prompts("a", 1), *prompts("c", 1), "|", *prompts("a", 2), "|"]
    assert {record.spec.scenario.arguments["letter"]: record.status for record in records} == dict.fromkeys("abc", "ok")
    made = [name for name in plugin.MADE if name.startswith("a")]
    for number in range(2):  # when an answer was read, the next prompt was not made yet
        known = dict(plugin.READ)[f"a-{number}"]
        assert f"a-{number + 1}" not in plugin.MADE[:known]
    assert made == ["a-0", "a-1", "a-2"]


def test_many_runs_that_wait_do_not_keep_others_from_beginning(sweep: Sweep, asked: list[str]) -> None:
    waiting = [spec(f"w{number}", 2, awaited=True) for number in range(prompt_thread.RUNS_AT_ONCE + 2)]
    sweep(*waiting, spec("a", 2))
    assert set(prompts("a", 0, 1)) <= set(asked[: asked.index("|")])


@pytest.mark.parametrize("bad", [{"broken": True}, {"breaks_at": 0}, {"breaks_at": 2}])
def test_a_run_that_cannot_be_prepared_fails_alone(sweep: Sweep, asked: list[str], bad: dict[str, Any]) -> None:
    records = {
        record.spec.scenario.arguments["letter"]: record
        for record in sweep(spec("a", 2), spec("b", 4, **bad), spec("c", 2))
    }
    assert {name: record.status for name, record in records.items()} == {"a": "ok", "b": "failed", "c": "ok"}
    assert "break" in str(records["b"].error) or "broken" in str(records["b"].error)
    assert [path.name for path in records["b"].directory.iterdir()] == ["run.json"]
    assert asked == [*prompts("a", 0, 1), *prompts("c", 0, 1), "|"]


@pytest.mark.parametrize("in_batches", [False, True])
def test_a_request_that_the_model_stumbles_over_fails_its_run_alone(
    sweep: Sweep, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, in_batches: bool
) -> None:
    if in_batches:
        request.getfixturevalue("asked")
    respond = FakeModel._respond

    def stumbling(self: FakeModel, request: Request) -> Response:
        if isinstance(request, GenerateRequest) and request.prompt == "b 1":
            raise ModelError("I stumble")
        return respond(self, request)

    monkeypatch.setattr(FakeModel, "_respond", stumbling)
    log = {"log": str(tmp_path / "log")}
    runs = [spec(name, 3, model=log) for name in "abc"]
    records = {record.spec.scenario.arguments["letter"]: record for record in sweep(*runs)}
    assert {name: record.status for name, record in records.items()} == {"a": "ok", "b": "failed", "c": "ok"}
    assert records["b"].error == "I stumble"
    assert [record.efficiency["queries"] for record in records.values()].count(3) == 2
    # What was answered before it stumbled is not asked again: 3 of a, 1 of b, 3 of c, and the stumble, which happens
    # twice where the model had taken requests of several runs.
    assert len((tmp_path / "log").read_text().split()) == 8 + in_batches


def test_a_run_ends_with_its_last_answer(tmp_path: Path, registry: Registry) -> None:
    log = tmp_path / "log"
    runs = [spec(name, 3, model={"log": str(log)}) for name in "abc"]
    records = run_sweep(runs, registry, Settings(tmp_path / "results"), Heard())
    answered = [(next(records).status, len(log.read_text().split())) for _ in runs]
    assert answered == [("ok", 3), ("ok", 6), ("ok", 9)]


def test_examples_keep_their_order_whatever_the_order_of_answers(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [ids(record) for record in sweep(spec("a", 5), spec("b", 3), results="expected")]
    answer = FakeModel.answer

    def backwards(self: FakeModel, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        return iter(list(answer(self, requests))[::-1])

    monkeypatch.setattr(FakeModel, "answer", backwards)
    monkeypatch.setattr(FakeModel, "look_ahead", 1000)
    watcher = Heard()
    records = sweep(spec("a", 5), spec("b", 3), watcher=watcher)
    assert [record.spec.scenario.arguments["letter"] for record in records] == ["b", "a"]
    assert [ids(record) for record in records[::-1]] == expected
    assert all(record.status == "ok" for record in records)


def test_what_was_concluded_before_the_model_stumbled_counts_once(
    sweep: Sweep, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    respond = FakeModel._respond
    stumbled: list[bool] = []

    def stumbling(self: FakeModel, request: Request) -> Response:
        if isinstance(request, GenerateRequest) and request.prompt == "b 1" and not stumbled:
            stumbled.append(True)
            raise ModelError("I stumble once")
        return respond(self, request)

    monkeypatch.setattr(FakeModel, "_respond", stumbling)
    records = sweep(*(spec(name, 3) for name in "abc"))
    assert stumbled
    assert [record.status for record in records] == ["ok"] * 3
    assert [record.efficiency["examples"] for record in records] == [3] * 3
    assert [len(set(ids(record))) for record in records] == [3] * 3


def test_the_same_run_twice_is_done_once(sweep: Sweep) -> None:
    watcher = Heard()
    first, second = sweep(spec("a", 2), spec("a", 2), watcher=watcher)
    assert first.directory == second.directory
    assert watcher.heard == [
        ("begun", "a"),
        ("planned", "a", 2),
        ("advanced", "a", 2.0),
        ("ended", "a", "ok"),
        ("skipped", "a"),
    ]


def test_the_state_follows_each_of_the_runs_that_are_asked_together(sweep: Sweep) -> None:
    watcher = Heard()
    sweep(spec("a", 3), spec("b", 2), watcher=watcher)
    for letter, count in (("a", 3), ("b", 2)):
        told = [event for event in watcher.heard if event[1] == letter and event[0] != "advanced"]
        assert told == [("begun", letter), ("planned", letter, count), ("ended", letter, "ok")]
        assert max(event[2] for event in watcher.heard if event[:2] == ("advanced", letter)) == count
    assert (watcher.done, watcher.failed, watcher.under_way, watcher.answered) == (2, 0, [], 5.0)


def test_a_run_that_another_overtakes_stays_under_way(sweep: Sweep) -> None:
    watcher = Heard()
    sweep(spec("a", 2, awaited=True), spec("b", 1), watcher=watcher)
    ends = [event[1] for event in watcher.heard if event[0] == "ended"]
    assert ends == ["b", "a"]
    assert [event[1] for event in watcher.heard if event[0] == "begun"] == ["a", "b"]


@pytest.mark.parametrize(
    ("responses", "expected"),
    [
        ([("a", Response(seconds=3.0)), ("b", Response(seconds=1.0))], {"a": 0.75, "b": 0.25}),
        ([("a", Response(seconds=3.0, cached=True)), ("b", Response(seconds=1.0))], {"a": 0.0, "b": 1.0}),
        (
            [("a", Response()), ("a", Response()), ("b", Response()), ("b", Response(cached=True))],
            {"a": 2 / 3, "b": 1 / 3},
        ),
        ([("a", Response(cached=True)), ("b", Response(cached=True))], {"a": 0.5, "b": 0.5}),
        ([], {}),
    ],
)
def test_time_is_divided_by_what_the_model_spent(
    responses: list[tuple[str, Response]], expected: dict[str, float]
) -> None:
    joules = iter([0.0, 1.0])
    time = Slice[str]([Counter("gpu", lambda: next(joules))])
    for name, response in responses:
        time.add(name, response)
    assert {name: used["gpu"] for name, (_, used) in time.end().items()} == {
        name: pytest.approx(share) for name, share in expected.items()
    }


def test_a_run_that_follows_the_end_of_another_has_its_own_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that the cache knows are given out one after the other: the first run may end before the second's."""
    monkeypatch.setattr(cost_sharing, "gpu_counters", lambda: [Counter("gpu", lambda: 0.0)])
    monkeypatch.setattr(cost_sharing, "rapl_counters", list)

    class Payer:
        charged: Mapping[str, float] | None = None

        def charge(self, seconds: float, joules: Mapping[str, float]) -> None:
            self.charged = joules

    first, second = Payer(), Payer()
    costs = cost_sharing.CostSharing[Payer](FakeModel("0"))
    costs.working()
    for payer in (first, second):
        costs.add(payer, Response(cached=True))
        costs.idle()
    assert (first.charged, second.charged) == ({"gpu": 0.0}, {"gpu": 0.0})


def test_the_energy_of_cards_elsewhere_is_the_model_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_sharing, "gpu_counters", lambda: [Counter("gpu", lambda: 1e6)])
    monkeypatch.setattr(cost_sharing, "rapl_counters", list)

    class Elsewhere(FakeModel):
        joules: float | None = 0.0

        def gpu_joules(self) -> float:
            if self.joules is None:
                raise LookupError("not measured there")
            return self.joules

    class Payer:
        charged: Mapping[str, float] | None = None

        def charge(self, seconds: float, joules: Mapping[str, float]) -> None:
            self.charged = joules

    def charged(joules: float | None) -> Mapping[str, float] | None:
        model, payer = Elsewhere("0"), Payer()
        costs = cost_sharing.CostSharing[Payer](model)
        costs.working()
        model.joules = joules
        costs.add(payer, Response(seconds=1.0))
        costs.idle()
        return payer.charged

    assert charged(7.0) == {"gpu": 7.0}
    assert charged(None) == {}


def test_answers_are_not_kept_for_the_division_of_time() -> None:
    class Noted(Response):
        """Can be referred to weakly."""

    response = Noted(seconds=1.0)
    time, alive = Slice[str]([]), weakref.ref(response)
    time.add("a", response)
    del response
    assert alive() is None
    assert time.end().keys() == {"a"}


def test_times_of_runs_that_are_asked_together_are_their_own(sweep: Sweep) -> None:
    first, second = sweep(spec("a", 3, model={"delay": 0.01}), spec("b", 9, model={"delay": 0.01}))
    assert first.efficiency["model_seconds"] == pytest.approx(0.03)
    assert second.efficiency["model_seconds"] == pytest.approx(0.09)
    for record in (first, second):
        assert record.efficiency["wall_seconds"] >= record.efficiency["model_seconds"]


def test_energy_is_divided_by_the_models_seconds(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    used = iter([100.0, 110.0, 110.0, 140.0])  # at the beginning and the end of each run's time
    monkeypatch.setattr(cost_sharing, "gpu_counters", lambda: [Counter("gpu", lambda: next(used))])
    monkeypatch.setattr(cost_sharing, "rapl_counters", list)
    first, second = sweep(spec("a", 3, model={"delay": 0.001}), spec("b", 9, model={"delay": 0.001}))
    assert first.efficiency["energy_joules"] == {"gpu": 10.0}
    assert second.efficiency["energy_joules"] == {"gpu": 30.0}
    (again,) = sweep(spec("a", 3, model={"delay": 0.001}))
    assert again.efficiency["energy_joules"] == {"gpu": 10.0}  # skipped: the counter was not read again
