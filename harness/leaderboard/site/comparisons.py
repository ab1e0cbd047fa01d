"""The data of the page that compares models: for every pair of models, the paired statistics on each question.

A question is a scenario with its parameters, asked in one way. The statistics of a pair of runs take milliseconds to
half a second, so those that an earlier build wrote are kept while neither run has changed.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from harness.contracts import Scale
from harness.errors import DataError
from harness.leaderboard.cells import main_stat
from harness.leaderboard.comparison import scale_of
from harness.leaderboard.paired_scores import Answers, compare_answers, in_one_trial, over_repeats
from harness.leaderboard.repeats import parts
from harness.leaderboard.site.addresses import address_of, model_address
from harness.leaderboard.site.examples import answers_of, clusters_of
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import BoardView, Snapshot
from harness.output.display import brief
from harness.storage.results import RunRecord

FORMAT = 2
"""Changes whenever the statistics of a pair do."""

PARALLEL_FROM_PAIRS = 500
"""From this many pairs of runs on, several processes are faster than one; starting them takes a second."""

PROCESSES = min(8, os.cpu_count() or 1)

Pair = tuple[str, str]
"""The addresses of two models."""

Sides = tuple[tuple[str, ...], tuple[str, ...]]
"""The addresses of the runs of two models: of each its repeats, usually one."""

Row = list[Any]
"""The statistics of a pair of runs, or one text: why they cannot be compared."""


@dataclass(frozen=True, slots=True)
class _Question:
    """One scenario with its parameters, asked of several models in the same way."""

    about: Mapping[str, Any]
    """Its description for the page."""
    scale: Scale | None
    """The scale of its main metric's scores."""
    runs: Mapping[str, str]
    """The address of each model's run, of several repeats the newest, by the model's address."""
    repeats: Mapping[str, tuple[str, ...]]
    """The addresses of all repeats of each model."""
    digests: Mapping[Pair, str]
    """For each pair of models, in the order of their addresses, a digest of the data of its statistics."""

    def sides(self, models: Pair) -> Sides:
        """Return the runs of two models."""
        return self.repeats[models[0]], self.repeats[models[1]]


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write for each board ``compare/KEY``: its models and questions, and ``compare/KEY/MODEL/MODEL`` for each pair.

    The models of a pair are in the order of their addresses. The file of a pair has a row for each question that both
    were asked: the question's position, a digest of what it was computed from, and either why the runs cannot be
    compared, or count, first, second, difference, low, high, p, differing, only_first, only_second, undefined, changed
    (:class:`harness.leaderboard.paired_scores.PairedScores`).
    """
    addresses = {snapshot.model(run): model_address(run.spec.model) for run in snapshot.runs}
    questions = {view.key: list(_questions(view, addresses, folder.root)) for view in snapshot.boards}
    files: dict[str, list[tuple[int, str]]] = {}
    for view in snapshot.boards:
        models = [[addresses[row.model], row.model] for row in view.board.rows]
        listed = [
            {**question.about, "runs": question.runs, "repeats": question.repeats} for question in questions[view.key]
        ]
        folder.put(f"compare/{view.key}", {"title": view.title, "models": models, "questions": listed})
        for position, question in enumerate(questions[view.key]):
            for pair, digest in question.digests.items():
                files.setdefault(f"compare/{view.key}/{'/'.join(pair)}", []).append((position, digest))
    rows = _earlier_rows(folder, files)
    rows |= _computed_rows(folder.root, [question for several in questions.values() for question in several], rows)
    for key, found in files.items():
        folder.put(key, [[position, digest, *rows[digest]] for position, digest in found])


def _questions(view: BoardView, addresses: Mapping[str, str], root: Path) -> Iterator[_Question]:
    """Yield the sub-runs of all columns that at least two models were asked and whose examples are there."""
    for column, heading, counting in zip(view.board.columns, view.headings, view.counting, strict=True):
        by_subrun: dict[str, dict[str, RunRecord]] = {}
        for model, runs in counting.items():
            for subrun, run in runs.items():
                there = all(part.examples is not None for part in parts(run))
                if run.status == "ok" and main_stat(run) is not None and there:
                    by_subrun.setdefault(subrun, {})[addresses[model]] = run
        for _, asked in sorted(by_subrun.items()):
            if len(asked) > 1:
                scenario = next(iter(asked.values())).spec.scenario
                about = {
                    "title": brief(view.board.titles.run(scenario), 80),
                    "identifier": brief(scenario.label, 200),
                    "method": column.method,
                    "details": [brief(detail, 80) for detail in heading.details],
                    "metric": column.metric,
                    "higher": column.higher_is_better,
                }
                scale = scale_of(asked.values(), column.metric)
                places = {model: address_of(run) for model, run in asked.items()}
                repeats = {model: tuple(address_of(part) for part in parts(run)) for model, run in asked.items()}
                states = {
                    model: b"\0".join(
                        run.encode() + (root / "data" / "runs" / run / "made-of.json").read_bytes() for run in runs
                    )
                    for model, runs in repeats.items()
                }
                made_of = repr((FORMAT, column.metric, scale)).encode()
                digests = {
                    pair: hashlib.blake2b(b"\0".join([made_of, *(states[m] for m in pair)]), digest_size=8).hexdigest()
                    for pair in combinations(sorted(places), 2)
                }
                yield _Question(about, scale, places, repeats, digests)


def _earlier_rows(folder: SiteFolder, files: Mapping[str, Sequence[tuple[int, str]]]) -> dict[str, Row]:
    """Return the rows that an earlier build computed and that are still valid, by their digest."""
    valid = {digest for found in files.values() for _, digest in found}
    return {
        row[1]: row[2:]
        for key in files
        for row in folder.read(key) or ()
        if isinstance(row, list) and len(row) > 2 and row[1] in valid
    }


def _computed_rows(root: Path, questions: Sequence[_Question], known: Mapping[str, Row]) -> dict[str, Row]:
    """Return the rows that are not known yet, by their digest."""
    tasks: list[tuple[Path, dict[str, Sides], Scale | None, str]] = []
    taken = set(known)
    for question in questions:
        missing = {d: question.sides(models) for models, d in question.digests.items() if d not in taken}
        taken.update(missing)
        if missing:
            tasks.append((root, missing, question.scale, question.about["metric"]))
    found: dict[str, Row] = {}
    if len(taken) - len(known) < PARALLEL_FROM_PAIRS or PROCESSES == 1:
        for task in tasks:
            found |= _compare(*task)
    else:
        with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
            for rows in pool.map(_compare, *zip(*tasks, strict=True)):
                found |= rows
    return found


def _compare(root: Path, pairs: Mapping[str, Sides], scale: Scale | None, metric: str) -> dict[str, Row]:
    """Return the statistics of pairs of runs that were asked the same question, by the pairs' digests."""
    folder = SiteFolder(root)
    answers: dict[str, Answers] = {}
    clusters: dict[str, Mapping[str, int]] = {}
    rows: dict[str, Row] = {}
    for digest, sides in pairs.items():
        for run in itertools.chain(*sides):
            if run not in answers:
                index = folder.read(f"runs/{run}/index")
                answers[run], clusters[run] = answers_of(index), clusters_of(index)
        pooled = [over_repeats([answers[run] for run in side]) for side in sides]
        if max(map(len, sides)) > 1:
            pooled = [in_one_trial(side) for side in pooled]
        # One that lacks the other's clusters is treated as it would be without any.
        grouped = [clusters[side[0]] for side in sides]
        shared = {**grouped[1], **grouped[0]} if all(grouped) else None
        try:
            scores = compare_answers(pooled[0], pooled[1], scale, metric, shared)
            rows[digest] = [
                scores.count, scores.first, scores.second, scores.difference, scores.low, scores.high, scores.p,
                scores.differing, scores.only_first, scores.only_second, scores.undefined, scores.changed,
            ]  # fmt: skip
        except (DataError, ValueError) as error:
            rows[digest] = [str(error)]
    return rows
