"""``harness export``: write runs in the formats of other programs and archives."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import options
from harness.errors import HarnessError
from harness.exports.exporter import FORMATS
from harness.output.terminal import say

_MOST_NAMED = 3
"""Maximum number of runs named in a line."""


class _WithFormats(click.Command):
    """A command whose help lists the export formats."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Formats"):
            formatter.write_dl([(name, one.title) for name, one in FORMATS.items()])


@click.command("export", cls=_WithFormats)
@click.argument("results", type=options.EXISTING_FOLDER)
@click.option("--to", "format_", metavar="FORMAT", required=True, help="Output format, listed below.")
@click.option("-o", "--output", type=options.FOLDER, required=True, help="Output folder.")
@click.option("--suite", "suites", multiple=True, help="Export only this suite of RESULTS. Repeatable.")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Option of the output format. Repeatable.")
@options.plugins
@click.option("--strict", is_flag=True, help="Export nothing if the format cannot represent everything.")
def export_command(
    results: Path,
    format_: str,
    output: Path,
    suites: tuple[str, ...],
    settings: tuple[str, ...],
    plugins: tuple[Path, ...],
    strict: bool,
) -> None:
    """Write the runs of RESULTS in the format of another program or archive.

    RESULTS is a results folder, a suite's folder (results/<suite>) or a run's (results/<suite>/<run>). Failed runs and
    runs that the format cannot hold are left out and named. The exit code is 2 if nothing is exported, or if a run that
    the format can hold could not be exported.
    """
    from harness.exports.export import export_runs

    report, files = export_runs(
        results, format_, output, suites=suites or None, settings=_pairs(settings), strict=strict, plugins=plugins
    )
    say(f"{output}: {report.runs} {_plural(report.runs, 'run')} in {len(files)} {_plural(len(files), 'file')}.")
    for what, count in report.left_out.items():
        say(f"Left out: {count:,} {what}{_of_runs(list(report.left_out_of.get(what, ())), report.runs)}.", err=True)
    for sentence in report.notes:
        say(f"Note: {sentence}", err=True)
    for sentence in report.unsupported:
        say(sentence, err=True)
    if report.refused:
        raise HarnessError("\n".join(report.refused))
    if not report.runs:
        raise HarnessError("nothing was exported.")


def _pairs(settings: tuple[str, ...]) -> dict[str, str]:
    """Return ``KEY=VALUE`` options as a mapping.

    Raises:
        click.UsageError: One has no ``=``, or a key is given twice.
    """
    pairs: dict[str, str] = {}
    for one in settings:
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--set takes KEY=VALUE, not {one!r}.")
        if key in pairs:
            raise click.UsageError(f"--set {key}: given twice.")
        pairs[key] = value
    return pairs


def _of_runs(names: list[str], runs: int) -> str:
    """Return which runs values were left out of, as `` of a, b``; empty if it was all of them."""
    if not 0 < len(names) < runs:
        return ""
    return f" of {', '.join(names)}" if len(names) <= _MOST_NAMED else f" of {len(names)} runs"


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"
