"""What people say, on the results site: for each study a table of models by questions, without the raters' names."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness.annotation.measures import Measure, Measured, StudyResults
from harness.annotation.ratings import read_ratings
from harness.annotation.study import RATINGS_FILE, STUDY_FILE, Study, read_study
from harness.annotation.table import what_intervals_cover
from harness.errors import HarnessError
from harness.leaderboard.site.addresses import model_address
from harness.leaderboard.site.builder import Section
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.search import Entry
from harness.leaderboard.site.snapshot import Snapshot

_LOG = logging.getLogger(__name__)

STUDIES = "annotation"
"""The folder of studies in a results folder, where sites look for them."""

GOLD_SHARE = 0.8
"""The page can leave out raters with a smaller share of right ratings of gold items."""


def people_sections(results_dir: Path, named: Iterable[Path] = ()) -> list[Section]:
    """Return the site's page about the studies of a results folder and others that are named; none without studies.

    Raises:
        DataError: A named folder has no study, or a file of it is damaged. A study in the results folder of which a
            file is damaged is left out, with a warning.
    """
    named = tuple(named)
    folders = _folders(results_dir, named)
    required = {folder.resolve() for folder in named}
    return [Section("people", "People", partial(_write, folders, required))] if folders else []


def ratings_files(results_dir: Path, named: Iterable[Path] = ()) -> list[Path]:
    """Return the files of ratings that :func:`people_sections` reads."""
    return [folder / RATINGS_FILE for folder in _folders(results_dir, named)]


def _folders(results_dir: Path, named: Iterable[Path]) -> list[Path]:
    found = sorted(file.parent for file in (results_dir / STUDIES).glob(f"*/{STUDY_FILE}"))
    return list({folder.resolve(): folder for folder in (*found, *named)}.values())


def _write(folders: Sequence[Path], required: Collection[Path], snapshot: Snapshot, site: SiteFolder) -> list[Entry]:
    """Write ``people``: the studies of the site's suites, each with its questions and one or two views.

    A view has a row for each model, the cells in the order of the questions, and the raters' agreement. The second, if
    there is one, leaves out raters who fail gold items. Returns the studies for the site's search.
    """
    links = {name: model_address(runs[0].spec.model) for name, runs in snapshot.by_model.items()}
    studies = []
    for folder in folders:
        try:
            study = read_study(folder)
            ratings = read_ratings(folder / RATINGS_FILE, study)
        except HarnessError as error:
            if folder.resolve() in required:
                raise
            _LOG.warning("The ratings in %s are left out of the site: %s", folder, error)
            continue
        suites = {answer.run.partition("/")[0] for item in study.items for answer in item.answers if answer.run}
        if suites & set(snapshot.suites):
            studies.append(_study(study, StudyResults(study, ratings), links))
            strict = StudyResults(study, ratings, GOLD_SHARE)
            if not all(rater.counted for rater in strict.raters):
                studies[-1]["views"].append(_view(strict, links))
    taken: dict[str, int] = {}
    for one in studies:  # two folders may have studies of one name
        taken[one["name"]] = number = taken.get(one["name"], 0) + 1
        one["key"] = one["name"] if number == 1 else f"{one['name']}-{number}"
    site.put("people", studies)
    return [(one["title"], one["key"], f"people?study={quote(one['key'])}") for one in studies]


def _study(study: Study, results: StudyResults, links: Mapping[str, str]) -> dict[str, Any]:
    asks = study.questionnaire
    judged = [item for item in study.items if not item.expected]
    return {
        "name": asks.name,
        "title": asks.title,
        "pair": asks.answers == "pair",
        "items": len(judged),
        "instances": len({item.cluster for item in judged}),
        "scenarios": sorted({item.scenario for item in judged}),
        "models": len(results.models),
        "gold": len(study.items) - len(judged),
        "gold_share": GOLD_SHARE,
        "questions": [_question(measure, results) for measure in results.measures],
        "views": [_view(results, links)],
    }


def _question(measure: Measure, results: StudyResults) -> dict[str, Any]:
    question = measure.question
    scale = question.scale
    return {
        "id": measure.name,
        "heading": measure.heading,
        "question": question.question,
        "help": question.help,
        "statistic": measure.statistic,
        "range": list(measure.scale.bounds),
        "options": [[str(value), text] for value, text in question.options.items() if str(value) != text],
        "ends": [scale.low_means, scale.high_means] if scale is not None else ["", ""],
        "better": measure.better,
        "level": question.agreement,
        "strengths": question.strengths,
        "of_pairs": results.of_pairs(measure),
    }


def _view(results: StudyResults, links: Mapping[str, str]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for model in results.models:
        cells = [None if results.of_pairs(each) else results.of_model(each, model) for each in results.measures]
        if any(cells):
            rows.append({"model": model, "address": links.get(model), "cells": [_cell(cell) for cell in cells]})
    together = [results.of_all(each) if results.of_pairs(each) else None for each in results.measures]
    seen: set[str] = set()
    agreement: list[Measured | None] = []
    for measure in results.measures:  # the columns of a question's choices share its agreement
        agreement.append(None if measure.question.id in seen else results.agreement(measure.question))
        seen.add(measure.question.id)
    return {
        "rows": rows,
        "pairs": [_cell(cell) for cell in together] if any(together) else None,
        "agreement": [_cell(cell) for cell in agreement],
        "covers": what_intervals_cover(results),
        "skipped": results.skipped,
        "raters": [
            {"done": rater.done, "gold": rater.gold, "right": rater.gold_right, "counted": rater.counted}
            for rater in results.raters
        ],
    }


def _cell(found: Measured | None) -> dict[str, Any] | None:
    return None if found is None else found.described()
