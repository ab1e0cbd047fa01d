"""How long a sweep would take on GPUs: what is known of its models, and what earlier runs measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.contracts import Split
from harness.contracts.specs import Component, RunSpec
from harness.costs.gpu_speed import Gpu
from harness.executors.gpu_plan import Earlier, Measured, plan_gpus, read_earlier
from harness.runs.plan import Size

GPU = Gpu(name="NVIDIA H100 SXM", teraflops=1000, bandwidth=3, memory=80, request_seconds=0, node=8)
BILLION = 1_000_000_000


def spec(model: str = "hf:a", **operational: Any) -> RunSpec:
    return RunSpec(
        suite="s",
        scenario=Component(name="mmlu"),
        adapter=Component(name="generation"),
        metrics=(Component(name="exact_match"),),
        main_metric="exact_match",
        model=Component(name=model),
        operational=operational,
        eval_split=Split.TEST,
    )


def size(tokens: float, requests: float = 1000) -> Size:
    return Size(requests=requests, prompt_tokens=tokens)


def test_a_model_of_known_size_takes_its_arithmetic() -> None:
    plan = plan_gpus([(spec(), size(45e6))] * 2, {"hf:a": {"parameters": BILLION}}, Earlier(), GPU, gpus=2)
    [model] = plan.models
    assert (model.runs, model.gpus, model.unknown) == (2, 1, "")
    assert model.seconds == pytest.approx(2 * 2 * 1e9 * 45e6 / 450e12)
    assert plan.schedule.makespan == pytest.approx(model.seconds / 2 + GPU.loading(BILLION))
    assert plan.schedule.makespan == pytest.approx(plan.schedule.bound)


def test_the_sweeps_own_number_of_parameters_comes_first() -> None:
    run = spec(about={"parameters": 2 * BILLION})
    plan = plan_gpus([(run, size(45e6))], {"hf:a": {"parameters": BILLION}}, Earlier(), GPU, gpus=1)
    assert plan.models[0].seconds == pytest.approx(400)


def test_a_model_of_unknown_size_is_named_and_left_out() -> None:
    plan = plan_gpus([(spec(), size(1e9))], {"hf:a": {}}, Earlier(), GPU, gpus=8)
    assert plan.models[0].unknown.startswith("no parameters known for hf:a")
    assert plan.schedule.makespan == 0


def test_an_earlier_run_may_know_the_size() -> None:
    plan = plan_gpus([(spec(), size(45e6))], {"hf:a": {}}, Earlier({"hf:a": BILLION}), GPU, gpus=1)
    assert plan.models[0].seconds == pytest.approx(200)


@pytest.mark.parametrize(
    ("operational", "description"),
    [({}, {"server": "https://api"}), ({"resources": {"gpus": 0}}, {"parameters": 9}), ({}, {"parameters": 0})],
)
def test_models_of_servers_need_no_gpus(operational: dict[str, Any], description: dict[str, Any]) -> None:
    plan = plan_gpus([(spec(**operational), size(1e9))], {"hf:a": description}, Earlier(), GPU, gpus=8)
    assert (plan.models[0].gpus, plan.models[0].unknown, plan.schedule.makespan) == (0, "", 0)


def test_a_model_wider_than_a_machine_is_said() -> None:
    plan = plan_gpus([(spec(), size(1e9))], {"hf:a": {"parameters": 100 * BILLION}}, Earlier(), GPU, gpus=2)
    assert plan.models[0].unfit == "hf:a needs 4 GPUs of one machine, for its weights in 16 bits; here a machine has 2."


@pytest.mark.parametrize("description", [{}, {"parameters": 0}, {"parameters": BILLION}])
def test_a_model_that_asks_for_more_gpus_than_there_are_is_said(description: dict[str, Any]) -> None:
    asked = spec(resources={"gpus": 4})
    plan = plan_gpus([(asked, size(1e9))], {"hf:a": description}, Earlier(), GPU, gpus=2)
    model = plan.models[0]
    assert model.unfit == "hf:a needs 4 GPUs of one machine, says `resources` of its entry; here a machine has 2."
    assert (model.planned, plan.schedule.makespan) == (False, 0)


def test_replicas_share_a_long_run_only_where_the_sweep_asks_for_them() -> None:
    about = {"hf:a": {"parameters": BILLION}}
    whole = plan_gpus([(spec(), size(450e6))], about, Earlier(), GPU, gpus=8)
    shared = plan_gpus([(spec(resources={"replicas": "auto"}), size(450e6, 1e5))], about, Earlier(), GPU, gpus=8)
    two = plan_gpus([(spec(resources={"replicas": 2}), size(450e6, 1e5))], about, Earlier(), GPU, gpus=8)
    assert whole.schedule.loads == 1
    assert shared.schedule.loads == 8
    assert two.schedule.loads == 2
    assert shared.schedule.makespan < 1.2 * shared.schedule.bound < two.schedule.makespan < whole.schedule.makespan


def test_measured_speed_replaces_the_assumed() -> None:
    earlier = Earlier(speeds={"hf:a": Measured(3, seconds=30, assumed=10)})
    plan = plan_gpus([(spec(), size(45e6))], {"hf:a": {"parameters": BILLION}}, earlier, GPU, gpus=1)
    assert plan.models[0].seconds == pytest.approx(600)
    assert plan.models[0].measured == Measured(3, 30, 10)


def record(folder: Path, name: str, gpus: list[str], seconds: float = 4.0, **changes: Any) -> None:
    value = {
        "status": "ok",
        "spec": {"model": {"name": "hf:a"}},
        "provenance": {"model": {"parameters": BILLION}, "host": {"gpus": gpus} if gpus else {}},
        "efficiency": {
            "prompt_tokens": 450_000,
            "completion_tokens": 0,
            "queries": 10,
            "model_seconds": seconds,
        },
        **changes,
    }
    path = folder / "suite" / name / "run.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(value))


def test_speeds_are_those_of_runs_on_the_same_chip(tmp_path: Path) -> None:
    record(tmp_path, "one", ["NVIDIA H100 80GB HBM3"])
    record(tmp_path, "two", ["NVIDIA H100 80GB HBM3"], seconds=8)
    record(tmp_path, "other", ["NVIDIA A100-SXM4-80GB"], seconds=99)
    record(tmp_path, "cpu", [], seconds=999)
    record(tmp_path, "failed", ["NVIDIA H100 80GB HBM3"], status="failed")
    record(tmp_path, "odd", ["NVIDIA H100 80GB HBM3"], efficiency=None)
    (tmp_path / "suite" / "broken").mkdir()
    (tmp_path / "suite" / "broken" / "run.json").write_text("{")
    for hidden in ("suite/.two", ".suite/two"):
        shutil.copytree(tmp_path / "suite" / "two", tmp_path / hidden)
    found = read_earlier(tmp_path, GPU)
    assert found.parameters == {"hf:a": BILLION}
    speed = found.speeds["hf:a"]
    assert (speed.runs, speed.seconds) == (2, 12)
    assert speed.factor == pytest.approx(6 / (2 * 1e9 * 450_000 / 450e12))


def test_no_results_folder_says_nothing(tmp_path: Path) -> None:
    assert read_earlier(tmp_path / "none", GPU) == Earlier()
