"""``harness seal`` and ``harness contamination unseal``: prepare a data set, and test models for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import options
from harness.output.display import counted, json_text, visible
from harness.output.terminal import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.contamination.sealing.seal import DyeColumns
    from harness.contamination.unsealing import UnsealedTest


@click.command("seal")
@click.argument("file", type=options.EXISTING_FILE)
@click.option(
    "-o", "--output", type=options.FILE, help="File to publish, JSON Lines (default: FILE's name with .sealed.jsonl)."
)
@click.option("--key", "key_file", type=options.FILE, help="Private key file (default: FILE's name with .key.jsonl).")
@click.option("--shuffle/--no-shuffle", default=True, help="Publish the rows in a random order.")
@click.option(
    "--twins",
    "twin_files",
    type=options.EXISTING_FILE,
    multiple=True,
    help="File with another form of every row, in the same order; a coin flip decides which is published. Repeatable.",
)
@click.option("--rewrite-with", metavar="MODEL", help="Model that writes the twins: it rewrites --column of each row.")
@click.option("--column", help="Column that --rewrite-with rewrites.")
@click.option(
    "--canaries", type=click.IntRange(min=0), default=0, help="Number of rows that get a canary of random words."
)
@click.option(
    "--alternatives", type=options.POSITIVE, default=99, help="Number of private alternatives to each canary."
)
@click.option("--dye", type=click.IntRange(min=0), default=0, help="Number of questions with random answers to add.")
@click.option(
    "--dye-columns",
    metavar="QUESTION,OPTIONS,ANSWER",
    help="Columns with the question, the options (a list) and the answer, for --dye.",
)
@options.results_dir
@options.cache_dir
def seal_command(
    file: Path,
    output: Path | None,
    key_file: Path | None,
    shuffle: bool,
    twin_files: tuple[Path, ...],
    rewrite_with: str | None,
    column: str | None,
    canaries: int,
    alternatives: int,
    dye: int,
    dye_columns: str | None,
    results_dir: Path,
    cache_dir: Path | None,
) -> None:
    """Seal FILE, a data set, before it is published: `harness contamination unseal` can then test any model for it.

    All random choices come from the operating system and are written to a private key. Publish the sealed file only;
    keep the key, the original and all twins private.

    \b
    harness seal exam.jsonl --twins exam-rewritten.jsonl --canaries 20
    """  # noqa: D301 - click wants the character itself
    import hashlib
    from secrets import SystemRandom

    from harness.contamination.sealing.key import KEY_SUFFIX, write_key
    from harness.contamination.sealing.rewriting import twins_of_files
    from harness.contamination.sealing.seal import SealSettings, seal
    from harness.contamination.unsealing import dye_advice
    from harness.errors import DataError
    from harness.plugins.registry import default_registry
    from harness.storage.durable import write_whole, writing

    stem = file.name.partition(".")[0]
    output = output or file.with_name(f"{stem}.sealed.jsonl")
    key_file = key_file or file.with_name(f"{stem}{KEY_SUFFIX}")
    records = _records(file)
    twins = [list(found) for found in twins_of_files(records, [(str(path), _records(path)) for path in twin_files])]
    if rewrite_with is not None:
        for found, more in zip(twins, _rewritten(records, rewrite_with, column, results_dir, cache_dir), strict=True):
            found += [twin for twin in more if twin not in found]
    if (twin_files or rewrite_with) and not any(twins):
        raise DataError("no row has a twin: every other form is equal to its row.", file=file)
    sealed = seal(
        records,
        twins,
        SealSettings(shuffle, canaries, alternatives, dye, dye_columns_of(dye_columns)),
        SystemRandom(),
        source=file.name,
        source_sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        published=output.name,
    )
    for path in (output, key_file):
        if path.exists():
            raise DataError(
                "exists already, and a seal is drawn once. Name other files with --output and --key.", file=path
            )
    write_key(key_file, sealed.key)
    with writing(output):
        write_whole(output, sealed.content)
    kinds = [item.kind for item in sealed.key.items]
    ordered = ", in a random order" if shuffle else ""
    say(f"{output}: {counted(len(sealed.lines), 'row')}{ordered}. Publish this file only.")
    held = ", ".join(f"{name}: {kinds.count(kind)}" for kind, name in _ITEMS.items() if kind in kinds)
    say(f"{key_file}: the key{f' ({held})' if held else ''}. Keep it private, and the original file too.")
    without = sum(not found for found in twins)
    if (twin_files or rewrite_with) and without:
        say(f"{counted(without, 'row')} of {len(records)} without a twin, since no other form differs from the row.")
    if dye:
        say(dye_advice(sealed.key, default_registry()))


_ITEMS = {"twin": "rows with twins", "canary": "canaries", "dye": "dye questions"}


@click.command("unseal", short_help="Test MODELS for a sealed data set, with its private key.")
@click.argument("key_file", metavar="KEY", type=options.EXISTING_FILE)
@click.argument("models", nargs=-1, required=True)
@click.option("--published", type=options.FILE, help="The published file (default: in the folder of the key).")
@click.option("--alpha", type=options.SHARE, default=0.01, help="Significance level, after Holm's correction.")
@click.option("--context", type=click.IntRange(min=8), help="Context length, in tokens (default: the model's window).")
@click.option(
    "--max-tokens",
    type=options.POSITIVE,
    help="Maximum number of tokens of an answer to a dye question (default: 5, enough for a letter).",
)
@options.seed
@click.option("--suite", default="unsealed", help="Name of the suite.")
@options.data_dir
@options.results_dir
@options.cache_dir
@options.force
@options.as_json
def unseal_command(
    key_file: Path,
    models: tuple[str, ...],
    published: Path | None,
    alpha: float,
    context: int | None,
    max_tokens: int | None,
    seed: int,
    suite: str,
    data_dir: Path | None,
    results_dir: Path,
    cache_dir: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Test MODELS for a data set that `harness seal` prepared, with its private KEY.

    Each kind of item in the key is an exact test; only the test of the order needs the published file. The results
    folder then holds the private texts: keep it private too, and test hosted models only if their provider may see
    them. Exit codes: 1 if a test failed; 2 if nothing could be run because of an error.
    """
    from harness.cli.contamination_failures import exit_with_failures, refuse_if_no_model_opens
    from harness.cli.run import execute
    from harness.contamination.sealing.key import read_key
    from harness.contamination.unsealing import check_published, dye_advice, unsealed, unsealing_sweep
    from harness.errors import DataError
    from harness.runs.runner import Settings

    key = read_key(key_file)
    file: Path | None = published or key_file.with_name(key.header.published)
    no_order = ""
    if key.header.shuffled and file is not None:
        try:
            check_published(key, file)
        except DataError as error:
            if published is not None or file.exists() or not key.kinds():
                raise
            file, no_order = None, str(error)
    sweep, registry = unsealing_sweep(models, key, key_file, file, suite, seed, context, max_tokens)
    if max_tokens is None and (advice := dye_advice(key, registry)):
        say(advice, err=True)
    refuse_if_no_model_opens(sweep.runs, registry)
    records = execute(sweep.runs, registry, Settings(results_dir, data_dir, force, cache_dir=cache_dir))
    tests = unsealed(records, key, alpha, registry, no_order)
    if as_json:
        say(json_text([test.as_json() for test in tests]))
    elif any(record.status == "ok" for record in records):  # otherwise, the reasons have been printed
        _show(tests, alpha)
    exit_with_failures(records)
    if no_order:
        sys.exit(1)


