"""The data that all parts of a site share: the records of every run, read once, and their leaderboards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property

from harness.contamination.benchmarks import Benchmark, benchmarks
from harness.contamination.order_tests import JudgedTest, judged_tests
from harness.leaderboard.aggregate import Board, Column, Counting, build_board, counting_runs
from harness.leaderboard.board_text import Heading, headings
from harness.leaderboard.columns import ColumnKey, Group, group_runs
from harness.leaderboard.model_names import model_names, model_of
from harness.leaderboard.run_titles import run_titles
from harness.leaderboard.site.addresses import address, address_of
from harness.leaderboard.site.measures import (
    Measure,
    all_measures,
    category_measures,
    representatives,
    win_rates,
)
from harness.leaderboard.win_rate import WinRate
from harness.plugins.registry import Registry
from harness.plugins.titles import Titles
from harness.storage.results import RunRecord

ALL_SUITES = "all"


@dataclass(frozen=True, slots=True)
class BoardView:
    """One leaderboard of the site: of all suites, or of one."""

    key: str
    """``all``, or the suite's address."""
    title: str
    """The suite's name, or "all suites"."""
    suite: str
    """The suite's name; '' for all of several suites."""
    board: Board
    """The leaderboard."""
    groups: Sequence[Group]
    """Its columns' runs, in the order of the board's columns."""
    counting: Sequence[Counting]
    """For each column the runs that count, by model, then by sub-run."""
    measures: Sequence[Sequence[Measure]]
    """For each column every metric, with all models' results."""
    categories: Mapping[str, Sequence[Measure]]
    """What each category of metrics measures, and which of it counts in the category's mean win rate."""
    headings: Sequence[Heading]
    """The heading of each column."""
    rates: Mapping[str, Mapping[str, WinRate]]
    """The models' mean win rates over each category of metrics."""


@dataclass(frozen=True)
class Snapshot:
    """The records of a results folder, and all that is computed from them."""

    runs: Sequence[RunRecord]
    """All runs, including failed ones, by suite and name."""
    registry: Registry
    """The plugins, which describe scenarios and metrics; records may name others that are not installed."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """The problems with the examples of runs, by the run's address."""

    @cached_property
    def titles(self) -> Titles:
        """Names for people of what the records name."""
        return run_titles(self.runs, self.registry)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Names of models, by the model as JSON."""
        return model_names(self.runs)

    @cached_property
    def suites(self) -> tuple[str, ...]:
        """The suites' names, sorted."""
        return tuple(sorted({run.suite for run in self.runs}))

    def model(self, run: RunRecord) -> str:
        """Return the name of a run's model."""
        return model_of(run, self.names)

    @cached_property
    def by_model(self) -> Mapping[str, Sequence[RunRecord]]:
        """The runs of each model, by its name, sorted."""
        found: dict[str, list[RunRecord]] = {name: [] for name in sorted(self.names.values())}
        for run in self.runs:
            found[self.model(run)].append(run)
        return found

    @cached_property
    def boards(self) -> Sequence[BoardView]:
        """The leaderboard of all suites, and one for each suite if there are several."""
        only = self.suites[0] if len(self.suites) == 1 else ""
        views = [self._view(ALL_SUITES, only or "all suites", only, self.runs)]
        if not only:
            for suite in self.suites:
                views.append(self._view(address(suite), suite, suite, [run for run in self.runs if run.suite == suite]))
        return views

    @cached_property
    def findings(self) -> Sequence[JudgedTest]:
        """The findings of the contamination tests."""
        return [test for tests in self._judged.values() for test in tests]

    @cached_property
    def benchmarks(self) -> Sequence[Benchmark]:
        """Each model's benchmarks of several files, whose findings are combined."""
        return [found for tests in self._judged.values() for found in benchmarks(tests)]

    @cached_property
    def _judged(self) -> Mapping[str, Sequence[JudgedTest]]:
        return judged_tests(self.runs)

    @cached_property
    def _representatives(self) -> frozenset[str]:
        return representatives(self.registry)

    def _view(self, key: str, title: str, suite: str, runs: Sequence[RunRecord]) -> BoardView:
        board = build_board(
            runs, check=lambda run: self.problems.get(address_of(run), ""), names=self.names, titles=self.titles
        )
        # Composite scores, the first columns, have no runs of their own.
        scores = [_no_runs(column) for column in board.columns if column.score is not None]
        groups = [*scores, *group_runs(runs)]
        counting = [counting_runs(group, self.names) for group in groups]
        measures = [
            all_measures(column, *parts, self._representatives)
            for column, parts in enumerate(zip(groups, counting, strict=True))
        ]
        categories = category_measures(groups, measures, board.columns)
        rates = {name: win_rates(found) for name, found in categories.items()}
        return BoardView(key, title, suite, board, groups, counting, measures, categories, headings(board), rates)


def _no_runs(column: Column) -> Group:
    """Return a column without runs."""
    return Group(**{field.name: getattr(column, field.name) for field in fields(ColumnKey)})
