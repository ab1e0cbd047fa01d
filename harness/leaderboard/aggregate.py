"""The leaderboard as data: models × columns from the records of runs, with win rates, ranks and warnings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from harness.answers.served_models import served_models, served_notes
from harness.contamination.order_tests import is_order_test
from harness.contracts import Stat
from harness.contracts.plugins import CONTAMINATION
from harness.contracts.scores import CompositeScore
from harness.contracts.training_steps import TrainingStep
from harness.leaderboard.cells import Cell, cell_of, examples_problem, has_number, instance_scores, main_stat, newest
from harness.leaderboard.columns import ColumnKey, Group, agreed, canonical, group_runs, grouped
from harness.leaderboard.composites import composite_cell, direction_of, scores_of
from harness.leaderboard.model_names import backend_of, model_names, model_of
from harness.leaderboard.pairwise import Contest, ContestResult, column_ranks
from harness.leaderboard.prompt_spread import PromptSpread, VariedRun, parts
from harness.leaderboard.prompt_spread import variants as variants_of
from harness.leaderboard.prompt_variants import counting_run, same_runs
from harness.leaderboard.win_rate import WinRate, mean_win_rates, ranks
from harness.plugins.parameters import PROMPT
from harness.plugins.titles import SEPARATOR, Titles
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(ColumnKey):
    """One scenario under one adaptation method and set of settings."""

    higher_is_better: bool | None
    """True if higher is better, False if lower is; None if neither, or if the runs disagree."""
    subruns: tuple[str, ...]
    """The sub-runs' labels."""
    contested: bool = False
    """True if the column can count in the mean win rate: it has a direction and models to compare."""
    primary: bool = True
    """True for the one column per scenario and parameters that counts in the mean win rate. If the scenario was asked
    in several ways (prompts among them), this is the column with the most instances that has models to compare.
    """
    test: bool = False
    """True if its metric tests the data set rather than the model's abilities."""
    score: CompositeScore | None = None
    """The composite score that the column shows; None for a scenario's column. The scenario is then the score's name.
    """


