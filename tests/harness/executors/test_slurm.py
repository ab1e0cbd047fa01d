"""The Slurm executor, with stand-ins for Slurm's commands (:mod:`.slurm_commands`): there is no Slurm here."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.executors.executor import make_executor
from harness.executors.job import JOBS_FOLDER, Job, write_job
from harness.executors.reports import Reports
from harness.executors.slurm import SlurmExecutor, Task, last_words, srun_command, tasks_of
from harness.executors.slurm_array import find_array, slurm_engine, submit
from harness.executors.slurm_watch import Watch
from harness.plugins.registry import Registry
from harness.progress.file import PROGRESS_FOLDER
from harness.runs.claims import CLAIMS_FOLDER
from harness.sweeps.executor_keys import SlurmKeys
from tests.harness.executors import slurm_commands
from tests.harness.executors.test_local import asked, job, run, written
from tests.harness.runs.test_runner import Silent, folder, registry

__all__ = ["folder", "registry"]  # fixtures

submitit = pytest.importorskip("submitit")


@pytest.fixture(autouse=True)
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Slurm's commands in PATH, outside of an allocation; what still runs at the end is ended."""
    for variable in [name for name in os.environ if name.startswith("SLURM_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PATH", f"{slurm_commands.install(tmp_path / 'slurm')}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_COMMANDS", str(tmp_path / "slurm"))
    monkeypatch.setattr("harness.executors.slurm.POLL_SECONDS", 0.1)
    submitit.SlurmJob.watcher.clear()
    yield tmp_path / "slurm"
    for file in (tmp_path / "slurm").glob("*.group"):
        for group in map(int, file.read_text().split()):
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _whoever_asked(found: dict[str, Any]) -> dict[str, Any]:
    """Leave out how many answers were cached, and what was computed: heads have caches of their own."""
    varying = ("cached_queries", "cached_share", "computed_tokens")
    for value, _ in found.values():
        value["efficiency"] = {key: one for key, one in value["efficiency"].items() if key not in varying}
    return found


def lone(folder: Path, registry: Registry, *models: str) -> dict[str, Any]:
    """Return what one process writes; what it asked is forgotten."""
    run(job(folder, *models, results="alone"), registry, 1)
    for log in folder.glob("log-*"):
        log.unlink()
    return written(folder / "alone")


def slow_job(folder: Path, *models: str) -> Job:
    """Return a job whose heads are at work for some seconds, so that they can be signalled."""
    some = job(folder, *models)
    return replace(some, runs=[one.model_copy(update={"operational": {"delay": 0.1}}) for one in some.runs])


def answers(found: dict[str, Any]) -> dict[str, Any]:
    """Return what must not depend on the delay, nor on how many answers a stopped head left in the cache."""
    comparable = {}
    for name, (value, examples) in found.items():
        lines = [json.loads(line) for line in gzip.decompress(examples).splitlines()]
        for response in (response for line in lines for response in line["responses"]):
            response.pop("seconds", None)
        scores = [stat for stat in value["stats"] if stat["category"] == "accuracy"]
        comparable[name] = value["status"], scores, value["provenance"]["model"], lines
    return comparable


def tidy(results: Path) -> bool:
    """Return whether nothing is left of a job but its results."""
    folders = [results / name for name in (JOBS_FOLDER, CLAIMS_FOLDER, PROGRESS_FOLDER)]
    return not any(path.exists() and any(path.iterdir()) for path in folders)


# What is submitted


def test_the_script_asks_for_what_the_sweep_says(folder: Path, registry: Registry, slurm: Path) -> None:
    keys = SlurmKeys(
        heads=8,
        partition="gpu",
        time="4h",
        gpus=1,
        cpus=8,
        memory="64G",
        account="my-lab",
        qos="high",
        constraint="a100|h100",
        setup=["module load cuda/12.4"],
        options={"comment": "hold", "reservation": "evaluation"},
        notice="3m",
    )
    some = job(folder, "fake:0")
    array = submit(some, registry, write_job(some, registry), keys, slurm_engine)
    text = (slurm / "4711.script").read_text()
    lines = text.splitlines()
    for option in (
        "array=0-7%8",
        "partition=gpu",
        "time=240",
        "gpus-per-node=1",
        "cpus-per-task=8",
        "mem=64G",
        "account=my-lab",
        "qos=high",
        "constraint='a100|h100'",
        "reservation=evaluation",
        "signal=USR2@180",
        "job-name=harness-test",
        "requeue",
    ):
        assert f"#SBATCH --{option}" in lines
    assert "module load cuda/12.4" in lines
    assert re.search(r"^srun .*--cpus-per-task=8 .*-m submitit\.core\._submit ", text, re.MULTILINE)
    assert (array.name, len(array.jobs), Watch(array, folder).states()) == ("4711", 8, {"PENDING": 8})


def test_nothing_is_asked_for_that_the_sweep_does_not_say(folder: Path, registry: Registry, slurm: Path) -> None:
    some = job(folder, "fake:0")
    keys = SlurmKeys(options={"comment": "hold"})
    submit(some, registry, write_job(some, registry), keys, slurm_engine)
    given = set(re.findall(r"^#SBATCH --([\w-]+)", (slurm / "4711.script").read_text(), re.MULTILINE))
    unasked = {"partition", "gpus-per-node", "cpus-per-task", "mem", "account", "qos", "constraint", "array"}
    assert given.isdisjoint(unasked)


def test_the_same_command_finds_its_heads_again(folder: Path, registry: Registry) -> None:
    first, keys = job(folder, "fake:0"), SlurmKeys(heads=2, options={"comment": "hold"})
    array = submit(first, registry, write_job(first, registry), keys, slurm_engine)
    found = find_array(job(folder, "fake:0"), registry)
    assert found is not None
    assert (found[0].id, found[1].name, len(found[1].jobs)) == (first.id, "4711", 2)
    assert find_array(job(folder, "fake:1"), registry) is None
    assert Watch(found[1], folder).running()
    found[1].cancel()
    submitit.SlurmJob.watcher.clear()
    assert not Watch(array, folder).running()


def test_heads_that_were_cancelled_are_submitted_anew(folder: Path, registry: Registry, slurm: Path) -> None:
    first, keys = job(folder, "fake:0"), SlurmKeys(options={"comment": "hold"})
    submit(first, registry, write_job(first, registry), keys, slurm_engine).cancel()
    submitit.SlurmJob.watcher.clear()
    state = Silent()
    state.tell = interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        list(SlurmExecutor(keys, registry).run(job(folder, "fake:0"), state))
    assert "Slurm job 4712" in state.detached
    assert not first.folder.exists()


def interrupt(notice: str) -> None:
    """Interrupt the command as soon as its heads wait in the queue."""
    assert notice == "Slurm job 4712: 1 pending"
    raise KeyboardInterrupt


# What goes wrong before anything runs


def test_without_slurm_there_is_one_clear_message(
    folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(HarnessError, match=r"this machine has no sbatch and no srun\. Run the command on a login node"):
        list(make_executor(SlurmKeys(), registry).run(job(folder, "fake:0"), Silent()))
    assert tidy(folder / "results")


def test_without_submitit_the_message_says_what_to_install(
    folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(HarnessError, match=r"needs the package submitit: pip install .*(slurm|submitit)"):
        list(SlurmExecutor(SlurmKeys(), registry).run(job(folder, "fake:0"), Silent()))


def test_what_sbatch_refuses_is_said_in_its_words(folder: Path, registry: Registry) -> None:
    with pytest.raises(
        HarnessError, match=r"^sbatch refused the job: sbatch: error: .*Invalid partition name specified$"
    ):
        list(SlurmExecutor(SlurmKeys(partition="nowhere"), registry).run(job(folder, "fake:0"), Silent()))
    assert tidy(folder / "results")


def test_in_an_allocation_without_srun(folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(HarnessError, match=r"SLURM_JOB_ID is 4711, but this machine has no srun"):
        list(SlurmExecutor(SlurmKeys(), registry).run(job(folder, "fake:0"), Silent()))


def test_srun_that_fails_is_quoted(folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    monkeypatch.setenv("SLURM_COMMANDS_SRUN_FAILS", "1")
    with pytest.raises(
        HarnessError, match=r"all heads of Slurm job 4711 have ended, and 2 runs are left.*Unable to create"
    ):
        list(SlurmExecutor(SlurmKeys(), registry).run(job(folder, "fake:0"), Silent()))


# Where the command runs


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0"}, None),  # a batch script
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_STEP_ID": "4294967290"}, None),  # salloc's shell
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_STEP_ID": "-5"}, None),
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "", "SLURM_STEP_ID": "0"}, None),
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0"}, (0, 1)),
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "3", "SLURM_STEP_ID": "1", "SLURM_STEP_NUM_TASKS": "4"}, (3, 4)),
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "3", "SLURM_STEP_ID": "1", "SLURM_NTASKS": "8"}, (3, 8)),
    ],
)
def test_a_task_of_srun_is_told_by_the_environment(environ: dict[str, str], expected: tuple[int, int] | None) -> None:
    task = Task.here(environ)
    assert (task and (task.rank, task.tasks)) == expected


