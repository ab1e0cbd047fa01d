"""``harness contamination``: test whether models were trained on data sets, using their published order."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import options
from harness.cli.contamination_heuristics import baselines_command, overlap_command
from harness.cli.contamination_options import options_command
from harness.cli.seal import unseal_command
from harness.output.console import make_console, plain_table
from harness.output.display import json_text
from harness.output.terminal import say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from harness.contamination.report import Report, TestFamily

render = click.option(
    "--render",
    type=click.Choice(["published", "prompt", "lettered_prompt"]),
    default="published",
    help="How examples are written: verbatim, or as a prompt with its answer.",
)
rows = click.option("--rows", help="Use only these rows, in published order, for example 0:100.")
repairs = click.option(
    "--repair",
    "repairs",
    multiple=True,
    help="strip_ids, permute_under_ids, collapse_near_duplicates, blocks=KEY (a key of meta), or none; repeatable "
    "(default: what the text calls for, where it shows that the order is not exchangeable).",
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
contamination_command.add_command(unseal_command)


@contamination_command.command("test", short_help="Test whether MODELS were trained on data sets.")
@click.argument("models", nargs=-1, required=True)
@options.data
@click.option(
    "--control-model", "control_models", multiple=True, help="A model that was not trained on the data. Repeatable."
)
@click.option("--control-rows", help="Held-out rows that no model was trained on, for example 400:500.")
@rows
@render
@repairs
@click.option("--shards", type=options.POSITIVE, help="Number of shards (default: chosen from the size of the data).")
@click.option("--shuffles", type=options.POSITIVE, default=10, help="Shuffled orders per shard.")
@click.option(
    "--permutations",
    type=options.POSITIVE,
    help="Also run the simple permutation test, with at most this many orders of the whole data set.",
)
@click.option("--stop", is_flag=True, help="Stop the next-example test as soon as its evidence reaches alpha.")
@click.option("--max-examples", type=click.IntRange(min=4), default=5000, help="Use only the first N examples.")
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
    shuffles: int,
    permutations: int | None,
    stop: bool,
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

    Run the same command again to continue after an interruption. Exit codes: 1 if a test failed; 2 if nothing could be
    run because of an error.
    """
    from harness.cli.run import execute
    from harness.contamination.report import build_report
    from harness.contamination.sweep import contamination_sweep
    from harness.runs.runner import Settings

    settings: dict[str, Any] = {"render": render, "shuffles": shuffles, "max_examples": max_examples}
    settings |= {"shards": shards} if shards is not None else {}
    settings |= {"context": context} if context is not None else {}
    settings |= _repairs(repairs)
    settings |= {"simple": {"most": permutations}} if permutations is not None else {}
    # The headline is twice the smaller of two p-values.
    settings |= {"next_example": {"stop": True, "alpha": alpha / 2}} if stop else {}
    sweep, registry = contamination_sweep(
        models, data, control_models=control_models, rows=rows, control_rows=control_rows, settings=settings,
        alpha=alpha, plugins=plugins, suite=suite, seed=seed,
    )  # fmt: skip
    records = execute(sweep.runs, registry, Settings(results_dir, data_dir, force, cache_dir=cache_dir))
    failed = [record for record in records if record.status != "ok"]
    for record in failed:
        reason = (record.error or "no reason").strip().splitlines()[-1]
        say(f"{record.spec.scenario.label} with {record.spec.model.label}: {reason}", err=True)
    if len(failed) < len(records):
        _print(build_report(records), as_json)
    if failed:
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

    The exit code is 1 if an order is not exchangeable.
    """
    from harness.contamination.sweep import contamination_sweep, diagnoses

    settings = {"render": render, **_repairs(repairs)}
    sweep, registry = contamination_sweep(["fake:0"], data, rows=rows, settings=settings, plugins=plugins, seed=seed)
    found = diagnoses(sweep.runs, registry, data_dir)
    if as_json:
        say(json_text(found))
    else:
        console = make_console()
        for name, description in found.items():
            _show_diagnostics(name, description, console)
    if not all(description["exchangeable"] for description in found.values()):
        sys.exit(1)


def _repairs(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the adapter's setting for the repairs that were named; nothing without a name."""
    if not names:
        return {}
    return {"repairs": [] if names == ("none",) else [_repair(name) for name in names]}


def _repair(name: str) -> Any:
    key, equals, value = name.partition("=")
    return {"blocks": value} if equals and key == "blocks" else name


def _print(report: Report, as_json: bool) -> None:
    if as_json:
        say(json_text(report.as_json()))
    else:
        show_report(report, make_console())