@dataclass(frozen=True, slots=True)
class Row:
    """One model."""

    model: str
    """Its name for people."""
    rank: int | None
    """By mean win rate, from 1; ties share a rank. None without a mean win rate."""
    win_rate: WinRate | None
    """Mean win rate; None if there is no other model to compare with."""
    cells: tuple[Cell | None, ...]
    """One cell per column; None where the model was not run."""
    identifier: str = ""
    """Its name with the arguments that were given for it, as specs have them."""
    backend: str = ""
    """The name of its backend."""
    training: TrainingStep | None = None
    """Its place in a training; None if it is not known to be a checkpoint."""


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard."""

    suites: tuple[str, ...]
    """The suites that the runs come from."""
    columns: tuple[Column, ...]
    """The columns."""
    rows: tuple[Row, ...]
    """The models, by rank, then by name."""
    notes: tuple[str, ...] = ()
    """Warnings for the reader, one sentence each."""
    sample_win_rate: bool = False
    """True if the mean win rate is over sample data."""
    finished: str = ""
    """The time at which the newest run ended, UTC, ISO 8601; empty without runs."""
    titles: Titles = field(default_factory=Titles)
    """Names for people of what the columns show."""


def build_board(
    runs: Iterable[RunRecord],
    *,
    pool: bool = True,
    check: Callable[[RunRecord], str] = examples_problem,
    names: Mapping[str, str] | None = None,
    titles: Titles | None = None,
) -> Board:
    """Return the leaderboard of some runs.

    If a model has several runs of the same thing (in several suites, or with different perturbations), the newest
    successful one counts. Only unperturbed stats of the evaluated split are used. The mean win rate is over the columns
    with a direction and at least two complete cells; of columns of one scenario that differ in the method or in
    settings only that with the most instances counts, and columns of sample data only if there are no others.
    Composite scores, which the sweeps of the runs declare, are the first columns and do not count in it.

    Args:
        runs: Runs of any suites and models, including failed ones.
        pool: True to pool a scenario's runs with different parameters in one column; otherwise each has its own.
        check: Returns what is wrong with a run's examples; '' if nothing is.
        names: The names of models, as :func:`model_names` gives them (default: those of these runs).
        titles: Names for people of metrics, methods and scenarios (default: made of identifiers).
    """
    runs = list(runs)
    names = model_names(runs) if names is None else names
    titles = titles or Titles()
    models = {model_of(run, names): run for run in runs}
    columns: list[Column] = []
    cells: list[Mapping[str, Cell]] = []
    contests: list[Contest] = []
    notes = [*_changed_models(runs, names), *_served(runs, names)]
    for group in group_runs(runs, pool=pool):
        counting, failed = counting_runs(group, names), _hidden_failures(group, names)
        found = {
            model: cell_of(subruns, len(group.runs), failed.get(model, ()), check)
            for model, subruns in counting.items()
        }
        stats = list(_stats(counting))
        test = all(stat.category == CONTAMINATION for stat in stats) if stats else _only_untestable(counting)
        columns.append(_column(group, agreed(stat.higher_is_better for stat in stats), test=test))
        contests.append(contest_of(group, found, columns[-1].higher_is_better, counting))
        cells.append(with_ranks(found, contests[-1]))
        notes += _notes(group, counting, names, titles)
    able = counted_in_win_rate(contests, [column.sample for column in columns])
    primary = _primary(columns, cells, able)
    columns = [
        replace(column, contested=counts and not column.test, primary=main)
        for column, counts, main in zip(columns, able, primary, strict=True)
    ]
    counted = [column.contested and column.primary for column in columns]
    rates = mean_win_rates([contest for contest, counts in zip(contests, counted, strict=True) if counts])
    places = ranks({model: rate.value for model, rate in rates.items()})
    composites = [_composite(score, runs, names, check) for score in scores_of(runs)]
    columns = [*(column for column, _ in composites), *columns]
    cells = [*(found for _, found in composites), *cells]
    rows = [
        Row(
            model,
            places.get(model),
            rates.get(model),
            tuple(column.get(model) for column in cells),
            identifier=run.spec.model.label,
            backend=backend_of(run),
            training=run.spec.training_step,
        )
        for model, run in models.items()
    ]
    return Board(
        suites=tuple(sorted({run.suite for run in runs})),
        columns=tuple(columns),
        rows=tuple(sorted(rows, key=lambda row: (row.rank is None, row.rank or 0, row.model))),
        notes=tuple(dict.fromkeys(notes)),
        sample_win_rate=any(counted) and all(column.sample for column in columns if column.contested),
        finished=max((run.finished for run in runs), default=""),
        titles=titles,
    )


def newest_suite(runs: Iterable[RunRecord]) -> tuple[str, tuple[str, ...]]:
    """Return the suite whose newest run ended last, and the others, the newer first; '' if there are no runs."""
    ended: dict[str, str] = {}
    for run in runs:
        ended[run.suite] = max(ended.get(run.suite, ""), run.finished)
    order = sorted(ended, key=lambda suite: (ended[suite], suite), reverse=True)
    return (order[0], tuple(order[1:])) if order else ("", ())


def _composite(
    score: CompositeScore, runs: Sequence[RunRecord], names: Mapping[str, str], check: Callable[[RunRecord], str]
) -> tuple[Column, dict[str, Cell]]:
    """Return the column of a composite score, and its cells by model; a model that has none of its runs has no cell."""
    wanted = {run.question for run in score.runs}
    of_score = [run for run in runs if run.spec.with_unchanged_prompt.question_digest in wanted]
    cells: dict[str, Cell] = {}
    results: dict[str, ContestResult] = {}
    counted: list[RunRecord] = []
    for model, own in sorted(grouped(of_score, lambda run: model_of(run, names)).items()):
        by_question = grouped(own, lambda run: run.spec.with_unchanged_prompt.question_digest)
        found = {question: counting_run(same) for question, same in by_question.items()}
        counted += found.values()
        cells[model], result = composite_cell(score, found, check)
        if result is not None:
            results[model] = result
    direction = direction_of(counted)
    column = Column(
        scenario=score.name,
        method="",
        metric=score.mean,
        split="",
        sample=any(run.provenance.get("data", {}).get("sample") for run in counted),
        higher_is_better=direction,
        subruns=tuple(run.label for run in score.runs),
        score=score,
    )
    contest = Contest(
        score.identity,
        bool(direction),
        {} if direction is None else results,
        agreed(cells[model].bounds for model in results),
    )
    return column, with_ranks(cells, contest)


Counting = Mapping[str, Mapping[str, RunRecord]]
"""The runs that count in a column: by model, then by sub-run."""


def _same_question(group: Group, names: Mapping[str, str]) -> Iterator[tuple[str, str, list[RunRecord]]]:
    """Yield model, sub-run, and the model's runs of it."""
    for subrun, runs in group.runs.items():
        for model, found in sorted(grouped(runs, lambda run: model_of(run, names)).items()):
            yield model, subrun, found


