"""Leaderboard, statistics and comparisons of runs as tables, with the titles of what they show."""

from __future__ import annotations

from collections.abc import Sequence

from harness.leaderboard.aggregate import build_board
from harness.leaderboard.board_table import board_table
from harness.leaderboard.checkpoint_table import signal_table
from harness.leaderboard.comparison import compare_models, compare_two_runs
from harness.leaderboard.comparison_table import comparison_table
from harness.leaderboard.prompt_table import prompt_table
from harness.leaderboard.run_titles import run_titles
from harness.leaderboard.stats_table import stats_table
from harness.output.result_table import ResultTable
from harness.plugins.registry import Registry
from harness.storage.results import RunRecord


def leaderboard_of(runs: Sequence[RunRecord], registry: Registry, *, all_columns: bool = False) -> ResultTable:
    """Return the leaderboard of runs; unless all columns are wanted, with one for each scenario with parameters."""
    return board_table(build_board(runs, titles=run_titles(runs, registry)), all_columns=all_columns)


def prompts_of(runs: Sequence[RunRecord], registry: Registry, *, each: bool = False) -> ResultTable:
    """Return the results of runs with several prompts; with ``each``, also those of each prompt."""
    return prompt_table(build_board(runs, titles=run_titles(runs, registry)), each=each)


def signal_of(runs: Sequence[RunRecord], registry: Registry) -> ResultTable:
    """Return which checkpoints of trainings each scenario can tell apart."""
    return signal_table(runs, run_titles(runs, registry))


def stats_of(run: RunRecord, registry: Registry) -> ResultTable:
    """Return every statistic of a run."""
    return stats_table(run, run_titles([run], registry))


def comparison_of_runs(first: RunRecord, second: RunRecord, metric: str | None, registry: Registry) -> ResultTable:
    """Return the comparison of two runs on the instances that both answered.

    Raises:
        HarnessError: They cannot be compared.
    """
    family = compare_two_runs(first, second, metric, registry)
    return comparison_table(family, run_titles([first, second], registry))


def comparison_of_models(
    runs: Sequence[RunRecord], first: str, second: str, metric: str | None, registry: Registry
) -> ResultTable:
    """Return the comparison of two models over all that both were asked.

    Raises:
        HarnessError: A model is unknown, or nothing can be compared.
    """
    return comparison_table(compare_models(runs, first, second, metric, registry), run_titles(runs, registry))
