"""The data of the page that compares models: for every pair of models, the paired statistics on each question.

A question is a scenario with its parameters, asked in one way. A model that was asked in several ways is compared with
itself too. The statistics of a pair of runs take milliseconds to half a second, so those that an earlier build wrote
are kept while neither run has changed.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
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
from harness.leaderboard.columns import agreed, grouped
from harness.leaderboard.comparison import APART, scale_of, without_prompt
from harness.leaderboard.paired_scores import Answers, compare_prompts, detectable, in_one_trial, over_repeats
from harness.leaderboard.pairwise import ALPHA
from harness.leaderboard.prompt_spread import parts
from harness.leaderboard.prompt_spread import variants as variants_of
from harness.leaderboard.scales import wider_scale
from harness.leaderboard.site.addresses import address, address_of, model_address
from harness.leaderboard.site.examples import answers_of, clusters_of
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import BoardView, Snapshot
from harness.output.display import brief
from harness.plugins.parameters import PROMPT
from harness.statistics import holm
from harness.storage.results import RunRecord

FORMAT = 6
"""Changes whenever the statistics of a pair do."""

PARALLEL_FROM_PAIRS = 500
"""From this many pairs of runs on, several processes are faster than one; starting them takes a second."""

PROCESSES = min(8, os.cpu_count() or 1)

Pair = tuple[str, str]
"""The addresses of two models, or twice that of one."""

Prompts = Mapping[str, tuple[str, ...]]
"""The addresses of a model's runs by variant of the prompt, usually one: of each its repeats, the newest first."""

Sides = tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]
"""The addresses of the runs of two sides: of each the same variants of the prompt, and of these the repeats."""

Row = list[Any]
"""The statistics of a pair of runs, or one text: why they cannot be compared."""


