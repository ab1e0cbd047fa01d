"""``harness import``: import the results of other programs as runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.cli import options
from harness.errors import HarnessError
from harness.output.terminal import say

F = TypeVar("F", bound=Callable[..., Any])


@click.group("import")
def import_command() -> None:
    """Import results of other programs as runs, marked with their origin."""


def _shared(suite: str) -> Callable[[F], F]:
    def add(function: F) -> F:
        metric = (
            "--metric",
            "Main metric, by our name or the other program's (default: the usual one of each scenario or task).",
        )
        function = options.results_dir(function)
        function = options.plugins(function)
        function = click.option(metric[0], help=metric[1])(function)
        function = click.option("--suite", default=suite, help="Suite to write to.")(function)
        return click.argument("path", type=click.Path(path_type=Path, exists=True))(function)

    return add


@import_command.command("helm", short_help="Import results of HELM.")
@_shared("helm")
def helm_command(path: Path, suite: str, metric: str | None, plugins: tuple[Path, ...], results_dir: Path) -> None:
    """Import PATH, a run folder of HELM or a folder of such folders (benchmark_output/runs/SUITE)."""
    from harness.imports.helm import helm_runs, read_helm
    from harness.plugins.registry import default_registry

    registry = default_registry(plugins)
    _import_all(helm_runs(path), lambda folder: [read_helm(folder, suite, registry, metric)], results_dir)


@import_command.command("lm-eval", short_help="Import results of lm-evaluation-harness.")
@_shared("lm-eval")
def lm_eval_command(path: Path, suite: str, metric: str | None, plugins: tuple[Path, ...], results_dir: Path) -> None:
    """Import PATH, a results_*.json file of lm-evaluation-harness or a folder of them, with their samples files."""
    from harness.imports.lm_eval import lm_eval_files, read_lm_eval
    from harness.plugins.registry import default_registry

    registry = default_registry(plugins)
    _import_all(lm_eval_files(path), lambda file: read_lm_eval(file, suite, registry, metric), results_dir)


@import_command.command("inspect", short_help="Import logs of inspect_ai.")
@_shared("inspect")
def inspect_command(path: Path, suite: str, metric: str | None, plugins: tuple[Path, ...], results_dir: Path) -> None:
    """Import PATH, a log of inspect_ai (.eval or .json) or a folder of logs."""
    from harness.imports.inspect_ai import inspect_logs, read_inspect
    from harness.plugins.registry import default_registry

    registry = default_registry(plugins)
    _import_all(inspect_logs(path), lambda file: [read_inspect(file, suite, registry, metric)], results_dir)


@import_command.command("every-eval-ever", short_help="Import results in the schema of Every Eval Ever.")
@_shared("every-eval-ever")
def every_eval_ever_command(
    path: Path, suite: str, metric: str | None, plugins: tuple[Path, ...], results_dir: Path
) -> None:
    """Import PATH, an aggregate file of Every Eval Ever (schema 0.3) or a folder of them, with their samples."""
    from harness.imports.every_eval_ever.files import every_eval_ever_files
    from harness.imports.every_eval_ever.reader import read_every_eval_ever
    from harness.plugins.registry import default_registry

    registry = default_registry(plugins)
    _import_all(
        every_eval_ever_files(path), lambda file: read_every_eval_ever(file, suite, registry, metric), results_dir
    )


@import_command.command("lighteval", short_help="Import results of lighteval.")
@_shared("lighteval")
def lighteval_command(path: Path, suite: str, metric: str | None, plugins: tuple[Path, ...], results_dir: Path) -> None:
    """Import PATH, a results_*.json file of lighteval or a folder of them, with their details."""
    from harness.imports.lighteval import lighteval_files, read_lighteval
    from harness.plugins.registry import default_registry

    registry = default_registry(plugins)
    _import_all(lighteval_files(path), lambda file: read_lighteval(file, suite, registry, metric), results_dir)


@import_command.command("hub", short_help="Import results from copies of the Hub's model repositories.")
@_shared("hub")
@click.option(
    "--model", metavar="OWNER/NAME", help="Model that was evaluated (default: from the folder names or the card)."
)
def hub_command(
    path: Path, suite: str, metric: str | None, plugins: tuple[Path, ...], results_dir: Path, model: str | None
) -> None:
    """Import PATH, a copy of a model's repository, a file of its .eval_results, or a README.md with a model-index."""
    from harness.imports.hub_results import hub_files, read_hub
    from harness.plugins.registry import default_registry

    registry = default_registry(plugins)
    _import_all(hub_files(path), lambda file: read_hub(file, suite, registry, model, metric), results_dir)


def _import_all(sources: Iterable[Path], read: Callable[[Path], Iterable[Any]], results_dir: Path) -> None:
    """Import what can be read, and report why the rest cannot.

    Raises:
        HarnessError: Something could not be read; the others are there.
    """
    from harness.errors import DataError, StorageError
    from harness.imports.imported_run import write_imported
    from harness.storage.results import run_directory

    problems: list[str] = []
    written: dict[Path, Path] = {}
    for source in sources:
        try:
            for imported in read(source):
                folder = run_directory(results_dir, imported.spec)
                if (other := written.setdefault(folder, source)) != source:
                    advice = "import it alone, with another --suite"
                    problems.append(f"{source}: the same run as {other}, which is imported; to keep both, {advice}.")
                    continue
                try:
                    record = write_imported(results_dir, imported)
                except DataError as error:  # of one task; the file's others are imported
                    problems.append(f"{source}: {error}")
                    continue
                say(f"{record.directory}: {len(record.stats)} statistics, {len(imported.examples)} examples.")
        except StorageError:
            raise
        except HarnessError as error:
            problems.append(str(error))
    if problems:
        raise HarnessError("\n".join(problems))