def test_all_tasks_of_a_step_share_a_job_and_a_requeued_one_begins_another() -> None:
    def step(**environ: str) -> str:
        task = Task.here({"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", **environ})
        assert task is not None
        return task.step

    assert step() == step(SLURM_PROCID="1")
    different = [step(), step(SLURM_STEP_ID="1"), step(SLURM_JOB_ID="8"), step(SLURM_RESTART_COUNT="1")]
    assert len(set(different)) == 4


@pytest.mark.parametrize(
    ("environ", "heads", "expected"),
    [
        ({}, None, 1),
        ({"SLURM_NTASKS": "16"}, None, 16),
        ({"SLURM_JOB_NUM_NODES": "2"}, None, 2),
        ({"SLURM_NTASKS": "16", "SLURM_JOB_NUM_NODES": "2"}, 4, 4),
    ],
)
def test_heads_in_an_allocation(environ: dict[str, str], heads: int | None, expected: int) -> None:
    assert tasks_of(SlurmKeys(heads=heads), environ) == expected


@pytest.mark.parametrize(
    ("environ", "keys", "expected"),
    [
        ({}, {}, []),
        ({}, {"gpus": 2, "cpus": 8}, ["--gpus-per-task=2", "--cpus-per-task=8"]),
        ({"SLURM_CPUS_PER_TASK": "4"}, {}, ["--cpus-per-task=4"]),
        ({"SLURM_GPUS_ON_NODE": "8"}, {}, ["--gpus-per-task=2"]),  # 4 heads
        ({"SLURM_GPUS_ON_NODE": "8", "SLURM_JOB_NUM_NODES": "2"}, {}, ["--gpus-per-task=4"]),
        ({"SLURM_GPUS_ON_NODE": "8", "SLURM_GPUS_PER_TASK": "1"}, {}, []),
        ({"SLURM_GPUS_ON_NODE": "8"}, {"gpus": 0}, []),
    ],
)
def test_every_head_in_an_allocation_gets_its_gpus(
    environ: dict[str, str], keys: dict[str, Any], expected: list[str]
) -> None:
    command = srun_command(SlurmKeys(**keys), 4, Path("folder"), environ)
    assert command[:5] == ["srun", "--ntasks=4", "--kill-on-bad-exit=0", "--wait=0", "--output=folder/head-%t.log"]
    assert command[5:] == expected


