"""``harness lab seal``: what the tests of a sealed data set find, by the number of copies that a model reads."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import options
from harness.cli.lab_runs import (
    background,
    characters,
    device,
    draw,
    exit_if_failed,
    numbers,
    preset_option,
    run_suite,
    train,
)
from harness.cli.seal import dye_columns_of
from harness.errors import ModelError
from harness.output.console import make_console
from harness.output.display import counted
from harness.output.terminal import say


@click.command("seal", short_help="Measure what the tests of a sealed data set find, by number of copies.")
@click.argument("file", type=options.EXISTING_FILE)
@click.option("--output", type=options.FOLDER, default=Path("lab/seal"), help="Folder for models and results.")
@click.option("--copies", default="0,1,2,4,10", help="Numbers of copies, comma-separated.")
@click.option("--rows", type=click.IntRange(min=8), default=200, help="Rows of each sealed file.")
@click.option("--repeats", type=options.POSITIVE, default=2, help="Sealed files for each number of copies.")
@click.option(
    "--twins",
    "twins",
    type=options.EXISTING_FILE,
    help="File with another form of every row (default: the twin of a row is another row of FILE).",
)
@click.option("--canaries", type=click.IntRange(min=0), default=20, help="Rows of each file that get a canary.")
@click.option("--dye", type=click.IntRange(min=0), default=0, help="Dye questions in each file.")
@click.option("--dye-columns", metavar="QUESTION,OPTIONS,ANSWER", help="Columns of a multiple-choice FILE, for --dye.")
@click.option(
    "--max-tokens",
    type=options.POSITIVE,
    help="Maximum number of tokens of an answer to a dye question (default: 5, enough for a letter).",
)
@preset_option("tiny")
@click.option("--alpha", type=options.SHARE, default=0.01, help="Level at which a test counts as a detection.")
@options.seed
@background
@characters(300_000)
@device
@options.table_format
def seal_power_command(
    file: Path,
    output: Path,
    copies: str,
    rows: int,
    repeats: int,
    twins: Path | None,
    canaries: int,
    dye: int,
    dye_columns: str | None,
    max_tokens: int | None,
    preset: str,
    alpha: float,
    seed: int,
    background: Path | None,
    characters: int | None,
    device: str,
    format_: str,
) -> None:
    """Measure what the tests of a sealed data set find, by the number of copies in a model's training text.

    FILE is cut into slices, and each is sealed by itself, as `harness seal` does it. One model is trained on all of
    them, each copied a different number of times, and tested with each key. Run the same command again to continue.

    \b
    harness lab seal exam.jsonl --copies 0,1,4 --dye 20 --dye-columns question,options,answer
    """  # noqa: D301 - click wants the character itself
    from harness.contamination.lab.checkpoints import CheckpointPlan, read_record
    from harness.contamination.lab.presets import preset_named
    from harness.contamination.lab.sealed import sealed_p, sealed_power, sealed_slices
    from harness.contamination.order_tests import details_of
    from harness.contamination.sealing.seal import SealSettings
    from harness.contamination.unsealing import cut_answers, unsealing_runs
    from harness.output.result_table import render, show
    from harness.plugins.registry import default_registry

    recipe = preset_named(preset)
    doses = list(dict.fromkeys(numbers(copies, "--copies", least=0)))
    if not doses:
        raise click.UsageError("--copies needs a number, for example 0,1,4.")
    settings = SealSettings(canaries=canaries, dye=dye, dye_columns=dye_columns_of(dye_columns))
    slices = sealed_slices(
        file, twins, doses, settings, rows=rows, repeats=repeats, seed=seed, folder=output / "sealed"
    )  # fmt: skip
    folder = output / "models" / f"{preset}-{seed}"
    plan = CheckpointPlan(tuple(one.injection for one in slices), recipe, background, characters, seed)
    train({folder: plan}, device)
    registry = default_registry()
    model = f"hf:{folder.resolve()}"
    runs = [
        {**run, "model": model}
        for one in slices
        for run in unsealing_runs(
            one.key, one.key_file, one.published, registry, copies=one.injection.copies, max_tokens=max_tokens
        )
    ]
    records = run_suite(output, "sealed", runs)
    if all(record.status != "ok" for record in records):
        exit_if_failed(records)
        raise ModelError("there is nothing to show.")
    record = read_record(folder)
    share = sum(one["tokens"] for one in record["injected"]) / len(slices) / record["tokens"]
    kind = f"from {twins.name}" if twins else "other rows of the same file"
    about = (
        f"The model has {record['parameters']:,} parameters and was trained once on {record['tokens']:,} tokens; one "
        f"copy of a file of {counted(rows, 'row')} is {100 * share:.1f} % of them. Twins: {kind}. Larger models "
        "remember more of a copy, and read a file among far more text."
    )
    if cut := cut_answers((details for one in records for _, details in details_of(one)), slices[0].key):
        about += f" {cut}"
    table = sealed_power(sealed_p(records, slices), alpha, about)
    if format_ == "terminal":
        show(table, make_console())
    else:
        say(render(table, format_), newline=False)
    draw(output, pictures=None)
    exit_if_failed(records)
