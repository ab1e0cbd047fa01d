"""Heads on several machines: each has a cache of its own, and the launching process merges their answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from harness.executors.job import Job
from harness.inference.merging import merging
from harness.runs.claims import Claims


@contextmanager
def own_caches(job: Job) -> Iterator[Job]:
    """Yield the job as its heads are to run it, each with its own cache; merge their answers until the block ends.

    End the heads before the block ends: what they have answered is then in the main cache.

    Raises:
        CacheError: The main cache, in the results folder, cannot be written.
    """
    results_dir = job.settings.results_dir
    with Claims(results_dir) as claims, merging(results_dir, claims):
        yield replace(job, settings=replace(job.settings, own_cache=True))