def show_report(report: Report, console: Console) -> None:
    """Print a report for people."""
    for family in report.models:
        _show_family(family, console)
    for family in report.data_sets:
        _show_family(family, console)
    console.print(
        "exact: re-labelling of shuffled shards; next: which example follows; p: both, by Bonferroni; Holm, BH and BY: "
        "corrected for all tests in the table except controls (c) and re-tests (r), which repeat the order of an "
        "earlier test. detected: dependence on the published order at the run's level after "
        "Holm; in doubt: a control rejects too, so nothing is claimed; inconclusive: the text alone shows that the "
        "order is not exchangeable. A detection shows "
        "that the model depends on the published order, given the examples; not how much a score gained by it. "
        "Nothing detected shows nothing.",
        style="dim",
    )


def _show_family(family: TestFamily, console: Console) -> None:
    from rich.measure import Measurement

    from harness.contamination.p_values import shown_p

    what = "models" if family.shared_order else "data sets"
    console.print(f"{family.name}: {len(family.targets)} {what}", style="bold", soft_wrap=True)
    table = _tests(family)
    if Measurement.get(console, console.options.update(width=1000), table).maximum > console.width:
        table = _tests(family, brief=True)
    console.print(table)
    for test in family.tests:
        for line in _notes(test.found, test.rejected_diagnostics):
            console.print(f"  {short_label(test.scenario)}: {line}", soft_wrap=True)
    if family.log10_fisher is not None:
        combined = {
            "pooled re-labelling": family.log10_pooled,
            "Fisher": family.log10_fisher,
            "Cauchy": family.log10_cauchy,
        }
        shown = ", ".join(f"{name} {shown_p(value)}" for name, value in combined.items() if value is not None)
        inconclusive = any(not test.exchangeable for test in family.targets)
        console.print(f"  all together{' but the inconclusive ones' if inconclusive else ''}, p: {shown}")
    console.print()


def _tests(family: TestFamily, *, brief: bool = False) -> Table:
    """Return a family's tests as a table; where brief, small p-values have one digit."""
    from harness.contamination.p_values import shown_p

    corrected = "BY" if family.shared_order else "BH"
    shown = partial(shown_p, brief=brief)
    headings = ("", "n", "t test", "exact", "next", "p", "Holm", corrected, "")
    table = plain_table(*headings, numeric=slice(1, 8), pad_edge=False, padding=(0, 1, 0, 0))
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.no_wrap = True
    for test in family.tests:
        found, following = test.found, test.found.get("next_example") or {}
        adjusted = test.log10_q_by if family.shared_order else test.log10_q_bh
        name = short_model(test.model) if family.shared_order else short_label(test.scenario)
        part = f" [{found['rows']}]" if found.get("rows") else ""
        table.add_row(
            f"{'c ' if test.control else 'r ' if test.retest_of else ''}{name}{part}",
            str(found["n_used"]),
            shown(found.get("log10_p_t")),
            shown(found.get("log10_p_exact")),
            shown(following.get("log10_p")),
            shown(test.log10_p),
            shown(test.log10_p_holm) if test.counts else "",
            shown(adjusted) if test.counts else "",
            str(test.verdict).removeprefix("dependence on the published order ").partition(":")[0],
        )
    return table


def _notes(found: dict[str, Any] | Any, rejected: list[str]) -> list[str]:
    notes = [f"repaired: {line}" for line in found.get("repairs") or ()]
    if rejected:
        notes.append(f"the text alone shows that the order is not exchangeable: {', '.join(rejected)}")
    longer = found.get("examples_longer_than_context")
    if longer:
        notes.append(f"{longer} examples are longer than the context of {found['context']} tokens; read in windows")
    if found.get("t_undefined"):
        notes.append(f"no t-test: {found['t_undefined']}")
    return notes


def _show_diagnostics(name: str, description: dict[str, Any], console: Console) -> None:

    console.print(f"{short_label(name)}: {description['n_used']} examples", style="bold")
    for line in description["repairs"]:
        console.print(f"  {line}", soft_wrap=True)
    table = plain_table("", "statistic", "z", "p", "Holm")
    for test, found in (description["repaired_diagnostics"] or description["diagnostics"]).items():
        table.add_row(
            test, f"{found['statistic']:.4g}", f"{found['z']:+.1f}", f"{found['p']:.3f}", f"{found['p_holm']:.3f}"
        )
    console.print(table)
    word = "nothing speaks against exchangeability" if description["exchangeable"] else "the order is not exchangeable"
    console.print(f"  {word}\n")


def short_label(scenario: str) -> str:
    """Return a scenario's label, a file's name without its folder."""
    _, parameter, path = scenario.partition(":path=")
    return Path(path).name if parameter else scenario


def short_model(model: str) -> str:
    """Return a model's label without the folders before its own name."""
    backend, _, identifier = model.partition(":")
    return f"{backend}:{identifier.rstrip('/').rpartition('/')[2]}"
