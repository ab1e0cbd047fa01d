"""From records to a board: who is compared with whom over what, and what the reader is told."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import replace
from typing import Any

import pytest

from harness import Scale
from harness.leaderboard.aggregate import Board, Row, build_board, contest_of, counting_runs, newest_suite
from harness.leaderboard.cells import cell_of
from harness.leaderboard.columns import group_runs
from harness.leaderboard.model_names import model_names
from harness.storage.results import RunRecord


def row(board: Board, model: str) -> Row:
    return next(row for row in board.rows if row.model == model)


def rates(board: Board) -> dict[str, float | None]:
    return {row.model: row.win_rate.value if row.win_rate else None for row in board.rows}


def test_rows_are_models_by_rank_and_columns_scenarios(make_run: Any) -> None:
    board = build_board(
        [
            make_run("hf:a", "boolq", 0.5),
            make_run("hf:b", "boolq", 0.7),
            make_run("hf:a", "wiki", 3.0, metric="perplexity", higher=False),
            make_run("hf:b", "wiki", 9.0, metric="perplexity", higher=False),
            make_run("hf:b", "imdb", 0.7),
            make_run("hf:a", "imdb", 0.2),
        ]
    )
    assert [column.scenario for column in board.columns] == ["boolq", "imdb", "wiki"]
    assert [(r.rank, r.model) for r in board.rows] == [(1, "hf:b"), (2, "hf:a")]
    assert rates(board) == {"hf:a": pytest.approx(1 / 3), "hf:b": pytest.approx(2 / 3)}
    assert [cell and cell.best for cell in row(board, "hf:a").cells] == [False, False, True]
    assert board.notes == ()


def test_one_model_has_no_win_rate_and_no_rank(make_run: Any) -> None:
    board = build_board([make_run("hf:a", "boolq", 0.5)])
    (only,) = board.rows
    assert (only.rank, only.win_rate) == (None, None)
    assert only.cells[0] is not None
    assert not only.cells[0].best


def test_no_runs_make_an_empty_board() -> None:
    assert build_board([]) == Board((), (), ())


def test_a_column_without_a_direction_is_shown_and_not_compared(make_run: Any) -> None:
    board = build_board([make_run(model, "boolq", 0.5, higher=None) for model in ("hf:a", "hf:b")])
    assert board.columns[0].higher_is_better is None
    assert rates(board) == {"hf:a": None, "hf:b": None}


def test_partial_and_failed_cells_are_shown_and_not_compared(make_run: Any) -> None:
    def mmlu(model: str, subject: str, mean: float | None, **changes: Any) -> Any:
        return make_run(model, {"name": "mmlu", "subject": subject}, mean, **changes)

    board = build_board(
        [
            mmlu("hf:a", "anatomy", 0.2, stderr=0.01),
            mmlu("hf:a", "virology", 0.4, stderr=0.01),
            mmlu("hf:b", "anatomy", 0.8, stderr=0.01),
            mmlu("hf:b", "virology", 0.6, stderr=0.01),
            mmlu("hf:c", "anatomy", 0.9),
            mmlu("hf:d", "anatomy", None, error="no memory"),
        ]
    )
    assert rates(board) == {"hf:a": 0.0, "hf:b": 1.0, "hf:c": None, "hf:d": None}
    cells = {r.model: r.cells[0] for r in board.rows}
    assert {model: cell and (cell.have, cell.of) for model, cell in cells.items()} == {
        "hf:a": (2, 2),
        "hf:b": (2, 2),
        "hf:c": (1, 2),
        "hf:d": (0, 2),
    }
    assert {model for model, cell in cells.items() if cell and cell.best} == {"hf:b"}


def test_sample_data_enter_the_win_rate_only_when_there_is_nothing_else(make_run: Any) -> None:
    sample = [make_run(m, "sample_reading", x, sample=True) for m, x in (("hf:a", 0.9), ("hf:b", 0.1))]
    real = [make_run(m, "boolq", x) for m, x in (("hf:a", 0.1), ("hf:b", 0.9))]
    alone, both = build_board(sample), build_board([*sample, *real])
    assert (rates(alone)["hf:a"], alone.sample_win_rate) == (1.0, True)
    assert (rates(both)["hf:a"], both.sample_win_rate) == (0.0, False)
    assert [column.contested for column in both.columns] == [True, False]


def test_of_columns_that_ask_the_same_the_one_with_most_instances_counts(make_run: Any) -> None:
    runs = [
        make_run(model, "boolq", mean, limit=limit, count=limit)
        for model, means in (("hf:a", (0.9, 0.1)), ("hf:b", (0.1, 0.9)))
        for limit, mean in zip((100, 1000), means, strict=True)
    ]
    runs += [make_run(model, "quiz", 0.5) for model in ("hf:a", "hf:b")]
    board = build_board(runs)
    primary = {(column.scenario, column.settings.get("max_eval_instances")): column.primary for column in board.columns}
    assert primary == {("boolq", 100): False, ("boolq", 1000): True, ("quiz", None): True}
    assert rates(board) == {"hf:a": 0.25, "hf:b": 0.75}
    assert {row.win_rate.of for row in board.rows if row.win_rate} == {2}


def test_a_longer_run_of_one_model_leaves_the_comparison_of_the_others(make_run: Any) -> None:
    runs = [make_run(model, "boolq", mean, limit=100, count=100) for model, mean in (("hf:a", 0.9), ("hf:b", 0.1))]
    before = rates(build_board(runs))
    board = build_board([*runs, make_run("hf:a", "boolq", 0.5, limit=1000, count=1000)])
    assert [column.settings["max_eval_instances"] for column in board.columns if column.primary] == [100]
    assert rates(board) == before == {"hf:a": 1.0, "hf:b": 0.0}


def test_of_columns_of_equally_many_instances_the_one_with_most_models_counts(make_run: Any) -> None:
    runs = [make_run(model, "boolq", 0.5, method="generation") for model in ("hf:a", "hf:b")]
    runs += [make_run(model, "boolq", 0.5, method="joint") for model in ("hf:a", "hf:b", "hf:c")]
    assert [column.primary for column in build_board(runs).columns] == [False, True]


def test_two_prompts_of_a_scenario_count_once(make_run: Any) -> None:
    runs = [
        make_run(model, {"name": name, **prompt}, mean)
        for name, prompt, means in (
            ("boolq", {"prompt": "aaa"}, (0.9, 0.1)),
            ("boolq", {}, (0.4, 0.8)),
            ("imdb", {}, (0.4, 0.8)),
        )
        for model, mean in zip(("hf:a", "hf:b"), means, strict=True)
    ]
    board = build_board(runs)
    assert {column.primary for column in board.columns if column.parameters} == {False}
    assert [column.scenario for column in board.columns if column.primary] == ["boolq", "imdb"]
    assert rates(board) == {"hf:a": 0.0, "hf:b": 1.0}
    assert [row.win_rate.of for row in board.rows if row.win_rate] == [2, 2]


def test_the_only_prompt_of_a_scenario_counts(make_run: Any) -> None:
    board = build_board([make_run(model, {"name": "boolq", "prompt": "other"}, 0.5) for model in ("hf:a", "hf:b")])
    assert [column.primary for column in board.columns] == [True]


def test_tests_of_data_sets_do_not_count_in_the_win_rate(make_run: Any) -> None:
    def test(model: str, mean: float) -> RunRecord:
        run: RunRecord = make_run(model, "quiz", mean, metric="contamination", higher=False)
        return dataclasses.replace(run, stats=[dataclasses.replace(s, category="contamination") for s in run.stats])

    runs = [make_run("hf:a", "boolq", 0.9), make_run("hf:b", "boolq", 0.1), test("hf:a", 3.0), test("hf:b", 0.0)]
    board = build_board(runs)
    assert {column.scenario: (column.test, column.contested) for column in board.columns} == {
        "boolq": (False, True),
        "quiz": (True, False),
    }
    assert rates(board) == {"hf:a": 1.0, "hf:b": 0.0}


def test_the_newest_suite_comes_first(make_run: Any) -> None:
    runs = [
        make_run("hf:a", "quiz", 0.5, suite=suite, finished=finished)
        for suite, finished in (("old", "2025-01-01"), ("new", "2025-01-03"), ("old", "2025-01-02"), ("z", "2024"))
    ]
    assert newest_suite(runs) == ("new", ("old", "z"))
    assert newest_suite([]) == ("", ())


def test_models_with_other_arguments_are_other_models(make_run: Any) -> None:
    runs = [
        make_run({"name": "hf:a", "dtype": dtype}, "boolq", mean)
        for dtype, mean in (("bfloat16", 0.4), ("float32", 0.6))
    ]
    assert [r.model for r in build_board(runs).rows] == ["hf:a · float32", "hf:a · bfloat16"]


def test_models_whose_labels_read_alike_stay_apart(make_run: Any) -> None:
    board = build_board([make_run({"name": "hf:a", "x": x}, "boolq", 0.5) for x in (1, "1")])
    assert len({r.model for r in board.rows}) == 2


def test_runs_of_the_same_thing_that_disagree_are_noted(make_run: Any) -> None:
    board = build_board(
        [
            make_run("hf:a", "boolq", 0.5, suite="1", finished="2025-01-01"),
            make_run("hf:a", "boolq", 0.6, suite="2", finished="2025-01-02"),
            make_run("hf:b", "boolq", 0.5, suite="1"),
            make_run("hf:b", "boolq", 0.5, suite="2"),
        ]
    )
    cell = row(board, "hf:a").cells[0]
    assert cell is not None
    assert cell.mean == 0.6
    assert board.notes == ("hf:a on boolq: runs with equal settings gave 0.5, 0.6; the newest counts.",)


@pytest.mark.parametrize(
    ("first", "second", "note"),
    [
        ({"data": "x"}, {"data": "y"}, "different files or revisions of the data"),
        ({"count": 100}, {"count": 90}, "different numbers of instances"),
        ({"higher": True}, {"higher": False}, "the runs disagree on whether a higher Exact match is better"),
    ],
)
def test_models_that_were_not_asked_the_same_are_noted(
    make_run: Any, first: dict[str, Any], second: dict[str, Any], note: str
) -> None:
    (found,) = build_board([make_run("hf:a", "boolq", 0.5, **first), make_run("hf:b", "boolq", 0.5, **second)]).notes
    assert note in found


def test_what_there_is_to_know_of_an_interval_is_noted(make_run: Any) -> None:
    def told(run: RunRecord, note: str, *, interval: bool = True) -> RunRecord:
        stats = [replace(stat, note=note, ci95=stat.ci95 if interval else None) for stat in run.stats]
        return replace(run, stats=stats)

    perfect = [told(make_run(model, "boolq", 1.0), "20 of 20; at least 86 %") for model in ("hf:a", "hf:b")]
    assert build_board(perfect).notes == ("boolq (Generation), hf:a, hf:b: 20 of 20; at least 86 %.",)
    parts = [make_run("hf:a", {"name": "mmlu", "subject": subject}, 0.5) for subject in ("anatomy", "virology")]
    board = build_board([told(parts[0], "20 of 20; at least 86 %"), told(parts[1], "n too small", interval=False)])
    assert board.notes == ("mmlu (Generation), hf:a: n too small.",)


def test_changed_weights_behind_one_name_are_noted(make_run: Any) -> None:
    board = build_board(
        [make_run("hf:a", "boolq", 0.5, fingerprint="1"), make_run("hf:a", "imdb", 0.5, fingerprint="2")]
    )
    assert board.notes == ("hf:a: its runs are of 2 different versions of the model.",)


def test_a_failure_that_an_older_run_hides_is_noted(make_run: Any) -> None:
    board = build_board(
        [
            make_run("hf:a", "boolq", 0.5, finished="2025-01-01"),
            make_run("hf:a", "boolq", None, suite="later", finished="2025-01-02", error="no memory"),
        ]
    )
    assert board.notes == ("hf:a on boolq: a newer run failed (no memory); the one before it counts.",)


def test_settings_that_vary_within_a_column_are_noted(make_run: Any) -> None:
    runs = [
        make_run("hf:a", {"name": "raft", "subset": s}, 0.5, settings={"max_tokens": n})
        for s, n in (("x", 5), ("y", 30))
    ]
    assert build_board(runs).notes == ("raft (Generation): its runs differ in max_tokens: 30, 5.",)


def test_the_order_of_the_records_changes_nothing(make_run: Any) -> None:
    runs = [
        make_run(model, {"name": scenario, "part": part}, mean, finished=f"2025-01-0{k}", suite=suite)
        for k, (model, mean) in enumerate([("hf:a", 0.1), ("hf:b", 0.2), ("hf:c", 0.2), ("hf:a", 0.3)], start=1)
        for scenario in ("boolq", "imdb")
        for part in (1, 2)
        for suite in ("x", "y")
    ]
    expected = build_board(runs)
    for trial in range(5):
        random.Random(trial).shuffle(runs)
        assert build_board(runs) == expected


@pytest.mark.parametrize(
    ("scale", "bounds"),
    [
        (Scale("proportion", 0.0, 1.0), (0.0, 1.0)),
        (Scale("bounded", -1.0, 1.0), (-1.0, 1.0)),
        (Scale("smooth", 0.0, 1.0), None),
        (Scale("unbounded", 0.0), None),
        (None, (0.0, 1.0)),
    ],
)
def test_models_are_compared_on_the_scale_that_the_metric_declares(
    make_run: Any, scale: Scale | None, bounds: tuple[float, float] | None
) -> None:
    runs = [make_run(f"hf:{name}", "quiz", mean) for name, mean in (("a", 0.5), ("b", 0.25))]
    runs = [replace(run, stats=[replace(stat, scale=scale) for stat in run.stats]) for run in runs]
    (group,) = group_runs(runs)
    counting = counting_runs(group, model_names(runs))
    cells = {model: cell_of(subruns, 1) for model, subruns in counting.items()}
    assert contest_of(group, cells, True, counting).bounds == bounds