def test_more_heads_than_gpus_are_refused() -> None:
    with pytest.raises(HarnessError, match=r"4 heads for 2 GPUs of this allocation\. Set `heads`"):
        srun_command(SlurmKeys(), 4, Path("folder"), {"SLURM_GPUS_ON_NODE": "2"})


def test_last_words_come_from_the_newest_log(tmp_path: Path) -> None:
    assert last_words(tmp_path) == ""
    (tmp_path / "head-0.log").write_text("old\n")
    (tmp_path / "4711_0_0_log.err").write_text("first\nsrun: error: out of memory\n\n")
    os.utime(tmp_path / "head-0.log", (1, 1))
    assert last_words(tmp_path) == "srun: error: out of memory"
    (tmp_path / "4711_0_0_log.err").write_text('first\nTraceback (most recent call last):\n  File "head.py", line 1\n')
    assert last_words(tmp_path) == ""  # it is being written


# Heads at work


@pytest.mark.slow
@pytest.mark.timeout(900)  # several interpreters start
def test_an_array_of_heads_writes_what_one_process_writes(folder: Path, registry: Registry) -> None:
    models = ("fake:0", "fake:1", "fake:2")
    alone = lone(folder, registry, *models)
    state = Silent()
    records = list(make_executor(SlurmKeys(heads=3), registry).run(job(folder, *models), state))
    assert _whoever_asked(written(folder / "results")) == _whoever_asked(alone)
    assert len(records) == len(alone) == 6
    assert (state.done, state.failed, state.under_way, state.detached) == (6, 0, [], "")
    assert state.notice.startswith("Slurm job 4711: ")
    assert tidy(folder / "results")
    assert set(asked(folder).values()) == {1}


