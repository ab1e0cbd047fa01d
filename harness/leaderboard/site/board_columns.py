"""How a board's columns are presented: their addresses, names and groups, and which are shown at first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.leaderboard import board_text
from harness.leaderboard.aggregate import Column
from harness.leaderboard.columns import canonical
from harness.leaderboard.site import descriptions
from harness.leaderboard.site.addresses import address
from harness.leaderboard.site.snapshot import BoardView, Snapshot
from harness.plugins.titles import SEPARATOR

FAMILY = 3
"""A scenario with at least this many columns is a group of its own, in which columns are named by their parameters."""

GROUP = 3
"""A task with fewer columns is put together with other such tasks, since a narrow group has no room for a title."""

OTHER = "Other tasks"
"""The group of the tasks with few columns."""

SCORES = "Scores"
"""The group of the composite scores."""


@dataclass(frozen=True, slots=True)
class ColumnName:
    """The presentation of one column."""

    key: str
    """Its name in addresses, unique on the board: ``gsm8k``, ``mmlu.subject-anatomy``."""
    title: str
    """Its name for people: "MMLU · anatomy"."""
    label: str
    """Its name within its group: "anatomy"."""
    group: str
    """Its group: the task, or a family of columns of one scenario."""
    shown: bool
    """True if it is shown at first: of the columns that ask the same in different ways, the one with the most
    instances in which models can be compared; not if all the models that it was run on failed everywhere."""
    test: bool
    """True if its metric tests the data set rather than the model's abilities."""
    count: int
    """The largest number of instances of any model."""


def column_names(snapshot: Snapshot, view: BoardView) -> list[ColumnName]:
    """Return the presentation of each column of a board."""
    columns = view.board.columns
    counts = [_count(view, position) for position in range(len(columns))]
    readable = board_text.readable(view.board).columns
    shown = [show and column in readable for column, show in zip(columns, default_columns(columns), strict=True)]
    families = Counter(column.scenario for column, show in zip(columns, shown, strict=True) if show)
    groups = _groups(snapshot, columns, shown, families)
    keys = _keys(columns, shown)
    taken = Counter(heading.title for heading, show in zip(view.headings, shown, strict=True) if show)
    found = []
    for position, (column, heading) in enumerate(zip(columns, view.headings, strict=True)):
        title = heading.title if shown[position] and taken[heading.title] == 1 else heading.full
        own = title.removeprefix(heading.group).removeprefix(SEPARATOR)
        scenario = snapshot.titles.scenario(column.scenario)
        base = scenario.short if scenario.title == heading.group else heading.group
        family = families[column.scenario] >= FAMILY
        found.append(
            ColumnName(
                key=keys[position],
                title=title,
                label=own if own and family else SEPARATOR.join(filter(None, [base, own])),
                group=groups[position],
                shown=shown[position],
                test=column.test,
                count=counts[position],
            )
        )
    return found


def default_columns(columns: Sequence[Column]) -> list[bool]:
    """Return which columns are shown at first: of each scenario with its parameters the primary one.

    Columns of sample data are shown only if no others count in the win rate; if no column does, only if all are such.
    """
    own = [column for column in columns if not column.test]
    real = any(not column.sample for column in [column for column in own if column.contested] or own)
    return [column.primary and not column.test and not (real and column.sample) for column in columns]


def _count(view: BoardView, position: int) -> int:
    cells = (row.cells[position] for row in view.board.rows)
    return max((cell.count for cell in cells if cell is not None), default=0)


def _groups(
    snapshot: Snapshot, columns: Sequence[Column], shown: Sequence[bool], families: Mapping[str, int]
) -> list[str]:
    """Return the group of each column; tasks with few columns are put together if there are several."""
    found = []
    for column in columns:
        if column.score is not None:
            found.append(SCORES)
        elif families[column.scenario] >= FAMILY:
            found.append(snapshot.titles.scenario(column.scenario).title)
        else:
            task = descriptions.taxonomy(snapshot.registry, column.scenario).get("task") or OTHER
            found.append(task[:1].upper() + task[1:])
    sizes = Counter(group for group, show in zip(found, shown, strict=True) if show)
    small = {group for group in found if sizes[group] < GROUP and group != SCORES}
    together = len(small) > 1 or OTHER in sizes
    return [OTHER if group in small and together else group for group in found]


def _keys(columns: Sequence[Column], shown: Sequence[bool]) -> list[str]:
    """Return a readable name for each column; of several with one name, all but the only one shown have a hash."""
    readable = []
    for column in columns:
        parts = [column.scenario, *(f"{name}-{value}" for name, value in column.parameters.items() if value)]
        slugs = (re.sub(r"[^a-z0-9]+", "-", part[:200].lower()).strip("-") for part in parts)
        readable.append(".".join(filter(None, slugs))[:60] or "column")
    shared = Counter(readable)
    first = Counter(name for name, show in zip(readable, shown, strict=True) if show)
    found = []
    for column, name, show in zip(columns, readable, shown, strict=True):
        if shared[name] == 1 or (show and first[name] == 1):
            found.append(name)
            continue
        identity = [column.scenario, column.method, column.metric, column.split, column.sample]
        found.append(address(name, canonical([*identity, column.settings, column.parameters])))
    return found