@dataclass(frozen=True, slots=True)
class _Question:
    """One scenario with its parameters, asked of one or more models in the same way."""

    scenario: str
    """The scenario's label without its prompt."""
    about: Mapping[str, Any]
    """Its description for the page."""
    scales: Mapping[str, Scale | None]
    """The scale of each model's scores of the main metric; None if its runs do not say."""
    runs: Mapping[str, Prompts]
    """The runs, by the model's address."""
    states: Mapping[str, bytes]
    """For each model, what its runs were made of."""
    limited: bool
    """True if a model was asked no more than a given number of instances."""

    @property
    def metric(self) -> str:
        """The metric that is compared."""
        metric: str = self.about["metric"]
        return metric

    @property
    def prompt(self) -> str:
        """The prompt's name; '' for the scenario's own."""
        prompt: str = self.about["prompt"]
        return prompt

    def comparable(self, other: _Question, model: str) -> bool:
        """Return True if a model's answers to both can be compared, as ``harness compare`` does."""
        if self.metric == other.metric:
            return True
        alike = self.about["higher"] == other.about["higher"] and self.scale(other, (model, model)) is not None
        return self.prompt != other.prompt and alike

    def scale(self, other: _Question, models: Pair) -> Scale | None:
        """Return the scale of both models' scores; None if it is unknown, or they have different ones."""
        one, another = self.scales[models[0]], other.scales[models[1]]
        if self.metric != other.metric:
            return wider_scale(one, another)
        return one if one == another else None


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Two runs, or two models' repeats, that are compared."""

    place: int | tuple[int, int]
    """The position of the question; the positions of two if a model is compared with itself."""
    sides: Sides
    """The runs."""
    scale: Scale | None
    """The scale of the scores."""
    metric: str
    """The metric."""
    texts: bool
    """True if instances with other texts are left out; False for two prompts, which may write them differently."""
    limited: bool
    """True if the number of instances was limited."""
    digest: str
    """A digest of all that the statistics depend on."""


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write for each board ``compare/KEY``: its models and questions, and ``compare/KEY/MODEL/MODEL`` for each pair.

    ``compare/KEY`` has the models' addresses, the questions with each model's runs in the order of the models, and as
    ``pairs``, for each two models in the order of ``itertools.combinations``, on how many questions the first is shown
    to be better, worse, and neither (Holm, 5 %); null if they have none in common. ``ways`` are the models that were
    asked something in several ways and can be compared with themselves.

    The models of a pair are in the order of their addresses. Its file has a row for each question that both were asked:
    the question's position (of a model with itself, two), a digest of what it was computed from, and either why the
    runs cannot be compared, or count, first, second, difference, low, high, p, differing, first_higher, binary,
    only_first, only_second, undefined, changed, variance, units, widest
    (:class:`harness.leaderboard.paired_scores.PairedScores`), and what it could show, corrected for the number of the
    pair's comparisons.
    """
    addresses = {snapshot.model(run): model_address(run.spec.model) for run in snapshot.runs}
    questions = {view.key: list(_questions(view, addresses, folder.root)) for view in snapshot.boards}
    found = {key: _comparisons(listed) for key, listed in questions.items()}
    files = {f"compare/{key}/{'/'.join(pair)}": each for key, pairs in found.items() for pair, each in pairs.items()}
    rows = _earlier_rows(folder, files)
    rows |= _computed_rows(folder.root, [one for several in files.values() for one in several], rows)
    for view in snapshot.boards:
        models = [addresses[row.model] for row in view.board.rows]
        listed, pairs = questions[view.key], found[view.key]
        folder.put(
            f"compare/{view.key}",
            {
                "title": view.title,
                "models": models,
                "questions": [
                    {**one.about, "runs": [_flat(one.runs.get(model)) for model in models]} for one in listed
                ],
                "pairs": [_standing(pairs, listed, rows, *pair) for pair in combinations(models, 2)],
                "ways": [model for model in models if (model, model) in pairs],
            },
        )
    for key, several in files.items():
        compared = sum(len(rows[one.digest]) > 1 for one in several)
        folder.put(key, [[one.place, one.digest, *_with_shown(rows[one.digest], compared)] for one in several])


def _questions(view: BoardView, addresses: Mapping[str, str], root: Path) -> Iterator[_Question]:
    """Yield the sub-runs of all columns, with the runs whose examples are there."""
    listed: list[tuple[dict[str, Any], dict[str, RunRecord]]] = []
    for column, heading, counting in zip(view.board.columns, view.headings, view.counting, strict=True):
        by_subrun: dict[str, dict[str, RunRecord]] = {}
        for model, runs in counting.items():
            for subrun, run in runs.items():
                there = all(part.examples is not None for part in parts(run))
                if run.status == "ok" and main_stat(run) is not None and there:
                    by_subrun.setdefault(subrun, {})[addresses[model]] = run
        for _, asked in sorted(by_subrun.items()):
            scenario = next(iter(asked.values())).spec.scenario
            about: dict[str, Any] = {
                "title": brief(view.board.titles.run(scenario), 80),
                "identifier": brief(scenario.label, 200),
                "method": column.method,
                "details": [brief(detail, 80) for detail in heading.details],
                "metric": column.metric,
                "higher": column.higher_is_better,
                "prompt": str(scenario.arguments.get(PROMPT) or ""),
            }
            listed.append((about, asked))
    names = _keys([(about["identifier"], [about["method"], *about["details"]], len(asked)) for about, asked in listed])
    for (about, asked), name in zip(listed, names, strict=True):
        scales = {model: scale_of([run], about["metric"]) for model, run in asked.items()}
        shown = agreed(scales.values()) or view.board.titles.metric(about["metric"]).scale
        places = {model: _runs(run) for model, run in asked.items()}
        states = {
            model: b"\0".join(
                run.encode() + (root / "data" / "runs" / run / "made-of.json").read_bytes()
                for run in itertools.chain(*several.values())
            )
            for model, several in places.items()
        }
        limited = any(run.spec.max_eval_instances is not None for run in asked.values())
        share = shown is not None and shown.bounds == (0.0, 1.0)
        label = without_prompt(next(iter(asked.values())).spec.scenario).label
        yield _Question(label, {"key": name, **about, "share": share}, scales, places, states, limited)


def _runs(run: RunRecord) -> Prompts:
    return {one.spec.prompt_description: _repeats(one) for one in variants_of(run)}


def _repeats(run: RunRecord) -> tuple[str, ...]:
    """Return the addresses of a run's repeats, that of the newest first."""
    newest = address_of(run)
    return newest, *(found for part in parts(run) if (found := address_of(part)) != newest)


