"""``harness reproduce``: ask a sample of a finished run's questions again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from harness.cli import options
from harness.output.display import json_text
from harness.output.terminal import say


@click.command("reproduce")
@click.argument("run", type=click.Path(path_type=Path, exists=True))
@click.option("--sample", type=options.POSITIVE, default=50, help="Number of questions to ask again, chosen at random.")
@click.option("--seed", type=int, help="Seed of the random sample (default: a new one each time; the report shows it).")
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    help="Largest difference of a token's log-probability that counts as rounding (default: by the determinism grade, "
    "0.001 in float32 and 0.25 in 16 bits).",
)
@options.data_dir
@options.plugins
@click.option(
    "--allow",
    metavar="PERMISSION",
    multiple=True,
    help="Permit what the run needs beyond asking a model: code_execution, remote_code, server or files. Repeatable.",
)
@options.as_json
def reproduce_command(
    run: Path,
    sample: int,
    seed: int | None,
    tolerance: float | None,
    data_dir: Path | None,
    plugins: tuple[Path, ...],
    allow: tuple[str, ...],
    as_json: bool,
) -> None:
    """Ask a random sample of the questions of RUN again and report what changed, with possible reasons.

    RUN is a run's folder, results/<suite>/<run>, or its run.json. All prompts are rebuilt and compared with the
    recorded ones; the sampled questions are asked again without the response cache, and their answers scored. Nothing
    is written. Exit codes: 0 if everything is the same, 1 if something changed, 2 if the run cannot be asked again
    here.
    """
    from secrets import randbelow

    from harness.plugins.registry import default_registry
    from harness.verification.reproduction import find_run, reproduce_run
    from harness.verification.reproduction_text import reproduction_lines

    found = reproduce_run(
        find_run(run),
        default_registry(plugins),
        sample=sample,
        seed=randbelow(1_000_000) if seed is None else seed,
        data_dir=data_dir,
        tolerance=tolerance,
        allow=allow,
    )
    if as_json:
        say(json_text(found.to_json()))
    else:
        for line in reproduction_lines(found):
            say(line)
    if not found.same:
        sys.exit(1)
