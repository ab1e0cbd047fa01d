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
    help="Folder with data sets in their original formats.",
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
    help="YAML table of prices per token; takes precedence over the built-in prices.",
)

runtimes = click.option(
    "--runtimes",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="YAML table of per-model latencies, for idealized and denoised runtimes.",
)

plugins = click.option(
    "--plugin",
    "plugins",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Load plugins from a Python file, a scenario's YAML file, or a folder of such files. Repeatable.",
)

suite = click.option("--suite", help="Name of the suite (default: the sweep's, or command-line for -r).")

models = click.option(
    "-m", "--model", "models", multiple=True, help="Use this model, backend:identifier[,setting=value…]. Repeatable."
)

entries = click.option(
    "-r",
    "--run",
    "entries",
    multiple=True,
    help="Run this entry instead of a sweep file, for example mmlu:subject=anatomy. Repeatable.",
)

limit = click.option(
    "--max-eval-instances", type=click.IntRange(min=1), help="Evaluate at most this many instances per run."
)

max_declined = click.option(
    "--max-declined",
    type=click.FloatRange(min=0, max=1),
    help="Share of examples, from 0 to 1, that the model or its provider may decline before the run fails. "
    "Overrides `max_declined` of every run (default: 0.1).",
)

force = click.option("--force", is_flag=True, help="Rerun finished runs; answers in the response cache are reused.")


def sweep_source(function: F) -> F:
    """Add the argument and the options that say what to run."""
    for option in (limit, suite, plugins, models, entries):
        function = option(function)
    return click.argument("sweep", required=False)(function)
