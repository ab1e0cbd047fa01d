"""The exhibits as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.contamination.lab.exhibits import (
    SliceResult,
    by_setting,
    duplication,
    false_alarms,
    min_k,
    model_sizes,
    table_1,
)
from harness.contamination.lab.false_alarms import WORLDS, control_draws, false_alarm_rates, world_draws
from harness.contamination.lab.injections import Injection
from harness.output.result_table import ResultTable, render


def result(copies: int, log10_p: float, model: str = "m", start: int = 0, shards: int = 8, **found: Any) -> SliceResult:
    one = Injection(Path("set.jsonl"), start, start + 2, copies, ("a", "b"))
    fields = {"log10_p_t": log10_p + 1, "log10_p_exact": log10_p, "headline_log10_p": log10_p, "n_used": 2}
    return SliceResult(model, one, {**fields, **found}, {"shards": shards, "shuffles": 10})


def untested(copies: int, shards: int = 8) -> SliceResult:
    one = Injection(Path("set.jsonl"), 0, 2, copies, ("a", "b"))
    return SliceResult("m", one, {"headline_log10_p": None, "n_used": 2, "testable": False}, {"shards": shards})


def cells(table: ResultTable) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_table_1_has_the_permutation_and_the_sharded_p() -> None:
    table = table_1([result(0, -0.1), result(50, -6.0, start=2, p_permutation=0.05)], 19, "")
    assert [column.heading[0] for column in table.columns[3:5]] == ["permutation", "sharded t"]
    assert cells(table)[1] == ["set[2:4]", "50", "2", "0.050", "1.0e-05", "1.0e-06", "1.0e-06"]
    assert cells(table)[0][3] == "–"
    assert "0.05 or more" in table.notes[0].text


def test_p_by_copies_is_a_geometric_mean() -> None:
    table = duplication([result(10, -4.0), result(10, -8.0), result(0, -0.5)], "")
    assert cells(table) == [
        ["0", "1", "3.162", "0.316", "0.316", "0"],
        ["10", "2", "1.0e-05", "1.0e-06", "1.0e-06", "2"],
    ]


def test_p_by_shards_has_a_row_for_each_number() -> None:
    tests = [result(10, -2.0 - shards, shards=shards) for shards in (4, 8)] + [result(50, -20.0, shards=8)]
    table = by_setting(tests, "shards", "")
    assert cells(table) == [
        ["4", "1.0e-05", "1.0e-06", "–", "–"],
        ["8", "1.0e-09", "1.0e-10", "1.0e-19", "1.0e-20"],
    ]
    assert render(table, "csv").startswith("shards,")


def test_a_test_of_too_few_examples_has_no_p() -> None:
    table = by_setting([result(10, -4.0, shards=2), untested(10, shards=4)], "shards", "")
    assert cells(table) == [["2", "1.0e-03", "1.0e-04"], ["4", "–", "–"]]
    assert "Left out: 1 slice whose order is not testable" in table.notes[0].text
    assert cells(duplication([result(10, -4.0), untested(10), untested(0)], "")) == [
        ["0", "0", "–", "–", "–", "0"],
        ["10", "1", "1.0e-03", "1.0e-04", "1.0e-04", "1"],
    ]
    assert cells(table_1([untested(1)], 99, ""))[0][3:] == ["–"] * 4
    assert len(false_alarms([untested(0)], 4, 0).rows) == len(WORLDS)
    assert "Without" not in duplication([result(10, -4.0)], "").notes[0].text


def test_models_of_equal_size_keep_their_own_rows() -> None:
    table = model_sizes([result(10, -2.0, "a"), result(10, -1.0, "b")], {"a": 560_000, "b": 561_000}, "")
    assert [row[1] for row in cells(table)] == ["0.010", "0.100"]


def test_p_by_size_is_in_the_order_of_parameters() -> None:
    table = model_sizes(
        [result(10, -2.0, "big"), result(10, -1.0, "little")], {"big": 3_200_000, "little": 330_000}, ""
    )
    assert [row[0] for row in cells(table)] == ["0.33 M", "3.2 M"]
    assert [record["parameters"] for record in table.records] == [330_000, 3_200_000]


def test_min_k_flags_above_the_control_s_threshold() -> None:
    scores = {
        "set[0:2]": {"membership_min_k": [1.5] * 10 + [-9.0] * 10},
        "set[2:4]": {"membership_min_k": [0.0] * 19 + [2.0]},
    }
    table = min_k([result(50, -6.0), result(0, -0.2, start=2)], scores, "")
    assert cells(table) == [["set[0:2]", "50", "50 %", "–", "0.47", "1.0e-05", "1.0e-06"]]


def test_the_t_test_has_false_alarms_on_left_skew_and_the_exact_test_does_not() -> None:
    world, shards = WORLDS["left skew, 10 shards"]
    t_5, _, exact_5, _ = false_alarm_rates(world_draws(world, shards, seed=0), 400)
    assert t_5 > 0.15
    assert exact_5 < 0.09


def test_false_alarms_of_controls_use_random_orders() -> None:
    # The published order is always the best; a random one is not.
    control = [{"canonical": 9.0, "shuffled": [float(n), *(n + k / 10 for k in range(1, 10))]} for n in range(10)]
    t_5, _, exact_5, _ = false_alarm_rates(control_draws([control], seed=0), 400)
    assert max(t_5, exact_5) < 0.12
    table = false_alarms([result(0, -0.2, shard_scores=control)], 50, 0)
    assert cells(table)[-1][0] == "controls of this model"
    assert len(table.rows) == len(WORLDS) + 1


@pytest.mark.parametrize("format_", ["terminal", "csv", "json", "md", "latex"])
def test_exhibits_in_every_format(format_: str) -> None:
    expected = {"csv": "-6.0", "json": "-6.0", "latex": "1.0e{-}06"}.get(format_, "1.0e-06")
    assert expected in render(table_1([result(50, -6.0)], 99, ""), format_)
