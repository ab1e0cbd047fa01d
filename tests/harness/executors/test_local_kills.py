"""Whatever is killed, nothing is lost, at most what was in flight is asked again, and nothing stays behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError, StorageError
from harness.executors import local
from harness.executors.job import JOBS_FOLDER, Job
from harness.plugins.registry import Registry, default_registry
from harness.runs.settings import Settings
from harness.storage.durable import is_alive
from tests.harness.executors.test_local import asked, job, run, written
from tests.harness.runs.test_runner import Silent, folder, registry, spec

__all__ = ["folder", "registry"]  # fixtures

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and process groups are POSIX's")

MODELS = ("fake:0", "fake:1")


def heads(folder: Path) -> dict[int, int]:
    """Return the processes of the heads that have joined, by number."""
    found = {}
    for file in folder.glob(f"results/{JOBS_FOLDER}/*/head-*.jsonl"):
        for line in file.read_text().splitlines():
            if "joined" in (value := json.loads(line or "{}")):
                found[int(file.stem.removeprefix("head-"))] = value["joined"]["process"]
    return found


def wait(condition: Callable[[], Any], seconds: float = 300) -> Any:
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.01)
    return found


def resumed(results: Path) -> dict[str, Any]:
    """Return what of each run's files must not depend on whether it was interrupted."""
    found = written(results)
    for value, _ in found.values():
        for key in ("cached_queries", "cached_share", "computed_tokens"):
            del value["efficiency"][key]
    return found


def repeated(folder: Path) -> int:
    """Return how many questions were asked again."""
    found = asked(folder)
    return sum(found.values()) - len(found)


def questions(folder: Path) -> int:
    return sum(asked(folder).values())


def reach(folder: Path, number: int) -> None:
    """Wait until this number of questions has been asked."""
    wait(lambda: questions(folder) >= number)


def test_dead_heads_are_replaced(folder: Path, registry: Registry) -> None:
    """The first kill comes soon after the first question, the second in the middle."""
    killed: list[int] = []

    def living() -> list[int]:
        return [process for process in heads(folder).values() if process not in killed]

    def kill() -> None:
        for after in (10, 60):
            reach(folder, after)
            process = wait(living)[0]
            os.kill(process, signal.SIGKILL)
            killed.append(process)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    state = Silent()
    records = run(job(folder, *MODELS, delay=0.05), registry, 2, state)
    killer.join(120)
    assert len(killed) == 2
    assert [record.status for record in records] == ["ok"] * 4
    assert (state.done, len(state.finished_runs)) == (4, 4)
    assert repeated(folder) <= 2  # one request in flight for each kill
    again = run(job(folder, *MODELS, results="alone", delay=0.05), registry, 1)
    assert {record.name for record in again} == {record.name for record in records}
    assert resumed(folder / "results") == resumed(folder / "alone")


KILLER = """
from harness import Example, metric

@metric("deadly", category="accuracy", higher_is_better=True)
def deadly(example: Example) -> float:
    '''Ends the process.'''
    import os
    os._exit(9)
"""


