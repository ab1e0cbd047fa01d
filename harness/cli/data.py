"""``harness data``: what data sets and models a sweep needs, and downloading them ahead of time."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import options
from harness.cli.sources import ReadSweep, sweep_sources
from harness.output.display import counted, json_text
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.downloads.survey import Supply


@click.group("data")
def data_command() -> None:
    """Show which data sets and models sweeps need, and download them ahead of time."""


@data_command.command("status", short_help="Show which data sets and models sweeps need, and which are here.")
@sweep_sources
@options.data_dir
@options.as_json
def status(read: Sequence[ReadSweep], data_dir: Path | None, as_json: bool) -> None:
    """Show what each scenario and model of SWEEPS reads, where it is, how large it is, its licence and its terms.

    Nothing is downloaded except data sets' cards. Exit codes: 0 if everything is here; 1 if something is not; 2 if
    a sweep has errors.
    """
    from harness.downloads.survey import grouped, offline

    supplies = _survey(read, data_dir)
    if as_json:
        say(json_text({"supplies": [_as_json(supply) for supply in supplies], "offline": offline()}))
    else:
        _show(grouped(supplies))
        _sum_up(supplies)
    if any(supply.state != "ready" for supply in supplies):
        sys.exit(1)


@data_command.command("pull", short_help="Download the data sets and models that sweeps need.")
@sweep_sources
@options.data_dir
@click.option("--dry-run", is_flag=True, help="Show what would be downloaded.")
@click.option("-j", "--jobs", type=click.IntRange(1, 32), default=4, help="Number of files downloaded at once.")
def pull(read: Sequence[ReadSweep], data_dir: Path | None, dry_run: bool, jobs: int) -> None:
    """Download the data sets and models of SWEEPS that are not here, for machines without a network.

    Data sets and models of the Hub go to its cache (HF_HOME), other data to the data folder. Run the same command again
    to continue after an interruption. Exit codes: 0 if everything is here; 1 if something is not; 2 if nothing could be
    downloaded because of an error.
    """
    from harness.downloads.pull import bytes_text, lacking_space
    from harness.downloads.survey import grouped, offline, size_of
    from harness.errors import DataError

    supplies = _survey(read, data_dir)
    wanted = [supply for supply in supplies if supply.state == "download"]
    missing = [supply for supply in supplies if supply.state in ("incomplete", "missing")]
    unknown = [supply for supply in wanted if supply.size is None]
    if wanted:
        _show(grouped(wanted))
    if unknown and offline():
        raise DataError(f"{_offline_reason()} Nothing was downloaded.")
    wanted = [supply for supply in wanted if supply.size is not None]
    problems = lacking_space(wanted, data_dir)
    if problems:
        raise DataError("\n".join(problems))
    if dry_run:
        size = size_of(wanted) if wanted else 0
        say(f"{counted(len(wanted), 'download')}, {bytes_text(size or 0)} in all.")
    failed = [] if dry_run else _pull(wanted, data_dir, jobs)
    for name, error in failed:
        say(f"Failed: {name}: {error}", err=True)
    for supply in grouped([*missing, *unknown]):
        say(f"Missing: {supply.name}: {supply.note}", err=True)
    ready = len(supplies) - len(missing) - len(unknown) - (len(wanted) if dry_run else len(failed))
    say(f"{ready} of {len(supplies)} data sets and models are here.")
    if ready < len(supplies):
        sys.exit(1)


def _survey(read: Sequence[ReadSweep], data_dir: Path | None) -> list[Supply]:
    from harness.downloads.survey import survey

    found = [one() for one in read]
    supplies: dict[tuple[str, str, str, str], Supply] = {}
    for sweep, registry in found:
        for supply in survey(sweep.runs, registry, data_dir):
            supplies.setdefault((supply.kind, supply.name, supply.where, supply.note), supply)
    return sorted(supplies.values(), key=lambda supply: supply.kind)


def _pull(wanted: Sequence[Supply], data_dir: Path | None, jobs: int) -> list[tuple[str, str]]:
    """Download what is wanted with progress; return the names of what failed, and why."""
    from harness.downloads.pull import pull as pull_all
    from harness.downloads.survey import size_of
    from harness.executors.interrupts import terminable

    failed: list[tuple[str, str]] = []
    try:
        with terminable(), _progress(size_of(wanted) or 0, len(wanted)) as progress:
            for done in pull_all(wanted, data_dir, at_once=jobs, report=progress.add):
                progress.done += 1
                if done.error:
                    failed.append((done.supply.name, done.error))
    except KeyboardInterrupt:
        say("What was received is kept. To continue, run the same command again.", err=True)
        raise
    return failed


class _Progress:
    """Bytes that have arrived, and what a terminal shows of them."""

    def __init__(self, bar: Any, total: int, count: int) -> None:
        self._bar, self._count, self._done = bar, count, 0
        self._task = bar.add_task("", total=total) if bar is not None else None

    def add(self, number: int) -> None:
        if self._bar is not None:
            self._bar.advance(self._task, number)

    @property
    def done(self) -> int:
        return self._done

    @done.setter
    def done(self, number: int) -> None:
        self._done = number
        if self._bar is not None:
            self._bar.update(self._task, description=f"{number} of {self._count} ready")


@contextmanager
def _progress(total: int, count: int) -> Iterator[_Progress]:
    """Show bytes, speed and time left while the block runs, on a terminal; nothing elsewhere."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from harness.output.console import make_console

    with suppress(ImportError):  # what is downloaded then says what to install
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()
    console = make_console(err=True)
    if not console.is_terminal or not count:
        yield _Progress(None, total, count)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        yield _Progress(bar, total, count)


