"""The scenarios' data: descriptions, how each is asked, every model on every metric, how difficult the items are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.leaderboard import board_text
from harness.leaderboard.cells import main_stat
from harness.leaderboard.site import descriptions
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.board_columns import column_names, default_columns
from harness.leaderboard.site.boards import cell_values, column_title
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.item_difficulty import difficulty
from harness.leaderboard.site.measures import representing
from harness.leaderboard.site.snapshot import BoardView, Snapshot
from harness.output.display import brief
from harness.storage.results import RunRecord

_SIMPLE = (str, int, float, type(None))

MOST_SUBRUNS = 200
"""Most sub-runs of a column that are listed individually."""


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write ``scenarios`` and, for each scenario, ``scenarios/ADDRESS`` and below it ``items``.

    ``items`` has the difficulty of the items of each of its columns, or null (:func:`difficulty`).
    """
    view = snapshot.boards[0]
    keys = [name.key for name in column_names(snapshot, view)]
    shown = default_columns(view.board.columns)
    columns: dict[str, list[int]] = {}
    for position, group in enumerate(view.groups):
        if view.board.columns[position].score is not None:
            continue
        columns.setdefault(group.scenario, []).append(position)
    listing = []
    for name, several in sorted(columns.items()):
        # The column that the leaderboard shows comes first; of several, the one with the most models.
        positions = sorted(several, key=lambda p: (not shown[p], -len(view.counting[p]), p))
        about = {"name": name, "address": scenario_address(name), **descriptions.scenario(snapshot.registry, name)}
        listing.append({key: about[key] for key in ("name", "address", "title") if key in about})
        page = {"about": about, "columns": [{"key": keys[p], **_column(snapshot, view, p)} for p in positions]}
        folder.put(f"scenarios/{about['address']}", page)
        items = f"scenarios/{about['address']}/items"
        known = folder.read(items)
        earlier = known if isinstance(known, list) and len(known) == len(positions) else [None] * len(positions)
        pairs = zip(positions, earlier, strict=True)
        folder.put(items, [difficulty(view, position, folder, before) for position, before in pairs])
    folder.put("scenarios", listing)


def _column(snapshot: Snapshot, view: BoardView, column: int) -> dict[str, Any]:
    rows = view.board.rows
    counting = view.counting[column]
    models = [row.model for row in rows if counting.get(row.model)]
    first = {model: next(iter(counting[model].values())) for model in models}
    parts = []
    for subrun in list(view.groups[column].runs)[: MOST_SUBRUNS if len(view.groups[column].runs) > 1 else 0]:
        runs = [counting[model].get(subrun) for model in models]
        label = next(run.spec.scenario.label for run in runs if run is not None) if any(runs) else subrun
        cells = []
        for run in runs:
            stat = main_stat(run) if run is not None and run.status == "ok" else None
            low, high = (stat.ci95 or (None, None)) if stat else (None, None)
            cells.append(None if run is None else [address_of(run), stat and stat.mean, low, high, run.no_value])
        parts.append([label, cells])
    chosen = representing(view.measures[column], view.groups[column].metric)
    with_examples = [run for model in models for run in counting[model].values() if run.examples]
    newest = max((run for runs in counting.values() for run in runs.values()), key=lambda run: run.finished)
    return {
        **column_title(snapshot, view, column),
        "asked": _asked(newest),
        "suites": sorted({run.suite for subruns in counting.values() for run in subruns.values()}),
        "models": [[model, model_address(first[model].spec.model)] for model in models],
        "runs": [[address_of(run) for run in counting[model].values()] for model in models]
        if len(view.groups[column].runs) == 1
        else [[] for _ in models],
        "measures": [
            {
                "metric": measure.metric,
                "category": measure.category,
                "worst": measure.worst,
                "higher": measure.higher_is_better,
                "represents": measure in chosen,
                "about": descriptions.metric(snapshot.registry, measure.metric),
                "cells": [cell_values(measure.cells.get(model)) for model in models],
            }
            for measure in view.measures[column]
        ],
        "no_values": [_no_value(view, column, model) for model in models],
        "parts": parts,
        "prompts": _prompts(view, column, models),
        "examples": address_of(with_examples[0]) if with_examples else None,
    }


def _no_value(view: BoardView, column: int, model: str) -> list[str]:
    """Return the word that is shown instead of a model's number, and the reasons; empty if there is a number."""
    cell = next(row.cells[column] for row in view.board.rows if row.model == model)
    return [cell.no_value_word, *board_text.no_values(cell)] if cell is not None and cell.no_value_word else []


def _prompts(view: BoardView, column: int, models: Sequence[str]) -> list[list[Any]]:
    """Return what is known of each model with several prompts.

    For each its position, the standard error from instances, the standard deviation between prompts, 1 if that is
    without noise, the number of prompts that the interval is for, or 0 if it is for others too, and each prompt's mean
    with its description, the best first.
    """
    found = []
    cells = {row.model: row.cells[column] for row in view.board.rows}
    for place, model in enumerate(models):
        cell = cells.get(model)
        prompts = cell.prompts if cell is not None else None
        if prompts is None:
            continue
        effects = prompts.effects
        means = sorted(
            zip(effects.means, prompts.descriptions, strict=True),
            key=lambda one: one[0],
            reverse=prompts.higher_is_better is not False,
        )
        only = 0 if effects.complete else len(means)
        listed = [[mean, brief(words, 400)] for mean, words in means]
        found.append([place, effects.instances.stderr, effects.deviation, int(prompts.paired), only, listed])
    return found


def _asked(run: RunRecord) -> dict[str, Any]:
    """Return how a run asks its scenario, as the newest run of a column has it."""
    spec = run.spec
    return {
        "method": spec.adapter.name,
        "settings": {name: value for name, value in spec.adapter.arguments.items() if isinstance(value, _SIMPLE)},
        "perturbations": [one.name for one in spec.perturbations],
        "most": spec.max_eval_instances,
        "samples": spec.samples,
        "sample_data": bool(run.provenance.get("data", {}).get("sample")),
    }
