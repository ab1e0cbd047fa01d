"""``harness contamination baselines`` and ``overlap``: heuristics without a guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli import options
from harness.output.display import json_text
from harness.output.terminal import say


@click.command("baselines", short_help="Compare membership scores with the test of the order.")
@click.argument("suites", nargs=-1)
@options.results_dir
@click.option("--rate", type=options.SHARE, default=0.05, help="Share of the controls that may be flagged.")
@options.as_json
def baselines_command(suites: tuple[str, ...], results_dir: Path, rate: float, as_json: bool) -> None:
    """Compare membership scores (loss, Min-K%, Min-K%++, zlib) with those of controls. These are heuristics.

    Needs runs with the adapter and the metric `membership`, including some on texts that the model was not trained on
    (`role: control`), which set the threshold of each score.
    """
    from harness.cli.contamination_names import short_labels
    from harness.contamination.membership_report import membership_report
    from harness.output.console import make_console, plain_table
    from harness.storage.results import find_runs

    suspects = membership_report(find_runs(results_dir, suites or None), rate=rate)
    if as_json:
        say(json_text([suspect.as_json() for suspect in suspects]))
        return
    console = make_console()
    labels = short_labels(suspect.scenario for suspect in suspects)
    for suspect in suspects:
        console.print(f"{suspect.model}: {labels[suspect.scenario]}", style="bold", soft_wrap=True)
        table = plain_table("score", "flagged", "AUROC")
        for score in suspect.scores:
            table.add_row(score.name, f"{score.flagged:.0%}", f"{score.auroc:.2f}")
        table.add_row("words alone, no model", "", f"{suspect.blind_auroc:.2f}")
        console.print(table)
        console.print(f"  {suspect.examples} examples, {suspect.controls} controls\n")
    console.print(
        f"These are heuristics. 'flagged' is the share of examples above a threshold that {rate:.0%} of the controls "
        "exceed. It means something only if controls and examples are of the same kind: if their words alone tell them "
        "apart, any score may do so too.",
        style="dim",
    )


@click.command("overlap", short_help="Count examples that share long runs of words with a corpus.")
@click.argument("corpus", type=options.EXISTING_FOLDER)
@options.data
@click.option("--words", type=options.POSITIVE, default=13, help="Length of a shared run, in words.")
@options.plugins
@options.data_dir
@options.as_json
def overlap_command(
    corpus: Path, data: tuple[str, ...], words: int, plugins: tuple[Path, ...], data_dir: Path | None, as_json: bool
) -> None:
    """Count examples that share long runs of words with the files in CORPUS, a folder of training data.

    In files of JSON lines, the texts in the objects are read; other files are read as plain text.
    """
    from harness.cli.contamination_names import short_labels
    from harness.contamination.statistics.overlap import overlap
    from harness.contamination.sweep import contamination_sweep
    from harness.output.console import make_console, plain_table
    from harness.runs.evaluation import prepare

    sweep, registry = contamination_sweep(["fake:0"], data, plugins=plugins)
    found: dict[str, dict[str, Any]] = {}
    for spec in sweep.runs:
        instances = list(prepare(spec, registry, data_dir).instances())
        counted = overlap([instance.published or instance.input for instance in instances], corpus, words)
        hits = sum(bool(count) for count in counted.counts)
        found[spec.scenario.label] = {
            "examples": len(instances),
            "with_overlap": hits,
            "share": hits / len(instances),
            "too_short": sum(count is None for count in counted.counts),
            "words": words,
            "files": counted.files,
            "ids": [one.id for one, count in zip(instances, counted.counts, strict=True) if count],
        }
    if as_json:
        say(json_text(found))
        return
    table = plain_table("data", "examples", f"share a run of {words} words", "too short", "files read")
    labels = short_labels(found)
    for name, one in found.items():
        share = f"{one['with_overlap']} ({one['share']:.0%})"
        table.add_row(labels[name], str(one["examples"]), share, str(one["too_short"]), str(one["files"]))
    make_console().print(table)
