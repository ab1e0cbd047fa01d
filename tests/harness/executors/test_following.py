"""What the launching process knows of its heads, from their reports and progress."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import StorageError
from harness.executors.following import Following
from harness.executors.job import Job, write_job
from harness.executors.reports import Reporter
from harness.plugins.registry import Registry
from harness.progress.file import ProgressFile
from harness.runs.runner import run_sweep
from harness.runs.settings import Settings
from harness.runs.sweep_state import SweepState
from tests.harness.runs.test_runner import Silent, folder, registry, spec

__all__ = ["folder", "registry"]  # fixtures


@pytest.fixture
def job(folder: Path, registry: Registry) -> Job:
    found = Job([spec(), spec("fake:1")], Settings(folder / "results", folder), [folder / "quiz.yaml"])
    write_job(found, registry)
    return found


def test_records_come_once_and_what_a_head_has_ended_is_not_found_finished(job: Job, registry: Registry) -> None:
    state = Silent()
    following = Following(job, state)
    assert list(following.look()) == []
    records = list(run_sweep(job.runs, registry, job.settings, Silent()))
    one, two = Reporter(job.folder, 0), Reporter(job.folder, 1)
    one.ended(SweepState(), records[0], before=True)  # read first, but written after the next
    two.ended(SweepState(), records[0], before=False)
    one.ended(SweepState(), records[1], before=True)
    assert [record.name for record in following.look()] == [records[0].name]
    assert following.left == 1
    assert [record.name for record in following.look()] == [records[1].name]
    assert (following.left, state.finished_runs, state.skipped_runs) == (0, [records[0].name], [records[1].name])
    assert dict(following.ended) == {1: 1}


def test_a_record_that_is_not_to_be_seen_yet_is_waited_for(job: Job, registry: Registry) -> None:
    following = Following(job, SweepState())
    record, _ = run_sweep(job.runs, registry, job.settings, Silent())
    hidden = record.directory.rename(record.directory.with_name("hidden"))
    Reporter(job.folder, 0).ended(SweepState(), record, before=False)
    assert list(following.look()) == []
    hidden.rename(record.directory)
    assert [found.name for found in following.look()] == [record.name]


def test_the_progress_of_heads_is_put_together(job: Job) -> None:
    state = SweepState(2)
    following = Following(job, state)
    heads = []
    for head, run in enumerate(job.runs):
        Reporter(job.folder, head).join()
        heads.append(SweepState(2))
        with ProgressFile(heads[head], job.settings.results_dir, job.suite, lambda: 0.0, job.head_name(head)) as file:
            heads[head].plan(under_way := heads[head].begin(run), 30)
            heads[head].advance(under_way, 10 + head)
            heads[head].views.remove(file)
            file._write("running")
            content = file._path.read_bytes()
            heads[head].views.append(file)
        file._path.write_bytes(content)
    list(following.look())
    assert [(run.spec, run.answered, run.planned) for run in state.under_way] == [
        (job.runs[0], 10.0, 30),
        (job.runs[1], 11.0, 30),
    ]
    assert state.answered == 21
    first = state.under_way[0]
    list(following.look())
    assert (state.under_way[0] is first, state.answered) == (True, 21)


def test_heads_that_stop_and_leave_are_known(job: Job) -> None:
    following = Following(job, SweepState())
    Reporter(job.folder, 0).stop(StorageError("disk full"))
    Reporter(job.folder, 1).leave()
    list(following.look())
    assert isinstance(following.stopped[0], StorageError)
    assert following.finished == {1}
    Reporter(job.folder, 0).join()
    list(following.look())
    assert following.stopped == {}
    assert set(following.joined) == {0}
