"""``harness contamination``: test whether models were trained on data sets, using their published order."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import options
from harness.cli.contamination_held_out import held_out_command
from harness.cli.contamination_heuristics import baselines_command, overlap_command
from harness.cli.contamination_inflation import inflation_command
from harness.cli.contamination_options import options_command
from harness.cli.seal import unseal_command
from harness.output.console import make_console, print_note
from harness.output.display import json_text, visible
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.contamination.report import Report
    from harness.contracts.specs import RunSpec
    from harness.plugins.registry import Registry


def _checked_rows(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    from harness.contamination.sweep import row_range

    if value is not None and row_range(value) is None:
        raise click.BadParameter(f"{value!r} is not a range of rows such as 0:100, the first hundred.")
    return value


REPAIRS = ("strip_ids", "permute_under_ids", "collapse_near_duplicates")
"""The repairs without a parameter."""


def _checked_repairs(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in {*REPAIRS, "none"} and not (name.startswith("blocks=") and name != "blocks="):
            raise click.BadParameter(f"{name!r} is not a repair. Known: {', '.join(REPAIRS)}, blocks=KEY, none.")
    if "none" in names and len(names) > 1:
        raise click.BadParameter("'none' cannot be combined with repairs.")
    return names


render = click.option(
    "--render",
    type=click.Choice(["published", "prompt", "lettered_prompt"]),
    default="published",
    help="How examples are written: verbatim, or as a prompt with its answer.",
)
rows = click.option(
    "--rows", callback=_checked_rows, help="Use only these rows, in published order, for example 0:100."
)
repairs = click.option(
    "--repair",
    "repairs",
    multiple=True,
    callback=_checked_repairs,
    help="strip_ids, permute_under_ids, collapse_near_duplicates, blocks=KEY (a key of meta), or none; repeatable "
    "(default: chosen by the harness if the text shows that the order is not exchangeable).",
)


@click.group("contamination")
def contamination_command() -> None:
    """Test whether models were trained on a data set, using its published order.

    A model that was not trained on a data set has no reason to prefer its published order to shuffled ones. A negative
    result shows nothing. The tests and their assumptions are described in docs/contamination.md.
    """


contamination_command.add_command(baselines_command)
contamination_command.add_command(overlap_command)
contamination_command.add_command(options_command)
contamination_command.add_command(held_out_command)
contamination_command.add_command(inflation_command)
contamination_command.add_command(unseal_command)


@contamination_command.command("test", short_help="Test whether MODELS were trained on data sets.")
@click.argument("models", nargs=-1, required=True)
@options.data
@click.option(
    "--control-model", "control_models", multiple=True, help="A model that was not trained on the data. Repeatable."
)
@click.option(
    "--control-rows",
    callback=_checked_rows,
    help="Held-out rows that no model was trained on, for example 400:500; not among the tested rows (--rows).",
)
@rows
@render
@repairs
@click.option("--shards", type=options.POSITIVE, help="Number of shards (default: chosen from the size of the data).")
@click.option(
    "--shuffles",
    type=options.POSITIVE,
    help="Shuffled orders per shard, all in one look (default: 5 in a first look; 25 if its p-value is not clear).",
)
@click.option(
    "--permutations",
    type=options.POSITIVE,
    help="Also run the simple permutation test, with at most this many orders of the whole data set.",
)
@click.option(
    "--prefill",
    help='Instruction for a model that only answers messages, such as "Continue the file."; the text then begins its '
    "answer.",
)
@options.prices
@click.option("--max-examples", type=click.IntRange(min=2), default=5000, help="Use only the first N examples.")
@click.option("--context", type=click.IntRange(min=8), help="Context length, in tokens (default: the model's window).")
@click.option(
    "--alpha",
    type=options.SHARE,
    default=0.01,
    help="Significance level; a corrected p-value below it is reported as detected.",
)
@options.seed
@click.option("--suite", default="contamination", help="Name of the suite.")
@options.plugins
@options.data_dir
@options.results_dir
@options.cache_dir
@options.force
@options.as_json
def test_command(
    models: tuple[str, ...],
    data: tuple[str, ...],
    control_models: tuple[str, ...],
    control_rows: str | None,
    rows: str | None,
    render: str,
    repairs: tuple[str, ...],
    shards: int | None,
    shuffles: int | None,
    permutations: int | None,
    prefill: str | None,
    prices: Path | None,
    max_examples: int,
    context: int | None,
    alpha: float,
    seed: int,
    suite: str,
    plugins: tuple[Path, ...],
    data_dir: Path | None,
    results_dir: Path,
    cache_dir: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Test whether MODELS were trained on data sets, and report the results.

    A model that returns no log-probabilities is tested on what it predicts, token by token; the number of calls and
    their price are shown first. All data sets are checked before a model is asked. Run the same command again to
    continue after an interruption. Exit codes: 1 if a test failed or a data set is not testable; 2 if nothing could be
    run because of an error.
    """
    from harness.cli.contamination_failures import exit_with_failures, refuse_if_no_model_opens
    from harness.cli.contamination_generated import announce, refuse_scoring_options
    from harness.cli.run import execute, name_report
    from harness.contamination.report import build_report
    from harness.contamination.sweep import contamination_sweep, only_generating
    from harness.costs.prices import load_prices
    from harness.runs.runner import Settings

    settings: dict[str, Any] = {"render": render, "max_examples": max_examples, **_repairs(repairs)}
    # A tenth of the level leaves room for corrections over several data sets.
    generated = {**settings, "alpha": alpha / 10} | ({} if prefill is None else {"prefill": prefill})
    settings |= {"shuffles": shuffles, "first_look": None} if shuffles is not None else {}
    settings |= {"shards": shards} if shards is not None else {}
    settings |= {"context": context} if context is not None else {}
    settings |= {"simple": {"most": permutations}} if permutations is not None else {}
    generating = only_generating((*models, *control_models), plugins)
    if len(generating) == len({*models, *control_models}):
        refuse_scoring_options(
            {"--shards": shards, "--shuffles": shuffles, "--permutations": permutations, "--context": context}
        )
    sweep, registry = contamination_sweep(
        models, data, control_models=control_models, rows=rows, control_rows=control_rows, settings=settings,
        generating=generating, generated=generated, alpha=alpha, plugins=plugins, suite=suite, seed=seed,
    )  # fmt: skip
    _say_untestable(sweep.runs, registry, data_dir)
    refuse_if_no_model_opens(sweep.runs, registry)
    folders = Settings(results_dir, data_dir, force, load_prices(prices), cache_dir=cache_dir)
    announce(sweep.runs, generating, registry, folders)
    records = execute(sweep.runs, registry, folders)
    name_report(records, registry, folders)
    report = build_report(records, registry)
    nothing = all(record.status != "ok" for record in records)
    if as_json or not nothing:  # the reasons of failures have been printed
        _print(report, as_json)
    exit_with_failures(records)
    if report.untestable:
        sys.exit(1)


