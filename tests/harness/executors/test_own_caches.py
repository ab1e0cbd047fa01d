"""Heads with caches of their own: their results are those of one process, and nothing is asked twice."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from harness.executors.own_caches import own_caches
from harness.inference.cache import ResponseCache
from harness.inference.cache_file import FILE_NAME
from harness.inference.segments import ANSWERS_FOLDER, segment_files, segment_owner
from harness.plugins.registry import Registry
from tests.harness.executors.test_local import asked, job, run, written
from tests.harness.runs.test_runner import Silent, folder, registry

__all__ = ["folder", "registry"]  # fixtures


@pytest.mark.slow
def test_heads_with_own_caches_write_what_one_process_writes(
    folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = folder / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))  # of the heads
    monkeypatch.setattr(tempfile, "tempdir", None)
    models = ("fake:0", "fake:1", "fake:2")
    run(job(folder, *models, results="alone"), registry, 1)
    questions = asked(folder)
    for log in folder.glob("log-*"):
        log.unlink()
    with own_caches(job(folder, *models)) as own:
        run(own, registry, 3)
        assert segment_files(folder / "results" / ANSWERS_FOLDER)
    assert written(folder / "results") == written(folder / "alone")
    assert asked(folder) == questions
    assert segment_files(folder / "results" / ANSWERS_FOLDER) == []
    assert list(temporary.glob("harness-head-*")) == []
    with (
        closing(ResponseCache(folder / "results" / FILE_NAME)) as merged,
        closing(ResponseCache(folder / "alone" / FILE_NAME)) as alone,
    ):
        assert {one.key for one in merged.answers()} == {one.key for one in alone.answers()}
        assert [model.name for model in merged.models()] == [model.name for model in alone.models()]
    with own_caches(job(folder, *models, force=True)) as own:
        run(own, registry, 2)
    assert asked(folder) == questions  # repeated from the main cache alone


def test_segments_that_nobody_merged_are_found_by_the_next_sweep_of_one_process(
    folder: Path, registry: Registry
) -> None:
    work = job(folder, "fake:0")
    run(replace(work, settings=replace(work.settings, own_cache=True)), registry, 2)
    questions = asked(folder)
    assert segment_files(folder / "results" / ANSWERS_FOLDER)
    elsewhere = folder / "elsewhere"
    run(replace(work, settings=replace(work.settings, force=True, cache_dir=elsewhere)), registry, 1)
    assert (elsewhere / FILE_NAME).is_file()
    assert segment_files(folder / "results" / ANSWERS_FOLDER)
    run(replace(work, settings=replace(work.settings, force=True)), registry, 1)
    assert segment_files(folder / "results" / ANSWERS_FOLDER) == []
    assert asked(folder) == questions


def kill_now_and_then(answers: Path, seed: int, kills: list[int], stop: threading.Event) -> None:
    """Kill a head that is writing answers, at random moments."""
    draw = random.Random(seed)
    while not stop.wait(draw.uniform(0.05, 0.3)) and len(kills) < 4:
        for file in segment_files(answers):
            with suppress(OSError, ValueError):
                process = segment_owner(file).process
                if file.suffix == ".open" and process != os.getpid() and process not in kills:
                    os.kill(process, signal.SIGKILL)
                    kills.append(process)
                    time.sleep(draw.uniform(0.2, 1.0))
                    break


@pytest.mark.slow
def test_heads_killed_at_random_moments_lose_no_answer(folder: Path, registry: Registry) -> None:
    models = ("fake:0", "fake:1")
    run(job(folder, *models, results="alone", delay=0.04), registry, 1)
    questions = asked(folder)
    for log in folder.glob("log-*"):
        log.unlink()
    kills: list[int] = []
    stop = threading.Event()
    with own_caches(job(folder, *models, delay=0.04)) as own:
        killer = threading.Thread(
            target=kill_now_and_then, args=(folder / "results" / ANSWERS_FOLDER, 1, kills, stop), daemon=True
        )
        killer.start()
        run(own, registry, 2, Silent())
        stop.set()
        killer.join()
    assert kills
    found, expected = written(folder / "results"), written(folder / "alone")
    assert {name: examples for name, (_, examples) in found.items()} == {n: e for n, (_, e) in expected.items()}
    for name, (record, _) in found.items():
        alone, _ = expected[name]
        for value in (record, alone):  # a resumed run has cached answers, which cost nothing
            counted = ("examples", "queries", "prompt_tokens", "completion_tokens", "failed_examples")
            value["efficiency"] = {key: value["efficiency"][key] for key in counted}
        assert record == alone
    again = asked(folder)
    assert again.keys() == questions.keys()
    assert again.total() - questions.total() <= len(kills)  # what was being answered when its head was killed
    assert segment_files(folder / "results" / ANSWERS_FOLDER) == []
