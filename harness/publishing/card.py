"""The data card: README.md of a published data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import yaml

from harness.leaderboard.formatting import number
from harness.output.markdown import escaped
from harness.publishing.tables import Row, run_row

if TYPE_CHECKING:
    from harness.publishing.contents import Contents

TAG = "holistic-harness"
"""Tag by which ``harness publish`` recognizes a repository that it created."""

_MOST_RUNS = 200
"""Runs in the card's table; the rest is in the data."""


def card(contents: Contents, repository: str, tables: Mapping[str, str]) -> str:
    """Return the card.

    Args:
        contents: The files that it describes.
        repository: ``owner/name`` of the data set.
        tables: What the rows of each table are.
    """
    metadata = {
        "pretty_name": f"Evaluation results: {repository.rpartition('/')[2]}",
        "tags": [TAG, "evaluation", "evaluation-results"],
        "viewer": True,
        "configs": [
            {
                "config_name": name,
                "data_files": [{"split": "results", "path": f"data/{name}/*.parquet"}],
                **({"default": True} if name == "runs" else {}),
            }
            for name in contents.tables
        ],
    }
    head = yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)
    return f"---\n{head}---\n\n" + "\n\n".join(_sections(contents, repository, tables)) + "\n"


def _sections(contents: Contents, repository: str, tables: Mapping[str, str]) -> list[str]:
    runs = _runs(contents)
    models, scenarios = len({row["model"] for row in runs}), len({row["scenario"] for row in runs})
    sections = [
        f"# Evaluation results: {escaped(repository.rpartition('/')[2])}",
        f"Results of {len(runs):,} evaluation {'run' if len(runs) == 1 else 'runs'}: {models:,} "
        f"{'model' if models == 1 else 'models'} on {scenarios:,} {'scenario' if scenarios == 1 else 'scenarios'}, "
        "measured with holistic-harness unless the column `imported_from` names another program.",
        "## Contents",
        "\n".join(
            [
                "| configuration | content |",
                "|:--|:--|",
                *(f"| `{name}` | {tables[name]} |" for name in contents.tables),
            ]
        ),
        "The folder `results` has the record of each run (run.json: settings, every statistic, versions). Folders, "
        "host and command line of the machine are left out. Each table has a file for each suite.",
        "```python\nfrom datasets import load_dataset\n\n"
        f'runs = load_dataset("{repository}", "runs", split="results")\n```',
        "Numbers are means over instances with 95 % intervals. Compare values of one metric and one method only; "
        "samples with the same `scenario` and `id` have the same question.",
    ]
    if contents.canary:
        sections += [
            "## Do not train on this data",
            "The samples hold questions and answers of test sets. A model that was trained on them can no longer be "
            "tested with them. Keep this repository gated, filter it out of training data by the line below, and do "
            "not copy samples to pages that crawlers read.",
            f"    {contents.canary}",
        ]
    sections += ["## Results", _results(runs)]
    return sections


def _runs(contents: Contents) -> list[Row]:
    """Return the rows of all runs, including those of other suites, sorted by suite and name."""
    rows = [*map(run_row, contents.runs), *contents.others.runs]
    return sorted(rows, key=lambda row: (str(row["suite"]), str(row["run"])))


def _results(runs: Sequence[Row]) -> str:
    lines = ["| scenario | method | model | metric | value | 95 % interval | n |", "|:--|:--|:--|:--|--:|:--|--:|"]
    for row in runs[:_MOST_RUNS]:
        names = (str(row[key]) for key in ("scenario", "method", "model", "main_metric"))
        cells = [escaped(name.replace("\n", " ")) for name in names]
        if row.get("value") is None:
            word = "failed" if row["status"] == "failed" else (row.get("no_value") or "–").partition(":")[0]
            cells += [word, "", ""]
        else:
            low, high = row["ci95_low"], row["ci95_high"]
            interval = "" if low is None or high is None else f"{number(low)} to {number(high)}"
            cells += [number(row["value"]), interval, f"{row['count']:,}"]
        lines.append(f"| {' | '.join(cells)} |")
    if len(runs) > _MOST_RUNS:
        lines.append(f"\n… and {len(runs) - _MOST_RUNS:,} more runs in the configuration `runs`.")
    return "\n".join(lines)