@contamination_command.command("report", short_help="Report the contamination tests of finished suites.")
@click.argument("suites", nargs=-1)
@options.results_dir
@options.as_json
def report_command(suites: tuple[str, ...], results_dir: Path, as_json: bool) -> None:
    """Report the contamination tests of SUITES (default: all suites in the results folder)."""
    from harness.contamination.report import build_report
    from harness.storage.results import find_runs

    _print(build_report(find_runs(results_dir, suites or None)), as_json)


@contamination_command.command("diagnose", short_help="Check whether the order of DATA can be tested at all.")
@click.argument("data", nargs=-1, required=True)
@rows
@render
@repairs
@options.seed
@options.plugins
@options.data_dir
@options.as_json
def diagnose_command(
    data: tuple[str, ...],
    rows: str | None,
    render: str,
    repairs: tuple[str, ...],
    seed: int,
    plugins: tuple[Path, ...],
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Check, from its text alone, whether the order of DATA can be tested. No model is needed.

    The exit code is 1 if the order is not testable.
    """
    from harness.cli.contamination_names import short_labels
    from harness.cli.contamination_report import show_diagnostics
    from harness.contamination.sweep import contamination_sweep, diagnoses

    def diagnosed(settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
        chosen = {"render": render, **settings}
        sweep, registry = contamination_sweep(["fake:0"], data, rows=rows, settings=chosen, plugins=plugins, seed=seed)
        return diagnoses(sweep.runs, registry, data_dir)

    found = diagnosed(_repairs(repairs))
    wrong = [name for name, description in found.items() if not description["exchangeable"]]
    otherwise = diagnosed({}) if wrong and repairs and not as_json else {}
    if as_json:
        say(json_text(found))
    else:
        console = make_console()
        labels = short_labels(found)
        for name, description in found.items():
            show_diagnostics(labels[name], description, console)
            if name in wrong:
                print_note(console, _advice(otherwise.get(name)))
            console.print()
    if wrong or not all(description.get("testable", True) for description in found.values()):
        sys.exit(1)


def _advice(otherwise: Mapping[str, Any] | None) -> str:
    """Return which repair may help, given what the text's own repairs give, or None if these were made."""
    if otherwise and otherwise["exchangeable"]:
        return f"Without --repair, the harness repairs it: {'; '.join(otherwise['repairs']) or 'nothing needs repair'}."
    return (
        "No repair that the harness makes by itself helps. If the order follows a key of the examples' meta, such as a "
        "topic, try --repair blocks=KEY; otherwise this order cannot be tested."
    )


def _say_untestable(runs: Sequence[RunSpec], registry: Registry, data_dir: Path | None) -> None:
    """Check all data sets, and say which ones cannot be tested, before a model is loaded or asked."""
    from harness.cli.contamination_names import short_labels
    from harness.contamination.statistics.testable import why_not_testable
    from harness.contamination.sweep import read_descriptions
    from harness.output.console import make_console, print_note

    reasons = {}
    for spec, description in read_descriptions(runs, registry, data_dir):
        if reason := why_not_testable(description):
            reasons[spec.scenario.label, spec.adapter.arguments.get("rows")] = reason
    if reasons:
        console = make_console(err=True)
        console.print("No model is asked about data whose order cannot be tested:", soft_wrap=True)
        labels = short_labels(scenario for scenario, _ in reasons)
        for (scenario, rows), reason in reasons.items():
            print_note(console, f"{labels[scenario]}{f' [{rows}]' if rows else ''}: {visible(reason)}")


def _repairs(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the adapter's setting for the repairs that were named; nothing without a name."""
    if not names:
        return {}
    return {"repairs": [] if names == ("none",) else [_repair(name) for name in names]}


def _repair(name: str) -> Any:
    key, equals, value = name.partition("=")
    return {"blocks": value} if equals and key == "blocks" else name


def _print(report: Report, as_json: bool) -> None:
    from harness.cli.contamination_report import show_report

    if as_json:
        say(json_text(report.as_json()))
    else:
        show_report(report, make_console())