def local_engine(folder: Path, keys: SlurmKeys, name: str) -> Any:
    """Make submitit's executor for processes of this machine, without Slurm's commands."""
    executor = submitit.LocalExecutor(folder, max_num_timeout=keys.requeues)
    executor.update_parameters(timeout_min=20)
    return executor


@pytest.mark.slow
@pytest.mark.timeout(900)  # several interpreters start
def test_submitits_local_executor_writes_what_one_process_writes(folder: Path, registry: Registry) -> None:
    alone = lone(folder, registry, "fake:0", "fake:1")
    records = list(
        SlurmExecutor(SlurmKeys(heads=2), registry, local_engine).run(job(folder, "fake:0", "fake:1"), Silent())
    )
    assert written(folder / "results") == alone
    assert len(records) == len(alone) == 4
    assert tidy(folder / "results")


def heads_of(some: Job) -> dict[int, int]:
    """Return the process of each head that has begun, as it is now."""
    lines = [report for report in Reports(some.folder).new() if "joined" in report.content]
    return {report.head: report.content["joined"]["process"] for report in lines}


def wait_for(condition: Any, seconds: float = 300) -> Any:
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


@pytest.mark.slow
@pytest.mark.timeout(900)  # several interpreters start
def test_the_others_do_what_a_killed_head_had_begun(folder: Path, registry: Registry, slurm: Path) -> None:
    models = ("fake:0", "fake:1")
    alone = lone(folder, registry, *models)
    some = slow_job(folder, *models)
    state = Silent()
    running = SlurmExecutor(SlurmKeys(heads=2), registry).run(some, state)
    next(running)
    os.kill(wait_for(lambda: heads_of(some).get(0)), signal.SIGKILL)
    list(running)
    assert wait_for(lambda: (slurm / "4711_0.state").read_text() != "RUNNING")
    assert (slurm / "4711_0.state").read_text() == "FAILED"
    assert answers(written(folder / "results")) == answers(alone)
    assert sum(asked(folder).values()) <= len(asked(folder)) + 1  # the request under way
    assert (state.done, state.failed) == (4, 0)


@pytest.mark.slow
@pytest.mark.timeout(900)  # several interpreters start
@pytest.mark.parametrize("signals", [["SIGUSR2"], ["SIGTERM", "SIGUSR2"]], ids=["time limit", "preemption"])
def test_a_head_that_slurm_stops_is_requeued_and_continues(
    folder: Path, registry: Registry, slurm: Path, signals: list[str]
) -> None:
    alone = lone(folder, registry, "fake:0", "fake:1")
    some = slow_job(folder, "fake:0", "fake:1")
    running = SlurmExecutor(SlurmKeys(heads=1), registry).run(some, Silent())
    next(running)
    answered = sum(asked(folder).values())
    wait_for(lambda: sum(asked(folder).values()) > answered)
    for name in signals:
        subprocess.run(["scancel", "4711", "--signal", name], check=True)
    list(running)
    assert wait_for(lambda: (slurm / "4711.state").read_text() != "RUNNING")
    assert (slurm / "4711.state").read_text() == "COMPLETED"
    assert answers(written(folder / "results")) == answers(alone)
    assert sum(asked(folder).values()) <= len(asked(folder)) + 1  # the request under way
    assert (slurm / "requeued").read_text() == "4711\n"


@pytest.mark.slow
@pytest.mark.timeout(900)  # several interpreters start
@pytest.mark.parametrize("ended", [False, True], ids=["at work", "ended"])
def test_heads_go_on_without_the_command_and_are_followed_again(
    folder: Path, registry: Registry, slurm: Path, ended: bool
) -> None:
    alone = lone(folder, registry, "fake:0", "fake:1")
    state = Silent()
    running = SlurmExecutor(SlurmKeys(heads=1), registry).run(slow_job(folder, "fake:0", "fake:1"), state)
    next(running)
    assert "Slurm job 4711. To stop them, run:\n  scancel 4711" in state.detached
    del running  # as Ctrl-C does
    again = Silent()
    if ended:
        wait_for(lambda: (slurm / "4711.state").read_text() != "RUNNING")
        submitit.SlurmJob.watcher.clear()
    records = list(SlurmExecutor(SlurmKeys(heads=1), registry).run(slow_job(folder, "fake:0", "fake:1"), again))
    assert len(records) == 4
    assert answers(written(folder / "results")) == answers(alone)
    assert not (slurm / "4712.script").exists()
    assert set(asked(folder).values()) == {1}
    assert tidy(folder / "results")