def _show(supplies: Sequence[Supply]) -> None:
    from rich.box import SIMPLE_HEAD

    from harness.output.console import make_console, plain_table

    layout = {"box": SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "padding": (0, 1, 0, 0)}
    counted = any(supply.rows for supply in supplies)
    headings = ["Data set or model", "State", "Size", *(["Rows"] if counted else []), "Licence", "From"]
    table = plain_table(*headings, numeric=slice(2, 4 if counted else 3), **layout)
    for heading, column in zip(headings, table.columns, strict=True):
        if heading in ("State", "Size", "Rows"):
            column.no_wrap = True
        else:
            column.overflow = "fold"
    for supply in supplies:
        rows = [f"{sum(supply.rows.values()):,}" if supply.rows else ""] if counted else []
        licence = supply.licence + (", gated" if supply.gated else "")
        table.add_row(supply.name, supply.state, _size(supply), *rows, licence.lstrip(", "), supply.where)
    make_console().print(table)


def _size(supply: Supply) -> str:
    from harness.downloads.pull import bytes_text

    if supply.size is None:
        return "not known offline" if supply.state == "download" else ""
    return bytes_text(supply.size) if supply.size or supply.state == "download" else ""


def _sum_up(supplies: Sequence[Supply]) -> None:
    """Print the totals, and what to do about what is missing."""
    from harness.downloads.pull import bytes_text
    from harness.downloads.survey import grouped, offline, size_of

    by_state = {
        state: [supply for supply in supplies if supply.state == state]
        for state in ("ready", "download", "incomplete", "missing")
    }
    size = size_of(by_state["download"]) if by_state["download"] else 0
    to_come = f" ({bytes_text(size) if size is not None else 'size not known'})" if by_state["download"] else ""
    incomplete = f"{len(by_state['incomplete'])} incomplete, " if by_state["incomplete"] else ""
    say(
        f"{len(by_state['ready'])} ready, {len(by_state['download'])} to download{to_come}, "
        f"{incomplete}{len(by_state['missing'])} missing."
    )
    for supply in grouped(supplies):
        if supply.note:
            say(f"  {supply.name}: {supply.note}")
    if by_state["download"]:
        if offline():
            say(f"  {_offline_reason()} Sizes and terms come from there.")
        say("  To download: harness data pull with the same arguments, on a machine with a network.")


def _offline_reason() -> str:
    from harness.data.hub_repository import unreachable_reason

    return unreachable_reason()


def _as_json(supply: Supply) -> dict[str, Any]:
    from harness.data.hub_repository import has_token
    from harness.downloads.survey import terms_page

    address = terms_page(supply)
    return {
        "kind": supply.kind,
        "name": supply.name,
        "state": supply.state,
        "road": supply.road,
        "where": supply.where,
        "bytes": supply.size,
        "rows": dict(supply.rows),
        "licence": supply.licence,
        "gated": supply.gated,
        "page": address,
        "token": has_token() if address else None,
        "commit": supply.hub.revision if supply.hub else supply.repository.commit if supply.repository else None,
        "config": supply.hub.config if supply.hub else None,
        "local": [str(path) for path in supply.local],
        "files": [{"path": file.path, "bytes": file.size, "digest": file.digest} for file in supply.files]
        or [{"path": one.file, "bytes": one.bytes, "digest": one.sha256, "url": one.url} for one in supply.downloads],
        "note": supply.note,
    }
