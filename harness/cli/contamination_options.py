"""``harness contamination options``: do models prefer multiple-choice options in their published order?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.output.display import json_text, visible
from harness.output.terminal import say

if TYPE_CHECKING:
    from rich.table import Table

    from harness.contamination.option_tests import OptionTest


@click.command("options", short_help="Test whether MODELS depend on the published order of answer options.")
@click.argument("models", nargs=-1, required=True)
@click.option(
    "--data",
    multiple=True,
    required=True,
    help="A multiple-choice scenario, such as mmlu:subject=anatomy, or a file of questions (JSON Lines, CSV, …). "
    "Repeatable.",
)
@click.option("--question", metavar="COLUMN", help="The file's column of questions (default: found by common names).")
@click.option(
    "--options",
    "option_columns",
    metavar="COLUMNS",
    help="The file's column of options, or one for each option, such as A,B,C,D (default: found by common names).",
)
@click.option(
    "--answer",
    metavar="COLUMN",
    help="The file's column of answers: the letter, text or number of the correct option (default: found by common "
    "names); none if there are no answers.",
)
@click.option(
    "--numbered-from",
    type=click.Choice(["0", "1"]),
    help="Number of the first option, if answers are numbers (default: found from all answers).",
)
@click.option(
    "--orders",
    type=click.IntRange(min=2),
    default=24,
    help="Maximum number of orders of a question's options to compare.",
)
@options.limit
@click.option("--alpha", type=options.SHARE, default=0.01, help="Significance level, after Holm's correction.")
@options.seed
@click.option("--suite", default="contamination-options", help="Name of the suite.")
@options.data_dir
@options.results_dir
@options.cache_dir
@options.force
@options.as_json
def options_command(
    models: tuple[str, ...],
    data: tuple[str, ...],
    question: str | None,
    option_columns: str | None,
    answer: str | None,
    numbered_from: str | None,
    orders: int,
    max_eval_instances: int | None,
    alpha: float,
    seed: int,
    suite: str,
    data_dir: Path | None,
    results_dir: Path,
    cache_dir: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Test whether MODELS prefer the options of multiple-choice questions in their published order.

    The test still works if the rows were shuffled before training, where a test of the rows' order finds nothing. It
    needs options that the authors put in random order; the text is checked for that.

    A file has one question per record. Columns that you do not name are found by common names: question, stem, prompt,
    …; options or choices, or A, B, … or option1, option2, …; answer, answer_key, correct, label, …. If a column holds
    objects, name a key with a dot, such as question.stem.

    Exit codes: 1 if a test failed or a data set is not testable; 2 if nothing could be run because of an error.
    """
    from harness.cli.contamination_failures import exit_with_failures, refuse_if_no_model_opens
    from harness.cli.run import execute
    from harness.contamination.option_tests import option_sweep, option_tests
    from harness.contamination.sweep import read_descriptions
    from harness.runs.runner import Settings

    given = {"question": question, "options": option_columns, "answer": answer}
    columns: dict[str, str | int] = {name: value for name, value in given.items() if value is not None}
    columns |= {} if numbered_from is None else {"numbered_from": int(numbered_from)}
    sweep, registry = option_sweep(
        models, data, columns=columns, orders=orders, alpha=alpha, suite=suite, seed=seed, instances=max_eval_instances
    )
    for _ in read_descriptions(sweep.runs, registry, data_dir):  # refuses faulty data before a model is loaded
        pass
    refuse_if_no_model_opens(sweep.runs, registry)
    records = execute(sweep.runs, registry, Settings(results_dir, data_dir, force, cache_dir=cache_dir))
    found: Mapping[str, Sequence[OptionTest]] = {}
    if any(record.status == "ok" for record in records):
        found = option_tests(records)
        if as_json:
            say(json_text([test.as_json() for tests in found.values() for test in tests]))
        else:
            _show(found, alpha)
    exit_with_failures(records)
    if any(test.why_not_testable for tests in found.values() for test in tests):
        sys.exit(1)


def _show(by_model: Mapping[str, Sequence[OptionTest]], alpha: float) -> None:
    from harness.cli.contamination_names import short_labels, with_folded_names
    from harness.output.console import make_console, print_note

    console = make_console()
    labels = short_labels(test.scenario for tests in by_model.values() for test in tests)
    for model, tests in by_model.items():
        console.print(visible(model), style="bold", soft_wrap=True)
        console.print(with_folded_names(partial(_table, tests, labels), console))
        for test in tests:
            if reason := test.why_not_testable:
                print_note(console, f"{labels[test.scenario]}: {test.verdict}: {visible(reason)}")
        console.print()
    console.print(
        "likeliest: questions whose published order is the likeliest of all that were compared. p: exact, if the "
        "authors drew each question's order of options at random; corrected over the model's data sets by Holm, level "
        f"{alpha:g}. depends: on the published order. not testable: the text alone shows that the options are not in "
        "random order, or there are too few questions for any p-value below the level. re-test: an earlier data set "
        "has the same questions; only that one is in the correction. If no dependence is found, that shows nothing.",
        style="dim",
    )


def _table(tests: Sequence[OptionTest], labels: Mapping[str, str], written: Callable[[str], str]) -> Table:
    """Return one model's tests as a table, with names as they are to be written."""
    from harness.cli.contamination_report import in_table
    from harness.contamination.p_values import shown_p
    from harness.output.console import plain_table

    headings = ("", "questions", "likeliest", "by chance", "p", "Holm", "")
    table = plain_table(*headings, numeric=slice(1, 6), pad_edge=False, padding=(0, 1, 0, 0))
    for test in tests:
        reason = test.why_not_testable
        shares = (f"{float(test.found[name]):.1%}" for name in ("first_rate", "first_rate_by_chance"))
        table.add_row(
            written(labels[test.scenario]),
            f"{test.found['n_questions']:,}",
            *(("–", "–") if reason else shares),
            shown_p(None if reason else test.log10_p),
            shown_p(test.log10_p_holm) if test.counts else "–" * bool(reason),
            in_table(str(test.verdict)),
        )
    return table