@pytest.mark.slow
@pytest.mark.timeout(900)  # several interpreters start
def test_when_all_heads_have_died_the_message_says_how(folder: Path, registry: Registry) -> None:
    some = slow_job(folder, "fake:0", "fake:1")
    running = SlurmExecutor(SlurmKeys(heads=1), registry).run(some, Silent())
    next(running)
    os.kill(wait_for(lambda: heads_of(some).get(0)), signal.SIGKILL)
    with pytest.raises(
        HarnessError, match=r"all heads of Slurm job 4711 have ended.*runs are left\. All answers"
    ) as caught:
        list(running)
    assert "head 0 was killed by SIGKILL" in str(caught.value)


@pytest.mark.slow
@pytest.mark.timeout(900)  # several interpreters start
def test_without_accounting_heads_that_slurm_has_killed_are_missed_in_the_queue(
    folder: Path, registry: Registry, slurm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (slurm / "bin" / "sacct").unlink()
    monkeypatch.setattr("harness.executors.slurm_watch.ASK_SECONDS", 0.1)
    monkeypatch.setattr("harness.executors.slurm_watch.GONE_SECONDS", 1.0)
    some = slow_job(folder, "fake:0", "fake:1")
    state = Silent()
    running = SlurmExecutor(SlurmKeys(heads=1), registry).run(some, state)
    next(running)
    assert state.notice == "Slurm job 4711: 1 running"
    for group in (slurm / "4711.group").read_text().split():  # with submitit, which can then write no result
        os.killpg(int(group), signal.SIGKILL)
    (slurm / "4711.state").write_text("NODE_FAIL")
    with pytest.raises(HarnessError, match=r"all heads of Slurm job 4711 have ended"):
        list(running)


@pytest.mark.slow
@pytest.mark.timeout(900)  # several interpreters start
def test_a_head_for_each_task_of_an_allocation(
    folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = lone(folder, registry, "fake:0", "fake:1")
    monkeypatch.setenv("SLURM_JOB_ID", "99")
    monkeypatch.setenv("SLURM_NTASKS", "2")
    some = job(folder, "fake:0", "fake:1")
    running = SlurmExecutor(SlurmKeys(), registry).run(some, Silent())
    next(running)
    heads = wait_for(lambda: len(found := heads_of(some)) == 2 and found)
    list(running)
    assert len(set(heads.values())) == 2
    assert written(folder / "results") == alone
    assert tidy(folder / "results")


TASK = """\
import sys
from pathlib import Path
from harness.executors.executor import join, make_executor
from harness.executors.interrupts import terminable
from harness.executors.job import read_job
from harness.runs.sweep_state import SweepState
from harness.sweeps.executor_keys import SlurmKeys

job, registry = read_job(Path(sys.argv[1]))
join(SlurmKeys(), job)
with terminable():
    print(len(list(make_executor(SlurmKeys(), registry).run(job, SweepState()))), "records")
"""


@pytest.mark.slow
@pytest.mark.timeout(900)  # several interpreters start
def test_each_task_of_srun_is_a_head_which_stops_when_slurm_gives_notice(
    folder: Path, registry: Registry, slurm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = ("fake:0", "fake:1")
    alone = lone(folder, registry, *models)
    file = write_job(slow_job(folder, *models), registry)
    (folder / "task.py").write_text(TASK)
    monkeypatch.setenv("SLURM_JOB_ID", "99")
    command = [
        "srun",
        "--ntasks=2",
        f"--output={folder}/task-%t.log",
        sys.executable,
        str(folder / "task.py"),
        str(file),
    ]
    first = subprocess.Popen(command)
    logs = [folder / f"log-{number}" for number in (0, 1)]
    wait_for(lambda: all(log.exists() for log in logs))  # one head for each model
    subprocess.run(["scancel", "99", "--signal", "SIGUSR2"], check=True)
    assert first.wait() != 0
    assert list((folder / "results" / CLAIMS_FOLDER).iterdir()) == []
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    subprocess.run(command, check=True)
    assert "4 records" in (folder / "task-0.log").read_text()
    assert "records" not in (folder / "task-1.log").read_text()
    assert answers(written(folder / "results")) == answers(alone)
    assert sum(asked(folder).values()) <= len(asked(folder)) + 2  # the requests under way