def test_heads_that_always_die_are_given_up_with_one_message(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(local, "MOST_RESTARTS", 1)
    (folder / "deadly.py").write_text(KILLER)
    plugins = [folder / "quiz.yaml", folder / "deadly.py"]
    runs = [spec(metrics=({"name": "deadly"},), main_metric="deadly", seed=seed) for seed in (0, 1)]
    said = "all 2 processes that ran the sweep have died, and 2 runs are left. All answers so far are kept; the same"
    with pytest.raises(HarnessError, match=said):
        run(Job(runs, Settings(folder / "results", folder), plugins), default_registry(plugins), 2)
    assert list((folder / "results" / JOBS_FOLDER).glob("*/head-0.log"))
    messages = sorted(record.getMessage() for record in caplog.records if record.name == "harness.executors.local")
    assert messages == sorted(
        f"Head {head} ended with code 9; it is {how}."
        for head in (0, 1)
        for how in ("started again", "not started again")
    )


def test_a_head_that_refuses_ends_the_sweep_with_its_reason(folder: Path, registry: Registry) -> None:
    refused = job(folder, *MODELS)
    quiz = folder / "quiz.yaml"
    registry.digest(quiz)  # as it was when the sweep was read
    quiz.write_text(quiz.read_text().replace("Made-up", "Invented"))
    with pytest.raises(HarnessError, match="has other files of scenario quiz, unlike where the sweep was started"):
        run(refused, registry, 2)
    assert not asked(folder)


SWEEP = """\
suite: test
plugins: [quiz.yaml]
executor: {{name: local, heads: 2}}
models: [{{name: "fake:0", delay: 0.04, log: "{log}-0"}}, {{name: "fake:1", delay: 0.04, log: "{log}-1"}}]
runs: [{{scenario: quiz, adapter: {{max_train_instances: [0, 1, 2]}}}}]
"""


@pytest.fixture
def command(folder: Path) -> Callable[[], subprocess.Popen[str]]:
    (folder / "sweep.yaml").write_text(SWEEP.format(log=folder / "log"))

    def start() -> subprocess.Popen[str]:
        arguments = ["run", "sweep.yaml", "--results-dir", "results", "--data-dir", "."]
        return subprocess.Popen(
            [sys.executable, "-m", "harness", *arguments],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


Command = Callable[[], "subprocess.Popen[str]"]


def whole(folder: Path) -> None:
    """Check that all six runs are there, and as one process writes them."""
    found = resumed(folder / "results")
    assert [value["status"] for value, _ in found.values()] == ["ok"] * 6
    (folder / "sweep.yaml").write_text(SWEEP.format(log=folder / "other").replace("heads: 2", "heads: 1"))
    arguments = ["run", "sweep.yaml", "--results-dir", "alone", "--data-dir", "."]
    subprocess.run([sys.executable, "-m", "harness", *arguments], cwd=folder, check=True, capture_output=True)
    alone = resumed(folder / "alone")
    for value, _ in (*found.values(), *alone.values()):
        value["spec"].pop("operational")  # the logs
    assert found == alone


@pytest.mark.slow
def test_a_killed_launcher_leaves_no_orphan_and_nothing_is_lost(folder: Path, command: Command) -> None:
    first = command()
    reach(folder, 50)
    started = wait(lambda: len(found := heads(folder)) == 2 and found)
    first.kill()
    first.wait()
    wait(lambda: not any(map(is_alive, started.values())), local.STOP_SECONDS)
    second = command()
    _, said = second.communicate(timeout=400)
    assert (second.returncode, "6 of 6 runs ok" in said) == (0, True), said
    assert repeated(folder) <= 2  # one request in flight for each head
    whole(folder)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_are_passed_on(folder: Path, command: Command, number: signal.Signals, code: int) -> None:
    first = command()
    reach(folder, 50)
    started = heads(folder)
    first.send_signal(number)
    _, said = first.communicate(timeout=400)
    assert first.returncode == code, said
    assert "Stopped. " in said
    assert "All answers so far are kept. To continue, run:" in said
    assert not any(map(is_alive, started.values()))
    assert not (folder / "results" / JOBS_FOLDER).exists()
    second = command()
    _, said = second.communicate(timeout=400)
    assert (second.returncode, "6 of 6 runs ok" in said) == (0, True), said
    assert repeated(folder) <= 2  # one request in flight for each head


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(2))
def test_random_kills_of_heads_and_launchers(folder: Path, command: Command, seed: int) -> None:
    generator = random.Random(seed)
    kills, rounds = 0, 3
    for _ in range(rounds):
        launcher = command()
        before = questions(folder)
        goal = before + generator.randint(1, 30)
        while launcher.poll() is None and questions(folder) < goal:
            time.sleep(0.005)
        living = [process for process in heads(folder).values() if is_alive(process)]
        victims = [launcher.pid, *living]
        for victim in generator.sample(victims, generator.randint(1, len(victims))):
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(victim, signal.SIGKILL)
            kills += 1
        if generator.random() < 0.5:
            launcher.kill()
        else:
            launcher.send_signal(signal.SIGTERM)
        launcher.communicate(timeout=400)
    last = command()
    _, said = last.communicate(timeout=400)
    assert (last.returncode, "6 of 6 runs ok" in said) == (0, True), said
    assert repeated(folder) <= 2 * rounds + kills  # each round ends two heads, of which some were started again
    whole(folder)


def test_a_results_folder_that_cannot_be_written_is_reported_once(folder: Path, registry: Registry) -> None:
    (folder / "results").write_text("a file in its place")
    with pytest.raises(StorageError, match=r"results.* cannot be written"):
        run(job(folder, *MODELS), registry, 2)


def test_a_log_that_cannot_be_written_is_reported(folder: Path, registry: Registry) -> None:
    some = job(folder, *MODELS)
    (some.folder / "head-0.log").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"head-0\.log cannot be written"):
        run(some, registry, 2)
    assert not some.folder.exists()
