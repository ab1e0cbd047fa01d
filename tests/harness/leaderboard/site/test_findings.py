"""Verdicts on the site: corrected over a model's data sets, and none on controls."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from harness.contamination.order_tests import JudgedTest, judged_tests
from harness.storage.results import RunRecord


def order_run(make_run: Any, model: str, scenario: str, log10_p: float, **fields: Any) -> RunRecord:
    run: RunRecord = make_run(model, scenario, -log10_p, metric="contamination", method="exchangeability")
    details = {"contamination": {"test": {"original": {"headline_log10_p": log10_p, **fields}}}}
    return dataclasses.replace(run, details=details)


def findings(runs: list[RunRecord]) -> list[JudgedTest]:
    return [test for tests in judged_tests(runs).values() for test in tests]


def test_a_models_data_sets_are_one_family(make_run: Any) -> None:
    runs = [order_run(make_run, "hf:a", f"set{n}", value) for n, value in enumerate((-2.2, -8.0, -0.3))]
    runs.append(order_run(make_run, "hf:b", "set0", -2.2))
    found = {(f.record.spec.model.name, f.record.spec.scenario.name): f for f in findings(runs)}
    assert found["hf:a", "set1"].log10_p_holm == pytest.approx(-8.0 + 0.4771, abs=1e-3)
    # 10 ** -2.2 is below 0.01, twice that is not.
    assert [found[key].seen for key in (("hf:a", "set0"), ("hf:a", "set1"), ("hf:a", "set2"))] == [False, True, False]
    assert found["hf:b", "set0"].seen


def test_a_control_is_in_no_family_and_never_seen(make_run: Any) -> None:
    runs = [order_run(make_run, "hf:a", "set", -2.2), order_run(make_run, "hf:a", "held_out", -9.0, role="control")]
    target, control = findings(runs)
    assert (target.log10_p_holm, target.seen) == (-2.2, True)
    assert (control.control, control.seen) == (True, False)


def test_an_order_that_is_not_exchangeable_says_nothing_of_the_model(make_run: Any) -> None:
    (found,) = findings([order_run(make_run, "hf:a", "set", -50.0, exchangeable=False)])
    assert not found.seen
    assert found.verdict == "not testable"


def test_a_test_concerns_results_on_the_same_data_alone(make_run: Any) -> None:
    (found,) = findings([order_run(make_run, "hf:a", "boolq", -9.0)])
    assert found.concerns(make_run("hf:a", "boolq", 0.5))
    assert not found.concerns(make_run("hf:a", "imdb", 0.5))
    assert not found.concerns(make_run("hf:a", {"name": "boolq", "contrast_sets": True}, 0.5))
    assert not found.concerns(found.record)
    assert findings([make_run("hf:a", "boolq", 0.5)]) == []
