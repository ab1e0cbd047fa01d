"""``harness lab paper``: the exhibits of Oren et al. 2023, from models that it trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.cli.lab_runs import background, characters, device, draw, exit_if_failed, run_specs, run_suite, train
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

    EXHIBIT is one or more of table1, table2, duplication, shards, shuffles, model-sizes, false-alarms and min-k
    (default: all). The test sets are those of the paper's repository, in the folder test_set_contamination of the data
    folder. Run the same command again to continue after an interruption; finished models, tests and draws are kept.

    \b
    harness lab paper
    harness lab paper shards shuffles
    harness lab paper table2 -m hf:EleutherAI/pythia-1.4b --whole
    """  # noqa: D301 - click wants the character itself
    from harness.contamination.lab.missing_data import missing_data
    from harness.contamination.lab.paper import EXHIBITS, Paper
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
    if "min-k" in wanted and (problem := paper.min_k_problem()):
        if exhibits:
            raise click.UsageError(problem)
        wanted.remove("min-k")
        say(f"Without min-k: {problem}", err=True)
    registry = default_registry()
    runs: list[RunSpec] = []
    if "table2" in wanted:
        tested = models or [f"hf:{paper.table_1_folder.resolve()}"]
        runs, registry = benchmark_runs(tested, "table2", paper.examples)
    if missing := missing_data(paper, wanted, models, runs, registry):
        lines = "\n".join(f"  {line}" for line in missing)
        raise DataError(f"nothing was trained or tested, since data are missing:\n{lines}")
    checkpoints = paper.checkpoints([name for name in wanted if name != "table2" or not models])
    suites = paper.suites(wanted, registry)
    _say_plan(checkpoints, len(runs) + sum(map(len, suites.values())), output)
    train(checkpoints, device)
    records = {name: run_suite(output, name, tests) for name, tests in suites.items()}
    if runs:
        places = {spec.name: place for place, spec in enumerate(runs)}
        finished = run_specs(output, runs, registry, data_dir)
        records["table2"] = sorted(finished, key=lambda record: places[record.name])
    tables = _tables(paper, wanted, records, draws)
    _show(tables, output, format_)
    if any(found for found in records.values()):
        draw(output, pictures)
    exit_if_failed([record for found in records.values() for record in found])


def _say_plan(checkpoints: Mapping[Path, CheckpointPlan], tests: int, output: Path) -> None:
    from harness.contamination.lab.checkpoints import trained_before
    from harness.contamination.lab.paper import training_seconds

    left = [plan for folder, plan in checkpoints.items() if not trained_before(folder, plan)]
    if left:
        minutes = max(1, round(sum(map(training_seconds, left)) / 60))
        say(
            f"Training {counted(len(left), 'model')}: about {counted(minutes, 'minute')} on one idle core. "
            "The tests take about as long again.",
            err=True,
        )
    say(f"{counted(tests, 'test')}; results in {output}. To continue later, run the same command again.", err=True)


def _tables(
    paper: Paper, wanted: Sequence[str], records: Mapping[str, Sequence[RunRecord]], draws: int
) -> dict[str, ResultTable]:
    from harness.contamination.lab import exhibits
    from harness.contamination.lab.checkpoints import read_record
    from harness.contamination.lab.table_2 import table_2

    size = f"Slices of {paper.examples} examples" if paper.examples else "Whole files"
    about = f"{size}; models trained from scratch, seed {paper.seed}."
    checkpoints = paper.checkpoints([name for name in wanted if name != "table2"])
    slices = {folder: plan.injections for folder, plan in checkpoints.items()}
    first = paper.dosed(paper.presets[0])[0].name if {"duplication", "model-sizes"} & set(wanted) else ""
    sizes = {folder.name: int(read_record(folder)["parameters"]) for folder in checkpoints}

    def tests(suite: str) -> list[exhibits.SliceResult]:
        return exhibits.slice_results(records.get(suite, ()), slices)

    makers: Mapping[str, Callable[[], ResultTable]] = {
        "table1": lambda: exhibits.table_1(tests("table1"), paper.permutations, about),
        "table2": lambda: table_2(
            records["table2"], f"The first {paper.examples} examples of each file." if paper.examples else ""
        ),
        "duplication": lambda: exhibits.duplication([one for one in tests("copies") if one.model == first], about),
        "shards": lambda: exhibits.by_setting(tests("shards"), "shards", about),
        "shuffles": lambda: exhibits.by_setting(tests("shuffles"), "shuffles", about),
        "model-sizes": lambda: exhibits.model_sizes(tests("copies"), sizes, about),
        "false-alarms": lambda: exhibits.false_alarms(
            tests("table1"), draws, paper.seed, paper.output / "false-alarms"
        ),
        "min-k": lambda: exhibits.min_k(
            tests("table1"), exhibits.membership_scores(records["min-k"], slices), about
        ),
    }  # fmt: skip
    return {name: makers[name]() for name in wanted}


def _show(tables: Mapping[str, ResultTable], output: Path, format_: str) -> None:
    """Print the exhibits, and write each as JSON."""
    from harness.contamination.lab.paper import EXHIBITS
    from harness.output.result_table import render, show

    folder = output / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    console = make_console()
    for name, table in tables.items():
        (folder / f"{name}.json").write_text(render(table, "json"), encoding="utf-8")
        if format_ == "terminal":
            console.print(f"\n{EXHIBITS[name]}", style="bold")
            show(table, console)
        else:
            say(render(table, format_), newline=False)