def counting_runs(group: Group, names: Mapping[str, str]) -> Counting:
    """Return the runs that count in a column: of each model and sub-run its repeats, the newest successful of each."""
    counting: dict[str, dict[str, RunRecord]] = {}
    for model, subrun, found in _same_question(group, names):
        counting.setdefault(model, {})[subrun] = counting_run(found)
    return counting


def _hidden_failures(group: Group, names: Mapping[str, str]) -> dict[str, list[RunRecord]]:
    """Return by model the failed runs that another run of the same thing (with other metrics, say) would hide.

    Runs that were repeated successfully are not among them.
    """
    failed: dict[str, list[RunRecord]] = {}
    for model, _, found in _same_question(group, names):
        if len(found) == 1:
            continue
        counts = {part.spec_key for part in parts(counting_run(found))}
        for spec, runs in sorted(grouped(found, lambda run: run.spec_key).items()):
            if spec not in counts and not (has_number(last := newest(runs)) or last.no_value):
                failed.setdefault(model, []).append(last)
    return failed


def _only_untestable(counting: Counting) -> bool:
    """Return whether all finished runs of a column without numbers are tests of a published order."""
    runs = [run for subruns in counting.values() for run in subruns.values() if run.status == "ok"]
    return bool(runs) and all(map(is_order_test, runs))


def _stats(counting: Counting) -> Iterator[Stat]:
    return (stat for runs in counting.values() for run in runs.values() if (stat := main_stat(run)) is not None)


def contest_of(
    group: Group, cells: Mapping[str, Cell], direction: bool | None, counting: Counting, metric: str = ""
) -> Contest:
    """Return the results of a column's complete cells, to be compared; none if neither direction is better.

    Args:
        group: The column.
        cells: Its cells by model.
        direction: True if higher is better, False if lower is; None if neither.
        counting: The runs that count. Their instances' scores are those of the column's main metric.
        metric: Identifies another metric that the cells are of; '' for the main metric.
    """
    entries = {
        model: ContestResult(
            cell.mean,
            cell.spread if cell.stderr is None else cell.stderr,
            cell.effective,
            () if metric else instance_scores(counting[model]),
        )
        for model, cell in cells.items()
        if direction is not None and cell.complete and cell.mean is not None
    }
    name = f"{group.identity}/{metric}" if metric else group.identity
    bounds = agreed(cells[model].bounds for model in entries)
    return Contest(name, bool(direction), entries, bounds, instances=group.identity)