def _flat(prompts: Prompts | None) -> list[str] | None:
    return None if prompts is None else [run for several in prompts.values() for run in several]


def _keys(questions: Sequence[tuple[str, Sequence[str], int]]) -> list[str]:
    """Return a readable name for each question, from its identifier, how it was asked, and its number of models.

    Of several with one name, all have a hash but the one with the most models.
    """
    slugs = (re.sub(r"[^a-z0-9]+", "-", identifier[:60].lower()) for identifier, _, _ in questions)
    readable = [slug.strip("-") or "scenario" for slug in slugs]
    sizes = grouped(zip(readable, (size for *_, size in questions), strict=True), lambda one: one[0])
    found = []
    for name, (identifier, details, size) in zip(readable, questions, strict=True):
        others = [other for _, other in sizes[name]]
        alone = size == max(others) and others.count(size) == 1
        found.append(name if alone else address(name, repr((identifier, details))))
    return found


def _comparisons(questions: Sequence[_Question]) -> dict[Pair, list[_Comparison]]:
    """Return what is compared for each pair of models in the order of their addresses, and for a model with itself."""
    found: dict[Pair, list[_Comparison]] = {}
    for place, question in enumerate(questions):
        for pair in combinations(sorted(question.runs), 2):
            found.setdefault(pair, []).append(_comparison(place, question, question, pair))
    for several in grouped(enumerate(questions), lambda item: item[1].scenario).values():
        for (place, one), (other_place, other) in combinations(several, 2):
            for model in sorted(one.runs.keys() & other.runs.keys()):
                if not one.comparable(other, model):
                    continue
                pair = (model, model)
                found.setdefault(pair, []).append(_comparison((place, other_place), one, other, pair))
    return found


def _comparison(place: int | tuple[int, int], one: _Question, other: _Question, models: Pair) -> _Comparison:
    texts, limited = one.prompt == other.prompt, one.limited or other.limited
    scale = one.scale(other, models)
    made_of = [repr((FORMAT, one.metric, scale, texts)).encode(), one.states[models[0]], other.states[models[1]]]
    digest = hashlib.blake2b(b"\0".join(made_of), digest_size=8).hexdigest()
    sides = _same_prompts(one.runs[models[0]], other.runs[models[1]])
    return _Comparison(place, sides, scale, one.metric, texts, limited, digest)


def _same_prompts(one: Prompts, other: Prompts) -> Sides:
    """Return the runs of the variants of the prompt that both have, in the same order; of single runs just these."""
    if len(one) == len(other) == 1:
        return tuple(one.values()), tuple(other.values())
    common = [prompt for prompt in one if prompt in other]
    return tuple(one[prompt] for prompt in common), tuple(other[prompt] for prompt in common)


def _standing(
    pairs: Mapping[Pair, Sequence[_Comparison]],
    questions: Sequence[_Question],
    rows: Mapping[str, Row],
    first: str,
    second: str,
) -> list[int] | None:
    """Return on how many questions the first of two models is better, worse, and neither; None without a question."""
    turned = first > second
    compared = [
        (questions[one.place], rows[one.digest])
        for one in pairs.get((second, first) if turned else (first, second), ())
        if isinstance(one.place, int) and len(rows[one.digest]) > 1
    ]
    if not compared:
        return None
    counts = [0, 0, 0]
    for (question, row), p in zip(compared, holm([row[6] for _, row in compared]), strict=True):
        difference, higher = row[3], question.about["higher"]
        if p >= ALPHA or higher is None or difference == 0:
            counts[2] += 1
        else:
            counts[(difference > 0) is not (higher is not turned)] += 1
    return counts


