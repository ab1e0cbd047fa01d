"""``harness lab paper``: the exhibits of Oren et al. 2023, from models that it trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.cli.lab_runs import (
    background,
    characters,
    device,
    draw,
    exit_if_failed,
    run_specs,
    run_suite,
    simulation_progress,
    train,
)
from harness.errors import DataError, did_you_mean
from harness.output.console import make_console
from harness.output.display import counted
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.contamination.lab.checkpoints import CheckpointPlan
    from harness.contamination.lab.paper import Paper
    from harness.contracts.specs import RunSpec
    from harness.output.result_table import ResultTable
    from harness.storage.results import RunRecord

SIMULATED = "false-alarms"
"""The exhibit that is simulated rather than tested."""


@click.command("paper", short_help="Repeat the tables and figures of Oren et al. 2023 with small models.")
@click.argument("exhibits", nargs=-1, metavar="[EXHIBIT]...")
@click.option("--output", type=options.FOLDER, default=Path("lab/paper"), help="Folder for models and results.")
@click.option("--examples", type=click.IntRange(min=8), default=40, help="Examples per slice, and per file of table 2.")
@click.option(
    "--whole",
    is_flag=True,
    help="Use whole files in tables 1 and 2, as in the paper. There are then no controls, and no min-k.",
)
@click.option(
    "--preset",
    "presets",
    multiple=True,
    default=("tiny", "small", "medium"),
    help="Sizes of the models, smallest first; the first is used wherever the size does not vary. Repeatable.",
)
@click.option(
    "-m", "--model", "models", multiple=True, help="Model of table 2 (default: the model of table 1). Repeatable."
)
@click.option(
    "--permutations", type=options.POSITIVE, default=99, help="Maximum number of orders in table 1's permutation test."
)
@click.option(
    "--draws",
    type=options.POSITIVE,
    default=2000,
    help="Number of simulated draws of each kind of scores in false-alarms.",
)
@options.seed
@background
@characters(300_000)
@device
@options.data_dir
@click.option(
    "--pictures/--no-pictures",
    default=None,
    help="Write the plots as SVG and PDF, with a browser (default: if one is installed).",
)
@options.table_format
def paper_command(
    exhibits: tuple[str, ...],
    output: Path,
    examples: int,
    whole: bool,
    presets: tuple[str, ...],
    models: tuple[str, ...],
    permutations: int,
    draws: int,
    seed: int,
    background: Path | None,
    characters: int | None,
    device: str,
    data_dir: Path | None,
    pictures: bool | None,
    format_: str,
) -> None:
    """Repeat the tables and figures of Oren et al. 2023 (arXiv:2310.17623) with small models trained for the purpose.

    EXHIBIT is one or more of table1, table2, duplication, shards, shuffles, model-sizes, min-k and false-alarms
    (default: all). The test sets are those of the paper's repository, in the folder test_set_contamination of the data
    folder. Each exhibit is written as soon as it is ready. Run the same command again to continue after an
    interruption; finished models, tests and draws are kept.

    \b
    harness lab paper
    harness lab paper shards shuffles
    harness lab paper table2 -m hf:EleutherAI/pythia-1.4b --whole
    """  # noqa: D301 - click wants the character itself
    from harness.contamination.lab.false_alarms import simulation_seconds
    from harness.contamination.lab.missing_data import missing_data
    from harness.contamination.lab.paper import EXHIBITS, SUITES, Paper
    from harness.contamination.lab.table_2 import benchmark_runs
    from harness.plugins.registry import default_registry

    for name in exhibits:
        if name not in EXHIBITS:
            raise click.UsageError(f"there is no exhibit {name!r}. {did_you_mean(name, EXHIBITS)}")
    wanted = [name for name in EXHIBITS if name in exhibits or not exhibits]
    if models and "table2" not in wanted:
        raise click.UsageError("--model names models for table2, which is not among the exhibits. Add table2.")
    if data_dir is None:
        raise DataError("the paper's test sets are read from the data folder; name it with --data-dir.")
    sizes = tuple(dict.fromkeys(presets))
    paper = Paper(data_dir, output, None if whole else examples, sizes, permutations, background, characters, seed)
    if problems := {name: problem for name in wanted if (problem := paper.problem(name))}:
        if exhibits:
            raise click.UsageError(" ".join(problems.values()))
        wanted = [name for name in wanted if name not in problems]
        for name, problem in problems.items():
            say(f"Leaving out {name}: {problem}", err=True)
    registry = default_registry()
    runs: list[RunSpec] = []
    if "table2" in wanted:
        tested = models or [f"hf:{paper.table_1_folder.resolve()}"]
        runs, registry = benchmark_runs(tested, "table2", paper.examples)
    if missing := missing_data(paper, wanted, models, runs, registry):
        lines = "\n".join(f"  {line}" for line in missing)
        raise DataError(f"nothing was trained or tested, because data are missing:\n{lines}")
    checkpoints = paper.checkpoints([name for name in wanted if name != "table2" or not models])
    suites = paper.suites(wanted, registry)
    draws_seconds = simulation_seconds(paper.output / "false-alarms", draws, seed) if SIMULATED in wanted else 0.0
    _say_plan(checkpoints, len(runs) + sum(map(len, suites.values())), draws_seconds, output)
    records: dict[str, list[RunRecord]] = {}
    trained: set[Path] = set()
    for name in wanted:
        sharing = [other for other in wanted if set(SUITES[other]) & set(SUITES[name])]
        own = {} if name == "table2" and models else paper.checkpoints(sharing)
        train({folder: plan for folder, plan in own.items() if folder not in trained}, device)
        trained |= set(own)
        for suite in SUITES[name]:
            if suite in records:
                continue
            if suite == "table2":
                places = {spec.name: place for place, spec in enumerate(runs)}
                finished = run_specs(output, runs, registry, data_dir)
                records[suite] = sorted(finished, key=lambda record: places[record.name])
            else:
                records[suite] = run_suite(output, suite, suites[suite])
        if name == SIMULATED:  # comes last and is slow, so the plots of the other exhibits are drawn before
            draw(output, pictures)
            with simulation_progress(name) as progress:
                _show(name, _table(name, paper, records, draws, progress), output, format_)
        else:
            _show(name, _table(name, paper, records, draws), output, format_)
    if SIMULATED not in wanted:
        draw(output, pictures)
    exit_if_failed([record for found in records.values() for record in found])


def _say_plan(checkpoints: Mapping[Path, CheckpointPlan], tests: int, draws_seconds: float, output: Path) -> None:
    from harness.contamination.lab.checkpoints import trained_before
    from harness.contamination.lab.paper import training_seconds

    left = [plan for folder, plan in checkpoints.items() if not trained_before(folder, plan)]
    if left:
        say(
            f"Training {counted(len(left), 'model')}: about {_minutes(sum(map(training_seconds, left)))} on one idle "
            "core. The tests take about as long again.",
            err=True,
        )
    if draws_seconds:
        say(f"Simulating the draws of {SIMULATED}: about {_minutes(draws_seconds)} on one idle core.", err=True)
    say(f"{counted(tests, 'test')}; results in {output}. To continue later, run the same command again.", err=True)


def _minutes(seconds: float) -> str:
    return counted(max(1, round(seconds / 60)), "minute")


def _table(
    name: str,
    paper: Paper,
    records: Mapping[str, Sequence[RunRecord]],
    draws: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ResultTable:
    """Return an exhibit whose models are trained and whose suites have run."""
    from harness.contamination.lab import exhibits
    from harness.contamination.lab.checkpoints import read_record
    from harness.contamination.lab.table_2 import table_2

    size = f"Slices of {paper.examples} examples" if paper.examples else "Whole files"
    about = f"{size}; models trained from scratch, seed {paper.seed}."
    checkpoints = paper.checkpoints([name]) if name != "table2" else {}
    slices = {folder: plan.injections for folder, plan in checkpoints.items()}

    def tests(suite: str) -> list[exhibits.SliceResult]:
        return exhibits.slice_results(records[suite], slices)

    match name:
        case "table1":
            return exhibits.table_1(tests("table1"), paper.permutations, about)
        case "table2":
            which = f"The first {paper.examples} examples of each file." if paper.examples else ""
            return table_2(records["table2"], which)
        case "duplication":
            return exhibits.duplication(tests("copies"), about)
        case "shards" | "shuffles":
            return exhibits.by_setting(tests(name), name, about)
        case "model-sizes":
            parameters = {folder.name: int(read_record(folder)["parameters"]) for folder in checkpoints}
            return exhibits.model_sizes(tests("copies"), parameters, about)
        case "min-k":
            scores = exhibits.membership_scores(records["min-k"], slices)
            return exhibits.min_k(tests("table1"), scores, about)
        case _:
            folder = paper.output / "false-alarms"
            return exhibits.false_alarms(tests("table1"), draws, paper.seed, folder, progress)


def _show(name: str, table: ResultTable, output: Path, format_: str) -> None:
    """Write an exhibit as JSON, and print it."""
    from harness.contamination.lab.paper import EXHIBITS
    from harness.output.result_table import render, show
    from harness.storage.durable import write_whole, writing

    file = output / "tables" / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    with writing(file):
        write_whole(file, render(table, "json").encode())
    if format_ == "terminal":
        console = make_console()
        console.print(f"\n{EXHIBITS[name]}", style="bold")
        show(table, console)
    else:
        say(render(table, format_), newline=False)
    say(f"{name}: {file}", err=True)
