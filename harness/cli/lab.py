"""``harness lab``: train models on known test sets, and measure what the contamination test finds."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli import options
from harness.errors import ModelError
from harness.output.console import make_console
from harness.output.terminal import say

Command = TypeVar("Command", bound=Callable[..., Any])

_PRESETS = "tiny, small, medium, llama-small, gpt2-124m or gpt2-355m"  # said without loading what trains them

if TYPE_CHECKING:
    from harness.contamination.lab.checkpoints import CheckpointPlan
    from harness.contamination.lab.injections import Injection
    from harness.storage.results import RunRecord


def _output(default: str) -> Callable[[Command], Command]:
    folder = options.FOLDER
    return click.option("--output", type=folder, default=Path(default), help="Folder for the study.")


_device = click.option("--device", default="auto", help="Device: auto, cpu, cuda, cuda:1 …")
_characters = click.option(
    "--characters", type=options.POSITIVE, help="Characters of the background to read (default: all)."
)
_background = click.option(
    "--background", type=options.FOLDER, help="Folder of text files to train on as well (default: generated text)."
)
_preset = click.option("--preset", default="small", help=f"Size and training of the model: {_PRESETS}.")


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
@_preset
@_background
@_characters
@options.seed
@_device
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
@_output("lab/power")
@click.option("--copies", default="0,1,4,10,25,50", help="Numbers of copies, comma-separated.")
@click.option("--examples", type=click.IntRange(min=8), default=60, help="Examples per slice.")
@click.option(
    "--preset",
    "presets",
    multiple=True,
    default=("small",),
    help=f"Size and training of the models: {_PRESETS}. Repeatable.",
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
@_background
@_characters
@_device
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
    from harness.contamination.lab.study import dose_slices, trials
    from harness.contamination.lab.tables import power_sentences, power_table

    doses = numbers(copies, "--copies", least=0)
    if len(set(doses)) < 2:
        raise click.UsageError("--copies needs two different numbers for a curve, for example 0,10,50.")
    curves = {}
    for preset in presets:
        recipe = preset_named(preset)
        plans = [
            (
                output / "models" / f"{preset}-{seed}",
                CheckpointPlan(
                    injections=dose_slices(test_set, doses, examples=examples, repeats=repeats, seed=seed),
                    recipe=recipe,
                    background=background,
                    characters=characters,
                    seed=seed,
                ),
            )
            for seed in range(models)
        ]
        tested = [(folder, plan.injections) for folder, plan in plans]
        records = _train_and_test(plans, output, preset, device)
        curve = power_curve(trials(records, tested, alpha), alpha)
        curves[preset] = curve.as_json()
        console = make_console()
        console.print(f"{preset}: {test_set.name}, slices of {examples} examples")
        console.print(power_table(curve))
        if expect is not None:
            probability, low, high = curve.probability(expect)
            say(f"{expect} copies would have been found with probability {probability:.2f} [{low:.2f}, {high:.2f}].")
        for sentence in power_sentences(curve):
            say(sentence)
    (output / "power.json").write_text(json.dumps(curves, indent=2) + "\n", encoding="utf-8")


@lab_command.command("table1")
@click.argument("data", type=options.EXISTING_FOLDER)
@_output("lab/table1")
@click.option("--examples", type=click.IntRange(min=8), default=60, help="Examples per test set.")
@click.option("--whole", is_flag=True, help="Use all examples of each test set, as in the paper, without controls.")
@_preset
@options.seed
@_background
@_characters
@_device
def table1_command(
    data: Path,
    output: Path,
    examples: int,
    whole: bool,
    preset: str,
    seed: int,
    background: Path | None,
    characters: int | None,
    device: str,
) -> None:
    """Train a model on the test sets of Oren et al. 2023, table 1, with the same numbers of copies, and test it.

    DATA is the paper's folder of examples, with a file <set>.jsonl per test set.
    """
    from harness.contamination.lab.checkpoints import CheckpointPlan
    from harness.contamination.lab.presets import preset_named
    from harness.contamination.lab.study import results, table_1_slices
    from harness.contamination.lab.tables import evidence_table

    slices = table_1_slices(data, examples=None if whole else examples)
    folder = output / "models" / f"{preset}-{seed}"
    plan = CheckpointPlan(slices, preset_named(preset), background, characters, seed)
    records = _train_and_test([(folder, plan)], output, "table1", device)
    found = sorted(results(records, [(folder, slices)]), key=lambda item: item[1].copies)
    make_console().print(evidence_table((one, details) for _, one, _, details in found))


@lab_command.command("vary", short_help="Show how p depends on shards, shuffles and other settings.")
@click.argument("checkpoint", type=options.EXISTING_FOLDER)
@_output("lab/vary")
@click.option("--shards", help="Numbers of shards, comma-separated.")
@click.option("--shuffles", help="Numbers of shuffled orders, comma-separated.")
def vary_command(checkpoint: Path, output: Path, shards: str | None, shuffles: str | None) -> None:
    """Show how the p-value depends on the number of shards or shuffles, for a CHECKPOINT trained by the lab.

    Do not choose either by its p-value: the smallest of several p-values is not a p-value.
    """
    from harness.contamination.lab.checkpoints import read_record
    from harness.contamination.lab.injections import read_injection
    from harness.contamination.lab.study import results
    from harness.contamination.lab.tables import evidence_table

    grid = [
        *({"shards": count} for count in numbers(shards, "--shards", least=1)),
        *({"shuffles": count, "first_look": None} for count in numbers(shuffles, "--shuffles", least=1)),
    ]
    if not grid:
        raise click.UsageError("say what to vary, for example --shards 4,8,12,20 or --shuffles 3,5,10,25.")
    slices = tuple(
        read_injection(f"{one['file']}:{one['rows'].replace(':', '-')}@{one['copies']}")
        for one in read_record(checkpoint)["injected"]
    )
    records = _test([(checkpoint, slices)], output, "vary", grid)
    found = sorted(
        results(records, [(checkpoint, slices)]),
        key=lambda item: (item[1].copies, item[1].label, item[3].get("r", 0), item[3].get("shuffles", 0)),
    )
    make_console().print(evidence_table((one, details) for _, one, _, details in found))
    if failures := _failures(records):
        say("\n".join(failures), err=True)
        sys.exit(1)


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


def _train_and_test(
    plans: Sequence[tuple[Path, CheckpointPlan]], output: Path, suite: str, device: str
) -> list[RunRecord]:
    """Train the models that do not exist yet, and run the contamination test on what was injected."""
    from harness.contamination.lab.checkpoints import train_checkpoint, trained_before

    console = make_console(err=True)
    for folder, plan in plans:
        if trained_before(folder, plan):
            console.print(f"{folder}: trained before")
            continue
        train_checkpoint(
            folder,
            plan,
            device=device,
            progress=lambda line, name=folder.name: console.print(f"{name}: {line}"),  # type: ignore[misc]
        )
    records = _test([(folder, plan.injections) for folder, plan in plans], output, suite)
    if failures := _failures(records):
        raise ModelError("\n".join(failures))
    return records


def _test(
    checkpoints: Sequence[tuple[Path, Sequence[Injection]]],
    output: Path,
    suite: str,
    settings: Sequence[Mapping[str, Any]] = ({},),
) -> list[RunRecord]:
    """Run the contamination test on slices and controls of checkpoints, with each of the adapter's settings."""
    from harness.cli.run import execute
    from harness.contamination.lab.study import write_sweep
    from harness.runs.runner import Settings
    from harness.sweeps.load import load_sweep

    output.mkdir(parents=True, exist_ok=True)
    file = output / f"{suite}.yaml"
    write_sweep(file, suite, checkpoints, settings)
    sweep, registry = load_sweep(file)
    return execute(sweep.runs, registry, Settings(output / "results"))


def _failures(records: Sequence[RunRecord]) -> list[str]:
    """Return the reasons why tests failed, each with its count."""
    reasons = Counter(
        (record.error or "no reason").strip().splitlines()[-1] for record in records if record.status != "ok"
    )
    return [f"{count} of {len(records)} tests failed: {reason}" for reason, count in reasons.items()]
