"""A leaderboard as one HTML file that needs nothing else: no network, no other file, no script it did not come with.

Everything goes through one template with autoescaping. The page's policy (a CSP in its head) admits its own style and
script by their hashes and nothing else, so that even markup that got through could load and run nothing.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any

from harness.leaderboard import wording
from harness.leaderboard.aggregate import Board
from harness.leaderboard.visible import brief, sentence

if TYPE_CHECKING:
    from jinja2 import Template

TITLE_LIMIT = 500
"""Characters of a name's full text, shown when pointed at."""


def as_page(board: Board) -> str:
    """Return the leaderboard as a self-contained page; it sorts by any column, with the keyboard as well."""
    failures = wording.failures(board)
    rows = [
        {
            "model": brief(row.model),
            "full": sentence(row.model, TITLE_LIMIT),
            "rank": row.rank,
            "rate": wording.win_rate(row),
            "rate_columns": wording.win_rate_columns(row),
            "rate_key": "" if row.win_rate is None else repr(row.win_rate.value),
            "cells": [
                None
                if cell is None
                else {
                    "key": "" if cell.mean is None else repr(cell.mean),
                    "number": "" if cell.mean is None else wording.number(cell.mean),
                    "spread": "" if cell.mean is None else wording.spread(cell.mean, cell.low, cell.high),
                    "count": f"{cell.count:,}" if cell.count else "",
                    "marks": wording.marks(cell, column),
                    "best": cell.best,
                    "failure": failures.get((r, c)),
                }
                for c, (cell, column) in enumerate(zip(row.cells, board.columns, strict=True))
            ],
        }
        for r, row in enumerate(board.rows)
    ]
    columns = [
        {
            "title": heading.title,
            "metric": heading.metric,
            "details": heading.details,
            "about": sentence(f"{column.scenario}, {column.method}, {column.split} split", TITLE_LIMIT),
            "first": "ascending" if column.higher_is_better is False else "descending",
        }
        for heading, column in zip(wording.headings(board), board.columns, strict=True)
    ]
    context: dict[str, Any] = {
        "suites": [brief(suite) for suite in board.suites],
        "finished": brief(board.finished),
        "rows": rows,
        "columns": columns,
        "sample_win_rate": board.sample_win_rate,
        "footnotes": wording.footnotes(board),
        "wording": wording,
    }
    return _template().render(context) + "\n"


@cache
def _template() -> Template:
    from jinja2 import PackageLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        loader=PackageLoader("harness.leaderboard", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["csp_hash"] = _csp_hash
    return environment.get_template("page.html.jinja")


def _csp_hash(text: str) -> str:
    """Return what a content security policy admits an inline style or script by."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(str(text).encode()).digest()).decode() + "'"
