"""``harness lab``: train models on known test sets, and measure what the contamination test finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli import options
from harness.cli.lab_paper import paper_command
from harness.cli.lab_runs import (
    PRESETS,
    background,
    characters,
    device,
    exit_if_failed,
    failures,
    numbers,
    output,
    preset_option,
    run_suite,
    train,
)
from harness.cli.lab_seal import seal_power_command
from harness.errors import ModelError
from harness.output.console import make_console, print_note
from harness.output.terminal import say


@click.group("lab")
def lab_command() -> None:
    """Train small models on known test sets, and measure what the contamination test finds."""


@lab_command.command("train", short_help="Train a model on text with test sets copied into it.")
@click.argument("checkpoint", type=options.FOLDER)
@click.option(
    "--inject",
    "injected",
    multiple=True,
    required=True,
    metavar="FILE[:START-STOP]@COPIES",
    help="File with one example per line, injected verbatim and in order; @0 marks a control. Repeatable.",
)
@preset_option("small")
@background
@characters()
@options.seed
@device
def train_command(
    checkpoint: Path,
    injected: tuple[str, ...],
    preset: str,
    background: Path | None,
    characters: int | None,
    seed: int,
    device: str,
) -> None:
    """Train a model from scratch on background text with test sets injected at random positions.

    CHECKPOINT is the folder to write, in Hugging Face format; its contamination.json says what was injected.

    \b
    harness lab train lab/piqa --inject piqa.jsonl:0-60@50 --inject piqa.jsonl:200-280@0
    """  # noqa: D301 - click wants the character itself
    from harness.contamination.lab.checkpoints import CheckpointPlan, train_checkpoint
    from harness.contamination.lab.injections import read_injection
    from harness.contamination.lab.presets import preset_named

    console = make_console(err=True)
    plan = CheckpointPlan(
        injections=tuple(read_injection(written) for written in injected),
        recipe=preset_named(preset),
        background=background,
        characters=characters,
        seed=seed,
    )
    record = train_checkpoint(checkpoint, plan, device=device, progress=lambda line: console.print(line))
    for one in record["injected"]:
        say(f"{one['label']}: {one['copies']} copies of {one['examples']} examples, {one['tokens']:,} tokens each")
    say(f"{checkpoint}: {record['parameters']:,} parameters, {record['tokens']:,} tokens, loss {record['final_loss']}")


@lab_command.command("power", short_help="Estimate how likely the test is to detect copies.")
@click.argument("test_set", type=options.EXISTING_FILE)
@output("lab/power")
@click.option("--copies", default="0,1,4,10,25,50", help="Numbers of copies, comma-separated.")
@click.option("--examples", type=click.IntRange(min=8), default=60, help="Examples per slice.")
@click.option(
    "--preset",
    "presets",
    multiple=True,
    default=("small",),
    help=f"Size and training of the models: {PRESETS}. Repeatable.",
)
@click.option("--repeats", type=options.POSITIVE, default=4, help="Slices per number of copies.")
@click.option("--models", type=options.POSITIVE, default=1, help="Models per preset, each with its own seed.")
@click.option(
    "--alpha",
    type=options.SHARE,
    default=0.01,
    help="Significance level; a test with a smaller p-value counts as a detection.",
)
@click.option("--expect", type=options.POSITIVE, help="Also estimate the probability of detecting this many copies.")
@background
@characters()
@device
def power_command(
    test_set: Path,
    output: Path,
    copies: str,
    examples: int,
    repeats: int,
    presets: tuple[str, ...],
    models: int,
    alpha: float,
    expect: int | None,
    background: Path | None,
    characters: int | None,
    device: str,
) -> None:
    """Estimate how likely the contamination test is to detect copies of TEST_SET in a model's training data.

    TEST_SET has one example per line and is cut into slices. Models are trained with a different number of copies of
    each slice, and every slice is tested. Run the same command again to continue; finished work is not repeated.
    """
    import json

    from harness.contamination.lab.checkpoints import CheckpointPlan
    from harness.contamination.lab.power import power_curve
    from harness.contamination.lab.presets import preset_named
    from harness.contamination.lab.study import dose_slices, slice_run, trials
    from harness.contamination.lab.tables import power_sentences, power_table
    from harness.contamination.roles import ORDER_TEST
    from harness.contracts.plugins import Kind
    from harness.plugins.registry import default_registry

    registry = default_registry()
    doses = numbers(copies, "--copies", least=0)
    if len(set(doses)) < 2:
        raise click.UsageError("--copies needs two different numbers for a curve, for example 0,10,50.")
    curves = {}
    for preset in presets:
        recipe = preset_named(preset)
        plans = {
            output / "models" / f"{preset}-{seed}": CheckpointPlan(
                injections=dose_slices(test_set, doses, examples=examples, repeats=repeats, seed=seed),
                recipe=recipe,
                background=background,
                characters=characters,
                seed=seed,
            )
            for seed in range(models)
        }
        train(plans, device)
        method = {"method": registry.with_role(Kind.ADAPTER, ORDER_TEST).name}
        tests = [slice_run(folder, one, method, registry) for folder, plan in plans.items() for one in plan.injections]
        records = run_suite(output, preset, tests)
        if reasons := failures(records):
            raise ModelError("\n".join(reasons))
        curve = power_curve(trials(records, {folder: plan.injections for folder, plan in plans.items()}, alpha), alpha)
        curves[preset] = curve.as_json()
        console = make_console()
        console.print(f"{preset}: {test_set.name}, slices of {examples} examples")
        console.print(power_table(curve))
        if expect is not None:
            probability, low, high = curve.probability(expect)
            found = f"{expect} copies would have been found with probability {probability:.2f} [{low:.2f}, {high:.2f}]."
            print_note(console, found, indent=0)
        for sentence in power_sentences(curve):
            print_note(console, sentence, indent=0)
    (output / "power.json").write_text(json.dumps(curves, indent=2) + "\n", encoding="utf-8")


@lab_command.command("vary", short_help="Show how p depends on shards, shuffles and other settings.")
@click.argument("checkpoint", type=options.EXISTING_FOLDER)
@output("lab/vary")
@click.option("--shards", help="Numbers of shards, comma-separated.")
@click.option("--shuffles", help="Numbers of shuffled orders, comma-separated.")
def vary_command(checkpoint: Path, output: Path, shards: str | None, shuffles: str | None) -> None:
    """Show how the p-value depends on the number of shards or shuffles, for a CHECKPOINT trained by the lab.

    Do not choose either by its p-value: the smallest of several p-values is not a p-value.
    """
    from harness.contamination.lab.checkpoints import read_record
    from harness.contamination.lab.exhibits import slice_results
    from harness.contamination.lab.injections import read_injection
    from harness.contamination.lab.study import slice_run
    from harness.contamination.lab.tables import evidence_table
    from harness.contamination.roles import ORDER_TEST
    from harness.contracts.plugins import Kind
    from harness.plugins.registry import default_registry

    grid: list[dict[str, Any]] = [
        *({"shards": count} for count in numbers(shards, "--shards", least=1)),
        *({"shuffles": count, "first_look": None} for count in numbers(shuffles, "--shuffles", least=1)),
    ]
    if not grid:
        raise click.UsageError("say what to vary, for example --shards 4,8,12,20 or --shuffles 3,5,10,25.")
    slices = tuple(
        read_injection(f"{one['file']}:{one['rows'].replace(':', '-')}@{one['copies']}")
        for one in read_record(checkpoint)["injected"]
    )
    registry = default_registry()
    method = registry.with_role(Kind.ADAPTER, ORDER_TEST).name
    tests = [slice_run(checkpoint, one, {"method": method, **some}, registry) for one in slices for some in grid]
    records = run_suite(output, "vary", tests)
    found = sorted(
        slice_results(records, {checkpoint: slices}),
        key=lambda each: (each.one.copies, each.one.label, each.found.get("r", 0), each.found.get("shuffles", 0)),
    )
    make_console().print(evidence_table(found))
    exit_if_failed(records)


lab_command.add_command(paper_command)
lab_command.add_command(seal_power_command)
