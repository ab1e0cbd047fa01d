"""The data of the page that compares models: for every pair of models, the paired statistics on each question.

A question is a scenario with its parameters, asked in one way. The statistics of a pair of runs take milliseconds to
half a second, so those that an earlier build wrote are kept while neither run has changed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from harness.leaderboard.paired_scores import Answers, compare_answers
from harness.leaderboard.site.addresses import address_of, model_address
from harness.leaderboard.site.examples import answers_of
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import BoardView, Snapshot
from harness.output.display import brief
from harness.storage.results import RunRecord

FORMAT = 1
"""Changes whenever the statistics of a pair do."""

MANY = 500
"""From this many pairs of runs on, several processes are faster than one; starting them takes a second."""

PROCESSES = min(8, os.cpu_count() or 1)

Pair = tuple[str, str]
"""The addresses of two runs."""

Row = list[Any]
"""The statistics of a pair of runs, or one text: why they cannot be compared."""


@dataclass(frozen=True, slots=True)
class _Question:
    """One scenario with its parameters, asked of several models in the same way."""

    about: Mapping[str, Any]
    """What the page shows of it."""
    metric: str
    """The main metric."""
    scale: Scale | None
    """The scale of its scores."""
    runs: Mapping[str, str]
    """The address of each model's run, by the model's address."""


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write for each board ``compare/KEY``: its models and questions, and ``compare/KEY/MODEL/MODEL`` for each pair.

    The models of a pair are in the order of their addresses. The file of a pair has a row for each question that both
    were asked: the question's position, a digest of what it was computed from, and either why the runs cannot be
    compared, or count, first, second, difference, low, high, p, differing, only_first, only_second, undefined, changed
    (:class:`harness.leaderboard.paired_scores.PairedScores`).
    """
    addresses = {snapshot.model(run): model_address(run.spec.model) for run in snapshot.runs}
    questions = {view.key: list(_questions(view, addresses)) for view in snapshot.boards}
    digests = _digests(folder.root, questions.values())
    rows = _earlier_rows(folder, questions, digests)
    rows |= _computed_rows(folder.root, questions.values(), digests, rows)
    for view in snapshot.boards:
        known = questions[view.key]
        folder.put(
            f"compare/{view.key}",
            {
                "title": view.title,
                "models": [[addresses[row.model], row.model] for row in view.board.rows],
                "questions": [{**question.about, "runs": question.runs} for question in known],
            },
        )
        for models, asked in _by_models(known).items():
            found = []
            for position in asked:
                digest = digests[_pair(known[position], models)]
                found.append([position, digest, *rows[digest]])
            folder.put(f"compare/{view.key}/{'/'.join(models)}", found)


def _questions(view: BoardView, addresses: Mapping[str, str]) -> Iterator[_Question]:
    """Yield the sub-runs of all columns that at least two models were asked and whose examples are there."""
    for column, heading, counting in zip(view.board.columns, view.headings, view.counting, strict=True):
        by_subrun: dict[str, dict[str, RunRecord]] = {}
        for model, runs in counting.items():
            for subrun, run in runs.items():
                if run.status == "ok" and main_stat(run) is not None and run.examples is not None:
                    by_subrun.setdefault(subrun, {})[model] = run
        for _, asked in sorted(by_subrun.items()):
            if len(asked) > 1:
                about = {
                    "title": brief(next(iter(asked.values())).spec.scenario.label, 80),
                    "method": column.method,
                    "details": [brief(detail, 80) for detail in heading.details],
                    "metric": column.metric,
                    "higher": column.higher_is_better,
                }
                places = {addresses[model]: address_of(run) for model, run in asked.items()}
                yield _Question(about, column.metric, scale_of(asked.values(), column.metric), places)


def _by_models(questions: Sequence[_Question]) -> dict[Pair, list[int]]:
    """Return the positions of the questions that each pair of models was asked."""
    found: dict[Pair, list[int]] = {}
    for position, question in enumerate(questions):
        for models in combinations(sorted(question.runs), 2):
            found.setdefault(models, []).append(position)
    return found


def _pair(question: _Question, models: Pair) -> Pair:
    return question.runs[models[0]], question.runs[models[1]]


def _digests(root: Path, boards: Iterable[Sequence[_Question]]) -> dict[Pair, str]:
    """Return for each pair of runs a digest of what its statistics are computed from."""
    states: dict[str, bytes] = {}
    found: dict[Pair, str] = {}
    for question in (question for questions in boards for question in questions):
        about = repr((FORMAT, question.metric, question.scale)).encode()
        for run in question.runs.values():
            if run not in states:
                states[run] = (root / "data" / "runs" / run / "made-of.json").read_bytes()
        for models in combinations(sorted(question.runs), 2):
            pair = _pair(question, models)
            content = b"\0".join([about, *(run.encode() + states[run] for run in pair)])
            found[pair] = hashlib.blake2b(content, digest_size=8).hexdigest()
    return found


def _earlier_rows(
    folder: SiteFolder, boards: Mapping[str, Sequence[_Question]], digests: Mapping[Pair, str]
) -> dict[str, Row]:
    """Return the rows that an earlier build computed and that still hold, by their digest."""
    wanted = set(digests.values())
    found: dict[str, Row] = {}
    for key, questions in boards.items():
        for models in _by_models(questions):
            rows = folder.read(f"compare/{key}/{'/'.join(models)}")
            for row in rows if isinstance(rows, list) else ():
                if isinstance(row, list) and len(row) > 2 and row[1] in wanted:
                    found[row[1]] = row[2:]
    return found


def _computed_rows(
    root: Path, boards: Iterable[Sequence[_Question]], digests: Mapping[Pair, str], known: Mapping[str, Row]
) -> dict[str, Row]:
    """Return the rows that are not known yet, by their digest."""
    tasks = []
    taken = set(known)
    for question in (question for questions in boards for question in questions):
        pairs = [_pair(question, models) for models in combinations(sorted(question.runs), 2)]
        missing = [pair for pair in pairs if digests[pair] not in taken]
        taken.update(digests[pair] for pair in missing)
        if missing:
            tasks.append((root, missing, question.scale, question.metric))
    if sum(len(task[1]) for task in tasks) < MANY or PROCESSES == 1:
        results = [_compare(*task) for task in tasks]
    else:
        with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
            results = list(pool.map(_compare, *zip(*tasks, strict=True)))
    return {digests[pair]: row for rows in results for pair, row in rows}


def _compare(root: Path, pairs: Sequence[Pair], scale: Scale | None, metric: str) -> list[tuple[Pair, Row]]:
    """Return the statistics of pairs of runs that were asked the same question."""
    folder = SiteFolder(root)
    answers: dict[str, Answers] = {}
    found = []
    for pair in pairs:
        for run in pair:
            if run not in answers:
                answers[run] = answers_of(folder.read(f"runs/{run}/index"))
        try:
            scores = compare_answers(answers[pair[0]], answers[pair[1]], scale, metric)
            row: Row = [
                scores.count, scores.first, scores.second, scores.difference, scores.low, scores.high, scores.p,
                scores.differing, scores.only_first, scores.only_second, scores.undefined, scores.changed,
            ]  # fmt: skip
        except (DataError, ValueError) as error:
            row = [str(error)]
        found.append((pair, row))
    return found
