"""A job is read as it was written, and refused where the harness, a plugin or the folder is not the same."""

from __future__ import annotations

import errno
import gzip
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import Component
from harness.costs.prices import load_prices
from harness.errors import HarnessError, StorageError
from harness.executors.job import Job, discard_job, read_job, write_job
from harness.plugins.registry import Registry, default_registry
from harness.runs.settings import Settings
from harness.sweeps.load import load_sweep, shipped_sweeps
from tests.harness.runs.test_runner import folder, registry, spec

__all__ = ["folder", "registry"]  # fixtures

PRICES = """\
currency: EUR
models: {"hf:*": {prompt: 1.5, completion: 3, reasoning: 4}}
"""


@pytest.fixture
def job(folder: Path) -> Job:
    return Job([spec(), spec("fake:1")], Settings(folder / "results", folder), [folder / "quiz.yaml"])


def edited(job: Job, registry: Registry, change: Callable[[dict[str, Any]], None]) -> Path:
    """Write a job whose first line another process has written otherwise."""
    file = write_job(job, registry)
    head, *runs = gzip.decompress(file.read_bytes()).splitlines()
    value = json.loads(head)
    change(value)
    file.write_bytes(gzip.compress(b"\n".join([json.dumps(value).encode(), *runs])))
    return file


def test_a_job_is_read_as_it_was_written(job: Job, registry: Registry, folder: Path) -> None:
    (folder / "prices.yaml").write_text(PRICES)
    settings = replace(job.settings, force=True, prices=load_prices(folder / "prices.yaml"), cache_dir=folder / "cache")
    settings = replace(settings, own_cache=True, reuse_across_gpus=True)
    job = replace(job, settings=settings)
    read, plugins = read_job(write_job(job, registry))
    assert read == job
    assert plugins.digest(folder / "quiz.yaml") == registry.digest(folder / "quiz.yaml")


def test_paths_that_depend_on_the_working_folder_are_made_absolute(
    job: Job, registry: Registry, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    relative = replace(job, settings=Settings(Path("results"), Path()), plugins=[Path("quiz.yaml")], directory=folder)
    read, _ = read_job(write_job(relative, registry))
    assert (read.settings.results_dir, read.settings.data_dir) == (folder / "results", folder)
    assert list(read.plugins) == [folder / "quiz.yaml"]


@pytest.mark.parametrize("name", ["quickstart", "safety", "contamination"])
def test_the_runs_of_shipped_sweeps_survive_it(name: str, tmp_path: Path) -> None:
    registry = default_registry()
    sweep, _ = load_sweep(shipped_sweeps()[name], registry=registry, models=["fake:0"], allow=None)
    read, _ = read_job(write_job(Job(sweep.runs, Settings(tmp_path)), registry))
    assert list(read.runs) == list(sweep.runs)
    assert [one.name for one in read.runs] == [one.name for one in sweep.runs]


def test_operational_settings_and_odd_values_survive_it(job: Job, registry: Registry) -> None:
    odd = spec(
        arguments={"log": "a\nb", "share": 1e-300, "whole": 2**60, "text": "é\u2028\ud800x"},
        operational={"delay": 0.5, "display_name": "Größe"},
        judges_operational={"exact_match": {"judge": {"model": {"budget": 3}}}},
        perturbations=(Component(name="typos", arguments={"prob": 0.25}),),
    )
    read, _ = read_job(write_job(replace(job, runs=[odd]), registry))
    (found,) = read.runs
    assert found == odd
    assert (found.name, found.operational) == (odd.name, odd.operational)


def test_another_version_of_the_harness_is_refused(job: Job, registry: Registry) -> None:
    file = edited(job, registry, lambda value: value["code"].update({"harness version": "0.0.1"}))
    with pytest.raises(HarnessError, match=r"has harness .*, but the sweep was started with 0\.0\.1\. Install"):
        read_job(file)


def test_other_sources_of_the_harness_are_refused(job: Job, registry: Registry) -> None:
    file = edited(job, registry, lambda value: value["code"].update({"harness source": "0"}))
    with pytest.raises(HarnessError, match="with other source files than where the sweep was started"):
        read_job(file)


def test_another_plugin_is_refused_by_name(job: Job, registry: Registry, folder: Path) -> None:
    file = write_job(job, registry)
    quiz = folder / "quiz.yaml"
    quiz.write_text(quiz.read_text().replace("Made-up", "Invented"))
    with pytest.raises(HarnessError, match="has other files of scenario quiz, unlike where the sweep was started"):
        read_job(file)


def test_a_missing_plugin_is_refused_by_name(job: Job, registry: Registry) -> None:
    file = edited(job, registry, lambda value: value["code"].update({"metric of_mine": "0"}))
    with pytest.raises(HarnessError, match="has no usable metric of_mine"):
        read_job(file)


def test_a_worker_that_does_not_see_the_results_folder_says_so(job: Job) -> None:
    with pytest.raises(StorageError, match=r"job\.jsonl\.gz does not exist here\. The results folder must be"):
        read_job(job.file)


def test_a_worker_that_cannot_write_the_results_folder_says_so(
    job: Job, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_job(job, registry)

    def touch(path: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "touch", touch)
    with pytest.raises(StorageError, match=r"cannot write the results folder, .*results \(Read-only file system\)"):
        read_job(file)


def test_a_damaged_job_is_reported(job: Job, registry: Registry) -> None:
    file = write_job(job, registry)
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(StorageError, match="cannot be read"):
        read_job(file)


def test_a_discarded_job_leaves_nothing(job: Job, registry: Registry) -> None:
    write_job(job, registry)
    discard_job(job)
    assert list(job.settings.results_dir.iterdir()) == []
