"""Families of tests: corrections among targets alone, controls beside them, and combinations where orders differ."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination_report import build_report
from harness.contamination_verdicts import shown_p, verdicts
from harness.contracts import Split
from harness.errors import DataError
from harness.results import RunRecord
from harness.specs import Component, RunSpec


def run(
    model: str, scenario: str, log10_p: float, *, role: str = "target", rows: str | None = None, **found: Any
) -> RunRecord:
    rng = Random(f"{model}{scenario}")
    spec = RunSpec(
        suite="tests",
        scenario=Component(name=scenario),
        adapter=Component(name="exchangeability", arguments={"role": role, "rows": rows}),
        metrics=(Component(name="contamination"),),
        main_metric="contamination",
        model=Component(name=model),
        eval_split=Split.TEST,
    )
    shards = [{"canonical": rng.random(), "shuffled": [rng.random() for _ in range(9)]} for _ in range(8)]
    details = {
        "headline_log10_p": log10_p,
        "role": role,
        "rows": rows,
        "alpha": 0.01,
        "exchangeable": True,
        "n_used": 100,
        "shard_scores": shards,
        **found,
    }
    return RunRecord(
        Path("results"),
        spec.name,
        "tests",
        "ok",
        None,
        spec,
        details={"contamination": {"test": {"original": details}}},
        finished="2025-01-01",
    )


def test_a_verdict_is_about_the_corrected_p_value() -> None:
    records = [run("a:1", "boolq", -2.1), run("a:1", "piqa", -5), run("b:2", "boolq", -0.1)]
    found = verdicts(records)
    assert found["a:1", "piqa"].verdict == "dependence on the published order detected"
    assert found["a:1", "piqa"].log10_p_holm == pytest.approx(-5 + math.log10(3))
    assert found["a:1", "boolq"].verdict == "not detected"  # 0.0079 alone, and twice that among the three
    assert found["b:2", "boolq"].run == records[2].name


def test_controls_are_in_no_correction_and_have_no_verdict_of_their_own() -> None:
    records = [
        run("a:1", "boolq", -3),
        *(run("a:1", "boolq", -1, role="control", rows=f"{k}:{k + 9}") for k in range(9)),
    ]
    assert verdicts(records)["a:1", "boolq"].log10_p_holm == -3
    (family,) = build_report(records).models
    assert [test.control for test in family.tests] == [False] + [True] * 9
    assert family.tests[0].log10_p_holm == -3


def test_an_order_that_is_not_exchangeable_stays_inconclusive() -> None:
    (found,) = verdicts([run("a:1", "boolq", -30, exchangeable=False)]).values()
    assert found.verdict == "inconclusive: the order is not exchangeable"


def test_other_runs_and_failed_ones_are_no_tests() -> None:
    from dataclasses import replace

    tested = run("a:1", "boolq", -3)
    assert verdicts([replace(tested, status="failed"), replace(tested, details={})]) == {}
    with pytest.raises(DataError, match="no run here holds a test"):
        build_report([replace(tested, details={})])


def test_files_of_a_model_are_combined_and_models_on_a_file_are_not() -> None:
    records = [run(model, data, -p) for model in ("a:1", "b:2") for data, p in (("boolq", 0.3), ("piqa", 4.0))]
    report = build_report(records)
    for family in report.models:
        assert family.log10_pooled is not None
        assert family.log10_fisher is not None
        assert family.log10_cauchy is not None
        # The Cauchy combination of one strong and one weak test is near twice the strong one.
        assert family.log10_cauchy == pytest.approx(-4 + math.log10(2), abs=0.05)
        assert all(test.log10_q_bh is not None for test in family.targets)
    assert [family.name for family in report.data_sets] == ["boolq", "piqa"]
    for family in report.data_sets:
        assert family.shared_order
        assert family.log10_pooled is family.log10_fisher is family.log10_cauchy is None
        assert all(test.log10_q_bh is None for test in family.targets)


def test_one_test_is_no_family_to_combine() -> None:
    (family,) = build_report([run("a:1", "boolq", -3)]).models
    assert family.log10_fisher is None
    assert build_report([run("a:1", "boolq", -3)]).data_sets == ()


def test_the_report_is_json_and_keeps_what_a_float_cannot_hold() -> None:
    value = json.loads(json.dumps(build_report([run("a:1", "boolq", -400), run("a:1", "piqa", -1)]).as_json()))
    test = value["models"][0]["tests"][0]
    assert test["log10_p_holm"] == pytest.approx(-400 + math.log10(2))
    assert test["p_holm"] == 0.0
    assert test["scenario"] == "boolq"


@pytest.mark.parametrize(
    ("log10_p", "shown"),
    [(None, "–"), (0.0, "1.000"), (-1.5, "0.032"), (-4.6778, "2.1e-05"), (-400.0, "1.0e-400"), (-4.00001, "1.0e-04")],
)
def test_shown_p(log10_p: float | None, shown: str) -> None:
    assert shown_p(log10_p) == shown


@pytest.mark.parametrize(
    ("log10_p", "shown"), [(None, "–"), (-1.5, "0.032"), (-4.6778, "2e-05"), (-400.0, "1e-400"), (-4.00001, "1e-04")]
)
def test_shown_p_where_there_is_little_room(log10_p: float | None, shown: str) -> None:
    assert shown_p(log10_p, brief=True) == shown


@given(st.lists(st.floats(-500, 0), min_size=1, max_size=8))
def test_corrections_never_make_a_p_value_smaller(log10_ps: Sequence[float]) -> None:
    records = [run("a:1", f"data{number}", log10_p) for number, log10_p in enumerate(log10_ps)]
    (family,) = build_report(records).models
    for test in family.targets:
        assert test.log10_p <= test.log10_p_holm + 1e-9
        assert test.log10_q_bh is not None
        assert test.log10_p <= test.log10_q_bh + 1e-9 <= test.log10_q_by + 2e-9
