"""``harness quickstart``: build a leaderboard from scratch, without network or data."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from harness.cli import options
from harness.output.console import make_console
from harness.output.terminal import say


@click.command("quickstart")
@click.option("--directory", type=options.FOLDER, default=Path("quickstart"), help="Folder for the two models.")
@options.results_dir
def quickstart_command(directory: Path, results_dir: Path) -> None:
    """Train two tiny models, one of them on a test set, then evaluate them and test which one depends on it.

    The numbers are only a demonstration: the models know a few hundred words, and the scenarios are small samples.
    """
    from harness.cli.contamination_report import show_report
    from harness.cli.run import execute, name_report
    from harness.contamination.report import build_report
    from harness.leaderboard.aggregate import build_board
    from harness.leaderboard.board_table import board_table
    from harness.output.result_table import show
    from harness.quickstart import train_models
    from harness.quickstart.demonstration import WHAT_IT_SHOWS, demonstration
    from harness.runs.runner import Settings
    from harness.sweeps.load import find_sweep, load_sweep

    console = make_console(err=True)
    console.print(f"Training two tiny models in {directory}/models (or using those already there) …")
    trained = train_models(directory, progress=lambda line: console.print(line))
    sweep, registry = load_sweep(find_sweep("quickstart"), models=[f"hf:{path}" for path in trained])
    settings = Settings(results_dir)
    records = execute(sweep.runs, registry, settings)
    show(board_table(build_board(records)), make_console())
    name_report(records, registry, settings)
    console.print("Testing what each model was trained on, by the published order of the data …")
    tests, registry = demonstration(trained)
    tested = execute(tests.runs, registry, settings)
    if any(record.status == "ok" for record in tested):
        show_report(build_report(tested), make_console())
        say(WHAT_IT_SHOWS)
        name_report(tested, registry, settings)
    records += tested
    say(
        "These numbers are only a demonstration: tiny models, hand-written samples. Next, a\n"
        "run of your own, with data in their official layout in a folder (or from the\n"
        "Hub, with the extra 'hub'):\n"
        f"  harness run -r boolq -m hf:{trained[0]} --data-dir FOLDER --max-eval-instances 50"
    )
    if any(record.status != "ok" for record in records):
        sys.exit(1)
