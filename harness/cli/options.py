"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

data_dir = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    envvar="HARNESS_DATA_DIR",
    show_envvar=True,
    help="Folder of data sets in their official formats.",
)

results_dir = click.option(
    "--results-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results"),
    show_default=True,
    envvar="HARNESS_RESULTS_DIR",
    show_envvar=True,
    help="Folder for results, and for the response cache unless --cache-dir is given.",
)

cache_dir = click.option(
    "--cache-dir",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="HARNESS_CACHE_DIR",
    show_envvar=True,
    help="Folder for the response cache. Use a local disk if the results are on a network file system.",
)

prices = click.option(
    "--prices",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A YAML table of what models' tokens cost, before the one that comes with the harness.",
)

runtimes = click.option(
    "--runtimes",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A YAML table of what models' answers take on a quiet or an ideal machine.",
)

plugins = click.option(
    "--plugin",
    "plugins",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A Python file, a scenario's YAML file, or a folder of them. Repeatable.",
)

suite = click.option("--suite", help="Name of the suite: the sweep's own without it, and command-line for -r.")

models = click.option(
    "-m", "--model", "models", multiple=True, help="Use these models, backend:identifier[,setting=value…]. Repeatable."
)

entries = click.option(
    "-r",
    "--run",
    "entries",
    multiple=True,
    help="A run by its entry, for example mmlu:subject=anatomy, instead of a sweep file. Repeatable.",
)

limit = click.option("--max-eval-instances", type=click.IntRange(min=1), help="Most evaluation instances of each run.")

max_declined = click.option(
    "--max-declined",
    type=click.FloatRange(min=0, max=1),
    help="Largest share of examples, from 0 to 1, that the model or its provider may decline before a run fails. "
    "Replaces `max_declined` of every run (default: 0.1).",
)


def sweep_source(function: F) -> F:
    """Add the argument and the options that say what to run."""
    for option in (limit, suite, plugins, models, entries):
        function = option(function)
    return click.argument("sweep", required=False)(function)