def _show(tests: Sequence[UnsealedTest], alpha: float) -> None:
    from harness.cli.contamination_report import failure_notes
    from harness.contamination.p_values import shown_p
    from harness.contamination.statistics.verdict import Verdict
    from harness.contamination.unsealing import TESTS
    from harness.output.console import make_console, plain_table, print_note

    console = make_console()
    for model in dict.fromkeys(test.model for test in tests):
        console.print(model, style="bold", soft_wrap=True)
        table = plain_table("test", "items", "p", "Holm", "", numeric=slice(1, 4))
        for test in tests:
            if test.model == model:
                words = "depends on it" if test.depends else "no dependence found"
                if test.error:
                    words = "failed"
                elif test.why_not_testable:
                    words = str(Verdict.NOT_TESTABLE)
                items = "–" if test.error else f"{test.items:,}"
                table.add_row(TESTS[test.kind], items, shown_p(test.log10_p), shown_p(test.log10_p_holm), words)
        console.print(table)
        own = [test for test in tests if test.model == model]
        for line in failure_notes((TESTS[test.kind], test.error) for test in own if test.error):
            print_note(console, line)
        for test in own:
            if test.note:
                print_note(console, visible(test.note))
        console.print()
    console.print(
        "Each p-value is exact: what was published was drawn at random, and the key says how. 'depends on it': "
        f"p ≤ {alpha:g} after Holm's correction for the model's tests. A model that was not trained on the published "
        "file depends on none of these draws. If no dependence is found, that shows nothing.",
        style="dim",
    )


def _records(path: Path) -> list[Mapping[str, Any]]:
    from harness.data.formats import read_rows

    return [row.record for row in read_rows(path, file=str(path))]


def dye_columns_of(written: str | None) -> DyeColumns | None:
    """Return the columns named by ``QUESTION,OPTIONS,ANSWER``.

    Raises:
        click.BadParameter: They are not three names.
    """
    from harness.contamination.sealing.seal import DyeColumns

    if written is None:
        return None
    names = [name.strip() for name in written.split(",")]
    if len(names) != 3 or not all(names):
        raise click.BadParameter(
            f"{written!r} is not three names: QUESTION,OPTIONS,ANSWER.", param_hint="--dye-columns"
        )
    return DyeColumns(*names)


def _rewritten(
    records: Sequence[Mapping[str, Any]], model: str, column: str | None, results_dir: Path, cache_dir: Path | None
) -> list[list[Mapping[str, Any]]]:
    from harness.contamination.sealing.rewriting import rewritten
    from harness.inference.cache_file import cache_file
    from harness.inference.model_pool import Models
    from harness.plugins.registry import default_registry

    if column is None:
        raise click.UsageError("--rewrite-with needs --column, the column that it rewrites.")
    models = Models(default_registry(), cache_file(results_dir, cache_dir))
    try:
        return rewritten(records, column, models(model), model)
    finally:
        models.close()
