"""Prints text to the terminal with control characters shown as escapes; :mod:`.console` does so for tables."""

from __future__ import annotations

import logging
import sys
import traceback
from types import TracebackType
from typing import Any

import click

from harness.output.display import lines


def say(text: str = "", *, err: bool = False, newline: bool = True, **style: Any) -> None:
    """Print a text to standard output, or to standard error.

    Args:
        text: What to print; control characters other than line feed and tab are shown as escapes.
        err: True to print to standard error.
        newline: True to end with a line feed.
        style: Colours and emphasis, as :func:`click.style` takes them.
    """
    click.secho(lines(text), err=err, nl=newline, **style)


def make_diagnostics_safe() -> None:
    """Escape logged warnings and the traceback of a bug in the same way."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(SafeFormatter())
    sys.excepthook = _print_traceback


class SafeFormatter(logging.Formatter):
    """Formats a log record with control characters shown as escapes."""

    def format(self, record: logging.LogRecord) -> str:
        return lines(super().format(record))


def _print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(lines("".join(traceback.format_exception(kind, error, trace))))