def counted_in_win_rate(contests: Sequence[Contest], sample: Sequence[bool]) -> list[bool]:
    """Return which columns count in a mean win rate; those of sample data count only if there are no others."""
    possible = [len(contest.results) >= 2 for contest in contests]
    real = any(able and not sampled for able, sampled in zip(possible, sample, strict=True))
    return [able and not (real and sampled) for able, sampled in zip(possible, sample, strict=True)]


def with_ranks(cells: Mapping[str, Cell], contest: Contest) -> dict[str, Cell]:
    """Return a column's cells, by model, with their ranks, and with those marked that are tied with the best.

    A model is tied with the best if no other is shown to be better. Where that is true of all, none is marked.
    """
    ranges = column_ranks(contest)
    separated = any(first > 1 for first, _ in ranges.values())
    found = {}
    for model, cell in cells.items():
        first, last = ranges.get(model, (None, None))
        found[model] = replace(cell, best=separated and first == 1, first=first, last=last)
    return found


def question(column: ColumnKey, *, test: bool) -> str:
    """Return what the columns share that ask the same in different ways: by other methods, settings or prompts."""
    asked = {name: value for name, value in column.parameters.items() if name != PROMPT}
    return canonical([column.scenario, asked, column.pooled, column.sample, test])


def _primary(columns: Sequence[Column], cells: Sequence[Mapping[str, Cell]], able: Sequence[bool]) -> list[bool]:
    """Return True for each column that has the most instances of those with its scenario and parameters.

    Columns that can count in the mean win rate take precedence; otherwise a longer run of one model would remove the
    scenario for all models. If columns have equally many instances, the one with the most models is chosen, then that
    of the scenario's own prompt, then the first.
    """
    best: dict[str, tuple[bool, int, int, bool, int]] = {}
    for place, (column, found, counts) in enumerate(zip(columns, cells, able, strict=True)):
        what = question(column, test=column.test)
        size = max((cell.count for cell in found.values()), default=0)
        rank = (counts, size, len(found), PROMPT not in column.parameters, -place)
        best[what] = max(best.get(what, rank), rank)
    chosen = {-place for *_, place in best.values()}
    return [place in chosen for place in range(len(columns))]


def _column(group: Group, direction: bool | None, *, test: bool) -> Column:
    return Column(
        **{field.name: getattr(group, field.name) for field in fields(ColumnKey)},
        higher_is_better=direction,
        test=test,
        subruns=tuple(runs[0].spec.scenario.label for runs in group.runs.values()),
    )


# ---------------------------------------------------------------------------------------------------------------
# Warnings for the reader


def _notes(group: Group, counting: Counting, names: Mapping[str, str], titles: Titles) -> Iterator[str]:
    parameters = titles.parameters(group.scenario, group.parameters)
    scenario = SEPARATOR.join(filter(None, [titles.scenario(group.scenario).title, parameters]))
    name = f"{scenario} ({titles.method(group.method).title})"
    for setting, values in group.varying.items():
        shown = ", ".join(canonical(value) for value in values)
        yield f"{name}: its runs differ in {setting}: {shown}."
    if len({stat.higher_is_better for stat in _stats(counting)}) > 1:
        metric = titles.metric(group.metric).title
        yield f"{name}: the runs disagree on whether a higher {metric} is better, so nothing is compared."
    for model, _, found in _same_question(group, names):
        for same in same_runs(found):
            yield from _disagreement(model, same, titles)
        counts = counting_run(found)
        label = titles.run(found[0].spec.scenario)
        prompts = counts.prompts if isinstance(counts, VariedRun) else None
        if prompts is not None:
            yield f"{model} on {label}: {_over_prompts(prompts)}."
        number = max(len(parts(one)) for one in variants_of(counts))
        if number > 1:
            yield f"{model} on {label}: the mean over {number} repeats, which differ in their seeds."
    if _differ(counting, _data_identity):
        yield f"{name}: the models were evaluated on different files or revisions of the data."
    if _differ(counting, _instances):
        yield f"{name}: the models were evaluated on different numbers of instances."
    for note, models in _interval_notes(counting).items():
        yield f"{name}, {', '.join(models)}: {note}."


