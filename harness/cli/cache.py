"""``harness cache``: inspect, merge, prune and export the response cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import click

from harness.cli import options
from harness.cli.batches import batches_command
from harness.errors import DataError
from harness.inference.cache import ResponseCache
from harness.inference.cache_file import cache_file
from harness.inference.ledger import forget, spending
from harness.inference.merging import Merged, SegmentMerger, waiting_segments
from harness.inference.upkeep import Holding, export, holdings, merge, models_in_use, prune, removable
from harness.output.display import counted
from harness.output.terminal import say
from harness.storage.durable import writing


@click.group("cache")
def cache_command() -> None:
    """Manage the response cache, the file responses.sqlite in the results folder or in --cache-dir."""


cache_command.add_command(batches_command)


@cache_command.command("stats")
@options.results_dir
@options.cache_dir
def stats(results_dir: Path, cache_dir: Path | None) -> None:
    """Show the number, size and dates of the answers of each model."""
    with _opened(results_dir, cache_dir) as cache:
        held, imports = holdings(cache), cache.imports()
        size = cache.path.stat().st_size
    _show(held)
    total = sum(one.answers for one in held)
    say(f"{total:,} answers of {counted(len(held), 'model')}; {cache.path} has {_size(size)}.")
    for one in imports:
        say(f"{one.answers:,} answers imported from {one.file} on {_day(one.imported)} (SHA-256 {one.digest.hex()}).")
    if waiting := waiting_segments(results_dir):
        answers = sum(len(segment.entries) for _, segment in waiting)
        say(f"{answers:,} answers in {len(waiting)} segments may be missing above; `harness cache merge` adds them.")


@cache_command.command("merge", short_help="Add the answers that workers of a cluster have left.")
@options.results_dir
@options.cache_dir
def merge_(results_dir: Path, cache_dir: Path | None) -> None:
    """Add the answers that workers of a cluster have left in segments in the results folder.

    The command that starts a sweep does the same while it runs and when it ends; this is for one that was killed.
    Segments that workers still write stay where they are, and so do all if the cache is not in the results folder.
    """
    merged = _merge(results_dir, cache_dir)
    say(
        f"{merged.answers:,} answers read from segments, {merged.added:,} added to the cache; {merged.removed} "
        f"segments removed, {merged.left} left."
    )


@cache_command.command("prune", short_help="Remove answers, so that they are asked again.")
@options.results_dir
@options.cache_dir
@options.cached_models
@click.option(
    "--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Only answers at least this many days old."
)
@click.option("--orphaned", is_flag=True, help="Only answers of models that no run in the results folder used.")
@click.option("--yes", is_flag=True, help="Remove the answers; without --yes, only show what would be removed.")
def prune_(
    results_dir: Path,
    cache_dir: Path | None,
    models: tuple[str, ...],
    older_than: float | None,
    orphaned: bool,
    yes: bool,
) -> None:
    """Remove the answers that match all given options; a later run asks for them again."""
    if not models and older_than is None and not orphaned:
        raise click.UsageError(
            "say what to remove with --model, --older-than or --orphaned; answers must match all of them."
        )
    from harness.storage.results import find_runs

    if yes:
        _merge(results_dir, cache_dir)  # else what is removed would come back with the next merge
    with _opened(results_dir, cache_dir) as cache:
        used = models_in_use(find_runs(results_dir, set_aside=_refuse)) if orphaned else None
        found = removable(cache, models=models, days=older_than, used=used)
        if yes and found:
            prune(cache, found)
    _show(found)
    total = sum(one.answers for one in found)
    said = "removed" if yes else "would be removed; use --yes to remove them"
    say(f"{total:,} answers of {counted(len(found), 'model')} {said}.")


@cache_command.command("spending", short_help="Show how many tokens each API model has used.")
@options.results_dir
@options.cache_dir
@options.cached_models
@click.option("--reset", is_flag=True, help="Reset the counts to 0.")
def spending_(results_dir: Path, cache_dir: Path | None, models: tuple[str, ...], reset: bool) -> None:
    """Show how many tokens each API model has used, as counted against its budget."""
    _merge(results_dir, cache_dir)
    with _opened(results_dir, cache_dir) as cache:
        found = spending(cache, models)
        if reset:
            forget(cache, found)
    if reset:
        _merge(results_dir, cache_dir)  # publishes the new counts for workers
    for one in found:
        say(f"{one.account}: {one.prompt:,} prompt tokens, {one.completion:,} completion tokens")
    total = f"{sum(one.prompt + one.completion for one in found):,} tokens of {counted(len(found), 'model')}"
    say(f"{total}; budgets restart at 0." if reset else f"{total}; use --reset to restart at 0.")


@cache_command.command("export", short_help="Export answers as JSON lines.")
@options.results_dir
@options.cache_dir
@options.cached_models
@click.option("-o", "--output", type=options.FILE, help="Write to this file.")
def export_(results_dir: Path, cache_dir: Path | None, models: tuple[str, ...], output: Path | None) -> None:
    """Export answers as JSON lines, for `harness cache import` on another machine or for scripts."""
    _merge(results_dir, cache_dir)
    with _opened(results_dir, cache_dir) as cache:
        lines = export(cache, models)
        if output is None:
            for line in lines:
                say(line)
            return
        with writing(output), output.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    say(f"Wrote {output}.", err=True)


@cache_command.command("import", short_help="Add answers of exports or other caches.")
@options.results_dir
@options.cache_dir
@click.argument("files", nargs=-1, required=True, type=options.EXISTING_FILE)
def import_(results_dir: Path, cache_dir: Path | None, files: tuple[Path, ...]) -> None:
    """Add the answers in FILES (exports or caches from other machines); existing answers are kept.

    Imported answers are marked with the file's SHA-256; run.json counts a run's answers from each file.
    """
    cache = ResponseCache(cache_file(results_dir, cache_dir))
    try:
        for file in files:
            added, known = merge(file, cache)
            say(f"{file}: {added:,} answers added, {known:,} were already there.")
    finally:
        cache.close()


def _merge(results_dir: Path, cache_dir: Path | None) -> Merged:
    from harness.runs.claims import Claims

    file = cache_file(results_dir, cache_dir)
    with Claims(results_dir) as claims:
        return SegmentMerger(results_dir, claims, file).merge(remove=file.parent.absolute() == results_dir.absolute())


@contextmanager
def _opened(results_dir: Path, cache_dir: Path | None) -> Iterator[ResponseCache]:
    path = cache_file(results_dir, cache_dir)
    if not path.is_file():
        if waiting := waiting_segments(results_dir):
            raise DataError(
                f"there is no response cache {path} yet, but {len(waiting)} segments of answers that workers have "
                "left. Run harness cache merge first."
            )
        raise DataError(
            f"there is no response cache {path}. Run a sweep first, or name its folder with --results-dir or "
            "--cache-dir."
        )
    cache = ResponseCache(path, merging=True)
    try:
        yield cache
    finally:
        cache.close()


def _show(found: list[Holding]) -> None:
    from harness.output.console import make_console, plain_table

    if not found:
        return
    headings = ("model", "answers", "imported", "size", "first", "last", "last asked", "fingerprint")
    table = plain_table(*headings, numeric=slice(1, 4))
    for held in found:
        table.add_row(
            held.name,
            f"{held.answers:,}",
            f"{held.imported:,}" if held.imported else "",
            _size(held.bytes),
            _day(held.first),
            _day(held.last),
            _day(None if held.model is None else held.model.used),
            held.digest.hex()[:8],
        )
    make_console().print(table)


def _refuse(error: DataError) -> NoReturn:
    raise error  # the models that the run asked are not known, and their answers would be taken for orphans


def _day(seconds: int | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _size(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
