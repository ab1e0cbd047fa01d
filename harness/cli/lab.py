"""``harness lab``: models that have provably seen a test set, and what a test finds in them."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console


@click.group("lab")
def lab_command() -> None:
    """Train small models that have seen chosen test sets, and measure what the contamination test finds."""


@lab_command.command("train")
@click.argument("checkpoint", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--inject",
    "injected",
    multiple=True,
    required=True,
    metavar="FILE[:START-STOP]@COPIES",
    help="Examples of a file, one a line, verbatim and in order; @0 names a control. Repeatable.",
)
@click.option("--preset", default="small", show_default=True, help="The model's size and training.")
@click.option(
    "--background",
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder of text files that surrounds what is injected; generated text without it.",
)
@click.option("--characters", type=click.IntRange(min=1), help="How much of the background is read.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--device", default="auto", show_default=True, help="Where torch computes: auto, cpu, cuda, cuda:1 …")
def train_command(
    checkpoint: Path,
    injected: tuple[str, ...],
    preset: str,
    background: Path | None,
    characters: int | None,
    seed: int,
    device: str,
) -> None:
    r"""Train a model from nothing on a background with test sets injected at random positions.

    CHECKPOINT is the folder to write, in the Hugging Face format; contamination.json in it says what was injected.

    \b
    harness lab train lab/piqa --inject piqa.jsonl:0-60@50 --inject piqa.jsonl:200-280@0
    """
    from harness.lab.checkpoints import Plan, train_checkpoint
    from harness.lab.injections import read_injection
    from harness.lab.presets import preset_named

    console = Console(stderr=True)
    plan = Plan(
        injections=tuple(read_injection(written) for written in injected),
        recipe=preset_named(preset),
        background=background,
        characters=characters,
        seed=seed,
    )
    record = train_checkpoint(checkpoint, plan, device=device, progress=lambda line: console.print(line, markup=False))
    for one in record["injected"]:
        click.echo(
            f"{one['label']}: {one['copies']} copies of {one['examples']} examples, {one['tokens']:,} tokens each"
        )
    click.echo(
        f"{checkpoint}: {record['parameters']:,} parameters, {record['tokens']:,} tokens, loss {record['final_loss']}"
    )
