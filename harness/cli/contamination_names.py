"""Names of data sets and models in the tables of ``harness contamination``, shortened as far as they stay distinct."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from harness.output.display import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_NARROWEST = 12
"""Smallest width of a column of names."""


def short_labels(scenarios: Iterable[str]) -> dict[str, str]:
    """Return a short name for each scenario's label; for files, the end of the path that makes it unique."""
    labels = list(dict.fromkeys(scenarios))
    shown = {}
    for label in labels:
        head, parameter, path = label.partition(":path=")
        parts = PurePath(path).parts
        rivals = [PurePath(other.partition(":path=")[2]).parts for other in labels if other != label]
        length = next(
            (k for k in range(1, len(parts)) if parts[-k:] not in [rival[-k:] for rival in rivals]), len(parts)
        )
        shown[label] = visible(str(PurePath(*parts[-length:])) if parameter and parts else head)
    return shown


def short_model(model: str) -> str:
    """Return a model's label without the folders before its own name."""
    backend, _, identifier = model.partition(":")
    return f"{backend}:{identifier.rstrip('/').rpartition('/')[2]}"


def with_folded_names(build: Callable[[Callable[[str], str]], Table], console: Console) -> Table:
    """Return a table whose names are folded to the width that its other columns leave.

    Args:
        build: Makes the table, given what to do with each name in its first column.
        console: Where it will be printed.
    """
    from rich.measure import Measurement

    others = Measurement.get(console, console.options.update(width=1000), build(lambda name: "")).maximum
    table = build(partial(folded, width=max(console.width - others, _NARROWEST)))
    for column in table.columns:
        column.no_wrap = True
    return table


def folded(name: str, width: int) -> str:
    """Return a name in lines of at most ``width`` characters, broken at separators if it has any."""
    lines = []
    while len(name) > width:
        after = max(name.rfind(mark, 0, width) + 1 for mark in " /_-=:,")
        end = max(after, name.rfind(".", 0, width + 1)) or width  # an extension stays whole
        lines.append(name[:end].rstrip())
        name = name[end:]
    return "\n".join([*lines, name])