def _with_shown(row: Row, comparisons: int) -> Row:
    """Return a row with the smallest difference that it could show as one of a number of comparisons."""
    if len(row) == 1:
        return row
    count, binary, (variance, units, widest) = row[0], bool(row[9]), row[-3:]
    return [*row, detectable(variance, count, units, widest, binary, comparisons)]


def _earlier_rows(folder: SiteFolder, files: Mapping[str, Sequence[_Comparison]]) -> dict[str, Row]:
    """Return the rows that an earlier build computed and that are still valid, by their digest."""
    valid = {one.digest for several in files.values() for one in several}
    return {
        row[1]: row[2:] if len(row) == 3 else row[2:-1]  # without what it could show
        for key in files
        for row in folder.read(key) or ()
        if isinstance(row, list) and len(row) > 2 and row[1] in valid
    }


def _computed_rows(root: Path, comparisons: Sequence[_Comparison], known: Mapping[str, Row]) -> dict[str, Row]:
    """Return the rows that are not known yet, by their digest."""
    missing = {one.digest: one for one in comparisons if one.digest not in known}
    # Comparisons of the same question share the scores of its runs.
    tasks = [(root, several) for several in grouped(missing.values(), lambda one: one.place).values()]
    found: dict[str, Row] = {}
    if len(missing) < PARALLEL_FROM_PAIRS or PROCESSES == 1:
        for task in tasks:
            found |= _compare(*task)
    else:
        with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
            for rows in pool.map(_compare, *zip(*tasks, strict=True)):
                found |= rows
    return found


def _compare(root: Path, comparisons: Sequence[_Comparison]) -> dict[str, Row]:
    """Return the statistics of pairs of runs that were asked the same question, by the pairs' digests."""
    folder = SiteFolder(root)
    answers: dict[str, Answers] = {}
    clusters: dict[str, Mapping[str, int]] = {}
    rows: dict[str, Row] = {}
    for one in comparisons:
        for run in itertools.chain(*one.sides[0], *one.sides[1]):
            if run not in answers:
                index = folder.read(f"runs/{run}/index")
                answers[run], clusters[run] = answers_of(index), clusters_of(index)
        sides = [[over_repeats([_of(answers[run], one.texts) for run in runs]) for runs in side] for side in one.sides]
        if len(sides[0]) > 1 or max(map(len, itertools.chain(*one.sides)), default=1) > 1:
            sides = [[in_one_trial(each) for each in side] for side in sides]
        try:
            if not sides[0]:
                raise DataError("the runs have no variant of the prompt in common.")
            # One that lacks the other's clusters is treated as it would be without any.
            by_side = [clusters[side[0][0]] for side in one.sides]
            shared = {**by_side[1], **by_side[0]} if all(by_side) else None
            if not one.texts and one.limited and not set().union(*sides[0]) & set().union(*sides[1]):
                raise DataError(APART)
            scores = compare_prompts(sides[0], sides[1], one.scale, one.metric, shared)
            rows[one.digest] = [
                scores.count, scores.first, scores.second, scores.difference, scores.low, scores.high, scores.p,
                scores.differing, scores.first_higher, int(scores.binary),
                scores.only_first, scores.only_second, scores.undefined, scores.changed,
                scores.variance, scores.units, scores.widest,
            ]  # fmt: skip
        except (DataError, ValueError) as error:
            rows[one.digest] = [str(error)]
    return rows


def _of(answers: Answers, texts: bool) -> Answers:
    """Return answers; without their texts, as if all were asked the same."""
    if texts:
        return answers
    return {name: {trial: (score, 0) for trial, (score, _) in trials.items()} for name, trials in answers.items()}
