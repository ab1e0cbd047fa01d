"""The cache of a sweep: the machine's one file, or a head's own, whose answers travel in segments."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import closing, contextmanager

from harness.inference.cache import AnswerCache, ResponseCache
from harness.inference.cache_file import cache_file
from harness.inference.head_cache import HeadCache
from harness.inference.merging import SegmentMerger
from harness.inference.segments import ANSWERS_FOLDER
from harness.runs.claims import Claims
from harness.runs.settings import Settings
from harness.storage.durable import make_folder, writing
from harness.storage.file_systems import network_file_system


@contextmanager
def open_answers(settings: Settings, claims: Claims) -> Iterator[AnswerCache]:
    """Open the cache of this process; answers that heads have left in segments are merged first.

    A process whose cache would be on a network file system works like a head, and merges its answers at the end.

    Args:
        settings: Where results are, and whether this process is a head with a cache of its own.
        claims: This process's leases.

    Raises:
        CacheError: The cache cannot be opened, or answers not be merged.
    """
    file = cache_file(settings.results_dir, settings.cache_dir)
    reuse = settings.reuse_across_gpus
    in_results = file.parent.absolute() == settings.results_dir.absolute()
    merger = SegmentMerger(settings.results_dir, claims, file)
    alone_on_network = in_results and not settings.own_cache and network_file_system(file) is not None
    if alone_on_network:
        with writing(settings.results_dir):
            make_folder(settings.results_dir / ANSWERS_FOLDER)  # so that what has been spent is found there
    if not settings.own_cache:
        merger.merge_if_free(remove=in_results)  # a cache elsewhere gets a copy: segments belong to the results folder
    if settings.own_cache or alone_on_network:
        folder = None if in_results else file.parent
        with closing(HeadCache(settings.results_dir, claims, platform.node(), folder, reuse_across_gpus=reuse)) as head:
            yield head
        if alone_on_network:
            merger.merge_if_free()
        return
    with closing(ResponseCache(file, reuse_across_gpus=reuse)) as cache:
        yield cache
