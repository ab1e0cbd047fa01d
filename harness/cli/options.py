"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

FOLDER = click.Path(path_type=Path, file_okay=False)
EXISTING_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)
FILE = click.Path(path_type=Path, dir_okay=False)
EXISTING_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
POSITIVE = click.IntRange(min=1)
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)

data_dir = click.option(
    "--data-dir",
    type=EXISTING_FOLDER,
    envvar="HARNESS_DATA_DIR",
    show_envvar=True,
    help="Folder with data sets in their original formats.",
)

results_dir = click.option(
    "--results-dir",
    type=FOLDER,
    default=Path("results"),
    envvar="HARNESS_RESULTS_DIR",
    show_envvar=True,
    help="Folder for results.",
)

ratings = click.option(
    "--ratings",
    type=EXISTING_FOLDER,
    multiple=True,
    help="Also show the ratings of this study on the site (those in RESULTS/annotation are always shown). Repeatable.",
)

cache_dir = click.option(
    "--cache-dir",
    type=FOLDER,
    envvar="HARNESS_CACHE_DIR",
    show_envvar=True,
    help="Folder for the response cache (default: the results folder). With --executor ray or slurm, each worker's "
    "folder for looking up answers (default: temporary files).",
)

prices = click.option(
    "--prices", type=EXISTING_FILE, help="YAML table of prices per token; takes precedence over the built-in prices."
)

runtimes = click.option(
    "--runtimes", type=EXISTING_FILE, help="YAML table of per-model latencies, for idealized and denoised runtimes."
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

limit = click.option("--max-eval-instances", type=POSITIVE, help="Evaluate at most this many instances per run.")

max_declined = click.option(
    "--max-declined",
    type=click.FloatRange(min=0, max=1),
    help="Share of examples, from 0 to 1, that the model or its provider may decline before the run fails. "
    "Overrides `max_declined` of every run (default: 0.1).",
)

executor = click.option(
    "--executor",
    metavar="NAME[:KEY=VALUE,…]",
    help="Where to run: local, ray or slurm, with settings such as local:heads=4. Overrides these keys of the sweep's "
    "`executor`, or all of it if the names differ (default: local).",
)

listeners = click.option(
    "--listener",
    "listeners",
    metavar="NAME[:KEY=VALUE,…]",
    multiple=True,
    help="Send each run, as it ends, to an experiment tracker: wandb, mlflow or tensorboard, with settings such as "
    "wandb:project=evals; or to another plugin (harness list listeners). Repeatable.",
)

reuse_across_gpus = click.option(
    "--reuse-across-gpus",
    is_flag=True,
    help="Take answers from the response cache that another kind of GPU gave in 16 bits; run.json counts them.",
)

address = click.option(
    "--address",
    metavar="HOST:PORT",
    help="Head node of the Ray cluster; short for --executor ray:address=HOST:PORT (default: "
    "RAY_ADDRESS, or the cluster of this machine).",
)

allow = click.option(
    "--allow",
    metavar="PERMISSION",
    multiple=True,
    help="Permit an action that metrics of the sweep need, such as code_execution. Repeatable.",
)

force = click.option("--force", is_flag=True, help="Rerun finished runs; answers in the response cache are reused.")

run_folders = click.argument("runs", nargs=-1, required=True, type=EXISTING_FOLDER)

data = click.option(
    "--data", multiple=True, required=True, help="A scenario, such as mmlu:subject=anatomy, or a file. Repeatable."
)

seed = click.option("--seed", type=int, default=0, help="Random seed.")

as_json = click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")

table_format = click.option(
    "--format",
    "format_",
    type=click.Choice(["terminal", "csv", "json", "md", "latex"]),
    default="terminal",
    help="Output format.",
)

cached_models = click.option(
    "-m", "--model", "models", multiple=True, help="Only models whose name matches; * matches any text. Repeatable."
)
"""Option for the models whose entries in the response cache a command is about."""
