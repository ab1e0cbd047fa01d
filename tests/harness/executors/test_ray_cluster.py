"""A sweep on a real Ray cluster of several nodes of this machine: results as on one machine, whatever dies."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import harness
from tests.cluster_sweep import RUNS, asked, check_results, results, run, start, sums, wait_for_questions
from tests.ray_nodes import RayNodes, ray_nodes
from tests.tiny_checkpoints import tokenizer, write_checkpoint

pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc"),
]

BLOCK = 64
"""Most answers that are lost with a replica."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayNodes]:
    with ray_nodes(workers=2, cpus=3) as nodes:
        yield nodes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return sums(tmp_path)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, bytes]]:
    """The results of one process."""
    folder = sums(tmp_path_factory.mktemp("local"))
    sweep = folder / "sweep.yaml"
    run(folder, None)
    found = results(folder)
    assert len(found) == RUNS, sweep.read_text()
    return found


def nothing_runs(cluster: RayNodes) -> bool:
    """Return True once no actor is left on the cluster."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        if not cluster.workers(title="ray::RayHead") and not cluster.workers(title="ray::Replica"):
            return True
        time.sleep(0.1)
    return False


def test_same_results_as_on_one_machine(cluster: RayNodes, folder: Path, local: dict[str, Any]) -> None:
    text = run(folder, cluster.address)
    assert f"{RUNS} of {RUNS} runs ok" in text
    check_results(folder, local)
    assert set(asked(folder).values()) == {1}
    assert nothing_runs(cluster)


def test_killed_replica_and_killed_head_are_replaced(cluster: RayNodes, folder: Path, local: dict[str, Any]) -> None:
    process = start(folder, cluster.address)
    wait_for_questions(folder, 200)
    cluster.kill_one("ray::Replica")
    wait_for_questions(folder, 600)
    cluster.kill_one("ray::RayHead")
    text, _ = process.communicate(timeout=400)
    assert process.returncode == 0, text
    assert "another continues" in text
    check_results(folder, local)
    assert sum(asked(folder).values()) - len(asked(folder)) <= 3 * BLOCK  # a head loses what both replicas send it


def test_interrupted_and_killed_drivers_leave_nothing_running_and_the_same_command_continues(
    cluster: RayNodes, folder: Path, local: dict[str, Any]
) -> None:
    process = start(folder, cluster.address)
    wait_for_questions(folder, 100)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=400)
    assert process.returncode == 130, text
    assert "To continue" in text
    assert not any((folder / "results" / ".claims").glob("*"))
    assert nothing_runs(cluster)
    process = start(folder, cluster.address)
    wait_for_questions(folder, 500)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert nothing_runs(cluster)
    run(folder, cluster.address)
    shutil.rmtree(folder / "results" / ".jobs")  # of the process that was killed
    check_results(folder, local)
    assert sum(asked(folder).values()) - len(asked(folder)) <= 2 * 3 * BLOCK


def test_terminated_driver_stops_as_by_an_interrupt(cluster: RayNodes, folder: Path) -> None:
    process = start(folder, cluster.address)
    wait_for_questions(folder, 100)
    process.terminate()
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 143, text
    assert "To continue" in text
    assert "SIGTERM received" not in text  # by Ray, with a stack


POISONED = """
@backend("fragile", source="Made up.")
class Fragile(Model):
    '''Ends its process at one question.'''

    answers = frozenset({"generate"})

    def __init__(self, identifier):
        pass

    def fingerprint(self):
        return {"backend": "fragile"}

    def answer(self, requests):
        for index, request in enumerate(requests):
            if "What is 70 and 0?" in request.prompt and request.prompt.count("What is") > 1:
                os._exit(3)
            yield index, Response((Completion("Yes"),))
"""


def test_poisoned_part_fails_its_run_alone(cluster: RayNodes, folder: Path) -> None:
    head = "import os\nfrom harness import Completion, Model, Response, backend\n"
    (folder / "fragile.py").write_text(head + POISONED)
    sweep = """\
suite: cluster
plugins: [./sums.yaml, ./fragile.py]
models: [{name: "fragile:0", resources: {gpus: 0, replicas: 2}}]
runs:
  - {scenario: sums}
  - {scenario: sums, adapter: {max_train_instances: 0}}
