"""What the commands of ``harness lab`` share: their options, training, and the sweeps that test what was trained."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from harness.cli import options
from harness.errors import DataError
from harness.output.console import make_console
from harness.output.display import counted
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.contamination.lab.checkpoints import CheckpointPlan
    from harness.contracts.specs import RunSpec
    from harness.plugins.registry import Registry
    from harness.storage.results import RunRecord

LINE_SECONDS = 30.0
"""Time between two lines of progress where there is no terminal."""

Command = TypeVar("Command", bound=Callable[..., Any])

PRESETS = "tiny, small, medium, llama-small, gpt2-124m or gpt2-355m"  # said without loading what trains them


def output(default: str) -> Callable[[Command], Command]:
    """Return the option of the study's folder."""
    return click.option("--output", type=options.FOLDER, default=Path(default), help="Folder for the study.")


def characters(default: int | None = None) -> Callable[[Command], Command]:
    """Return the option of the background's length."""
    words = "Characters of the background to read" + ("." if default else " (default: all).")
    return click.option("--characters", type=options.POSITIVE, default=default, help=words)


device = click.option("--device", default="auto", help="Device: auto, cpu, cuda, cuda:1 …")
background = click.option(
    "--background", type=options.FOLDER, help="Folder of text files to train on as well (default: generated text)."
)


def preset_option(default: str) -> Callable[[Command], Command]:
    """Return the option of the model's size."""
    return click.option("--preset", default=default, help=f"Size and training of the model: {PRESETS}.")


def numbers(written: str | None, option: str, *, least: int) -> list[int]:
    """Return comma-separated whole numbers.

    Raises:
        click.UsageError: They are not, or one is too small.
    """
    parts = [part.strip() for part in (written or "").split(",") if part.strip()]
    if any(not part.isdecimal() or int(part) < least for part in parts):
        raise click.UsageError(
            f"{option} must be a list of whole numbers of at least {least}, such as 8,12,20; not {written!r}."
        )
    return [int(part) for part in parts]


def train(checkpoints: Mapping[Path, CheckpointPlan], device: str) -> None:
    """Train the models that do not exist yet."""
    from harness.contamination.lab.checkpoints import train_checkpoint, trained_before

    console = make_console(err=True)
    for folder, plan in checkpoints.items():
        if trained_before(folder, plan):
            console.print(f"{folder}: trained before")
            continue
        train_checkpoint(
            folder,
            plan,
            device=device,
            progress=lambda line, name=folder.name: console.print(f"{name}: {line}"),  # type: ignore[misc]
        )


def run_suite(folder: Path, suite: str, runs: Sequence[Mapping[str, Any]]) -> list[RunRecord]:
    """Write the sweep of some runs into a study's folder, run what is not finished, and return all records."""
    from harness.contamination.lab.study import write_sweep
    from harness.sweeps.load import load_sweep

    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{suite}.yaml"
    write_sweep(file, suite, runs)
    sweep, registry = load_sweep(file)
    return run_specs(folder, sweep.runs, registry)


def run_specs(
    folder: Path, runs: Sequence[RunSpec], registry: Registry, data_dir: Path | None = None
) -> list[RunRecord]:
    """Run what is not finished of some runs, with results in a study's folder."""
    from harness.cli.run import execute
    from harness.runs.runner import Settings

    return execute(runs, registry, Settings(folder / "results", data_dir))


@contextmanager
def simulation_progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how many draws are done: as a bar on a terminal, else a line every half minute."""
    console = make_console(err=True)
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(name, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    said = -math.inf

    def line(done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - said >= LINE_SECONDS:
            said = time.monotonic()
            console.print(f"{name}: {done:,} of {total:,} draws", soft_wrap=True)

    yield line


def failures(records: Sequence[RunRecord]) -> list[str]:
    """Return the reasons why tests failed, each with its count."""
    reasons = Counter(
        (record.error or "no reason").strip().splitlines()[-1] for record in records if record.status != "ok"
    )
    return [f"{count} of {len(records)} tests failed: {reason}" for reason, count in reasons.items()]


def exit_if_failed(records: Sequence[RunRecord]) -> None:
    """End with exit code 1, and say why, if tests failed."""
    if lines := failures(records):
        say("\n".join(lines), err=True)
        sys.exit(1)


def draw(output: Path, pictures: bool | None) -> None:
    """Build the site of a study's results, and write its plots as files: if there is a browser, where None.

    Raises:
        DataError: Pictures are wanted, and there is no browser.
    """
    from harness.leaderboard.site.builder import build_site
    from harness.leaderboard.site.pictures import browser_problem, open_browser, write_pictures

    page = build_site(output / "results", output / "site")
    say(f"Plots: {page} (page Plots, Contamination)", err=True)
    problem = browser_problem() if pictures is not False else ""
    if pictures and problem:
        raise DataError(f"plots cannot be written as files: {problem}")
    if problem:
        say(f"Not written as SVG and PDF: {problem}", err=True)
    elif pictures is not False:
        with open_browser() as browser:
            files = write_pictures(browser, page, output / "pictures")
        say(f"Plots as SVG and PDF: {counted(len(files), 'file')} in {output / 'pictures'}", err=True)