def _over_prompts(prompts: PromptSpread) -> str:
    count, effects = len(prompts.descriptions), prompts.effects
    if not effects.complete:
        return f"the mean over {count} prompts, and its interval for these prompts"
    least = "" if prompts.paired else "at most "
    return f"the mean over {count} prompts, whose means have a standard deviation of {least}{effects.deviation:.3f}"


def _interval_notes(counting: Counting) -> dict[str, list[str]]:
    """Return the models by the note on their interval; with several sub-runs, by why a sub-run has no interval."""
    models: dict[str, list[str]] = {}
    for model, runs in counting.items():
        stats = [stat for run in runs.values() if (stat := main_stat(run)) is not None]
        notes = [stat.note for stat in stats if stat.note and (len(stats) == 1 or stat.ci95 is None)]
        for note in dict.fromkeys(notes):
            models.setdefault(note, []).append(model)
    return models


def _disagreement(model: str, runs: Sequence[RunRecord], titles: Titles) -> Iterator[str]:
    """Yield a note if runs of the same thing gave different numbers, or if a newer run failed."""
    if len(runs) == 1:
        return
    counts = newest(runs)
    stat = main_stat(counts)
    label = titles.run(counts.spec.scenario)
    if stat is None:
        return
    others = [other for run in runs if run.status == "ok" and (other := main_stat(run)) is not None]
    means = sorted({f"{other.mean:.6g}" for other in others})
    if len(means) > 1:
        yield f"{model} on {label}: runs with equal settings gave {', '.join(means)}; the newest counts."
    again = [run for run in runs if run.spec_key == counts.spec_key]
    latest = max(again, key=lambda run: (run.finished, run.suite, run.name))
    if latest.status != "ok" and latest.finished > counts.finished:
        yield f"{model} on {label}: a newer run failed ({latest.error}); the one before it counts."


def _differ(counting: Counting, property_of: Callable[[RunRecord], Hashable]) -> bool:
    """Return whether a property of runs differs between models that have the same sub-run."""
    seen: dict[str, set[Hashable]] = {}
    for runs in counting.values():
        for subrun, run in runs.items():
            value = property_of(run)
            if value is not None:
                seen.setdefault(subrun, set()).add(value)
    return any(len(values) > 1 for values in seen.values())


def _data_identity(run: RunRecord) -> str | None:
    """Return a value that is equal for runs of the same data; None if the record does not describe its data."""
    data = dict(run.provenance.get("data", {}))
    files = data.get("files")
    if isinstance(files, list) and files:
        return canonical(sorted(str(file.get("sha256")) for file in files if isinstance(file, dict)))
    return canonical(data) if data else None


def _instances(run: RunRecord) -> int | None:
    stat = main_stat(run)
    return None if stat is None or stat.missing else stat.count


def _changed_models(runs: Iterable[RunRecord], names: Mapping[str, str]) -> Iterator[str]:
    seen: dict[str, set[str]] = {}
    for run in runs:
        fingerprint = run.provenance.get("model", {}).get("fingerprint")
        if fingerprint:
            seen.setdefault(model_of(run, names), set()).add(canonical(fingerprint))
    for model, fingerprints in sorted(seen.items()):
        if len(fingerprints) > 1:
            yield f"{model}: its runs are of {len(fingerprints)} different versions of the model."


def _served(runs: Iterable[RunRecord], names: Mapping[str, str]) -> Iterator[str]:
    """Yield a note for each model whose server says that it answered with a different one."""
    served: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for run in runs:
        served.setdefault((model_of(run, names), run.spec.model.name), []).extend(served_models(run.provenance))
    for (model, asked), found in sorted(served.items()):
        for note in served_notes(asked, found):
            yield f"{model}: {note}."