"""
    (folder / "sweep.yaml").write_text(sweep)
    process = start(folder, cluster.address)
    text, _ = process.communicate(timeout=400)
    assert process.returncode == 1, text
    status = {file.parent.name: json.loads(file.read_text()) for file in folder.glob("results/*/*/run.json")}
    failed = [record for record in status.values() if record["status"] == "failed"]
    assert len(status) == 2
    assert len(failed) == 1, text
    assert "2 processes died while they answered this request and others with it" in failed[0]["error"]


def test_real_model_in_two_replicas(cluster: RayNodes, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    checkpoint = tmp_path_factory.mktemp("gpt2")
    write_checkpoint(checkpoint, "gpt2", tokenizer())
    sweep = f"""\
suite: cluster
plugins: [./sums.yaml]
models: [{{name: "hf:{checkpoint}", resources: {{gpus: 0, replicas: 2}}}}]
defaults: {{max_eval_instances: 60}}
runs:
  - {{scenario: sums, adapter: {{max_train_instances: 0}}}}
  - {{scenario: sums, adapter: {{method: multiple_choice_separate_original}}}}
"""
    (folder / "sweep.yaml").write_text(sweep)
    run(folder, cluster.address)
    on_ray = examples(folder)
    (folder / "results").rename(folder / "of-ray")
    run(folder, None)
    alone = examples(folder)
    assert len(alone) == 2
    assert on_ray.keys() == alone.keys()
    for name, lines in alone.items():
        for one, other in zip(lines, on_ray[name], strict=True):
            assert one["prediction"] == other["prediction"]
            assert logprobs(one) == pytest.approx(logprobs(other), abs=1e-5)
    assert any(logprobs(line) for lines in alone.values() for line in lines)


def examples(folder: Path) -> dict[str, list[Any]]:
    """Return the examples of each run."""
    files = sorted(folder.glob("results/*/*/examples.jsonl.gz"))
    return {file.parent.name: [json.loads(line) for line in gzip.open(file, "rt")] for file in files}


def logprobs(value: Any) -> list[float]:
    """Return all log-probabilities of an example, in order."""
    if isinstance(value, dict):
        own = [item for key, item in value.items() if key == "logprob" and isinstance(item, float)]
        return own + [one for item in value.values() for one in logprobs(item)]
    return [one for item in value for one in logprobs(item)] if isinstance(value, list) else []


def test_removed_node(cluster: RayNodes, folder: Path, local: dict[str, Any]) -> None:
    process = start(folder, cluster.address)
    wait_for_questions(folder, 300)
    cluster.remove(cluster.nodes[-1])
    wait_for_questions(folder, 600)
    cluster.add(3)
    text, _ = process.communicate(timeout=400)
    assert process.returncode == 0, text
    check_results(folder, local)


def test_node_with_another_harness_is_refused(cluster: RayNodes, folder: Path) -> None:
    source = Path(harness.__file__).parent.parent
    other = folder / "other"
    for package in ("harness", "scenarios", "adapters", "metrics", "run_specs"):
        shutil.copytree(source / package, other / package, ignore=shutil.ignore_patterns("__pycache__", "assets"))
    with (other / "harness" / "seeds.py").open("a") as file:
        file.write("\n# changed\n")
    node = cluster.add(1, environment={"PYTHONPATH": str(other)})
    try:
        process = start(folder, cluster.address)
        text, _ = process.communicate(timeout=400)
    finally:
        cluster.remove(node)
    assert process.returncode == 2, text
    assert "with other source files than where the sweep was started" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("resources", "told"),
    [  # far more than there is: for some seconds a cluster still counts a node that a test before this one removed
        ("gpus: 40", "fake:0 needs 40 GPUs on one node (`resources: {gpus: 40}`), but the Ray cluster has"),
        ("gpus: 0, replicas: 60", "fake:0 needs 61 CPUs, 1 for its head and 1 for each of 60 replicas, but the Ray"),
    ],
)
def test_more_than_there_is(cluster: RayNodes, folder: Path, resources: str, told: str) -> None:
    text = (folder / "sweep.yaml").read_text().replace("gpus: 0, replicas: 2", resources)
    (folder / "sweep.yaml").write_text(text)
    process = start(folder, cluster.address)
    text, _ = process.communicate(timeout=400)
    assert process.returncode == 2, text
    assert told in " ".join(text.split())
