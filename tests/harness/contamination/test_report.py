"""Families of tests: corrections among targets alone, controls beside them, and combinations where orders differ."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.option_tests import option_tests
from harness.contamination.order_tests import JudgedTest, judged_tests
from harness.contamination.p_values import shown_p
from harness.contamination.report import build_report
from harness.contamination.statistics.relabelling import pooled_relabelling
from harness.contamination.statistics.shared_rows import option_digests, row_digests
from harness.contamination.statistics.verdict import Verdict
from harness.contracts import Split
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError
from harness.statistics.families import fisher
from harness.storage.results import RunRecord

LOOKS = {"shuffles": 5, "share": 0.2, "open": 0.2, "first_log10_p": -2.0, "second": True}


def run(
    model: str,
    scenario: str,
    log10_p: float,
    *,
    role: str = "target",
    rows: str | None = None,
    seed: int = 0,
    started: str = "2025-01-01",
    **found: Any,
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
        seed=seed,
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
        directory=Path("results"),
        name=spec.name,
        suite="tests",
        status="ok",
        error=None,
        spec=spec,
        stats=(),
        details={"contamination": {"test": {"original": details}}},
        efficiency={},
        provenance={},
        examples=None,
        started=started,
        finished="2025-01-31",
    )


def judged(records: Sequence[RunRecord]) -> list[JudgedTest]:
    return [one for tests in judged_tests(records).values() for one in tests]


def test_a_verdict_is_about_the_corrected_p_value() -> None:
    records = [run("a:1", "boolq", -2.1), run("a:1", "piqa", -5), run("a:1", "imdb", -0.1), run("b:2", "boolq", -0.1)]
    boolq, piqa, _, other = judged(records)
    assert piqa.verdict == "depends on the published order"
    assert piqa.log10_p_holm == pytest.approx(-5 + math.log10(3))
    assert boolq.verdict == "no dependence found"  # 0.0079 alone, and twice that among the three
    assert other.record is records[3]


def test_a_record_that_is_a_rounding_error_above_one_is_one() -> None:
    (found, _) = judged([run("a:1", "boolq", 5e-7), run("a:1", "piqa", 0.0)])
    assert (found.log10_p, found.log10_p_holm) == (0.0, 0.0)


def test_options_of_one_data_set_count_once_whatever_they_are() -> None:
    def options(scenario: str, log10_p: float, seed: int) -> RunRecord:
        found = {"log10_p": log10_p, "first_rate_by_chance": 0.5, "option_digests": option_digests([["yes", "no"]] * 9)}
        record = run("a:1", scenario, log10_p, seed=seed, started=f"2025-01-0{seed + 1}")
        return replace(record, details={"option_order": {"test": {"original": {**found, "testable": True}}}})

    tests = option_tests([options("boolq", -3, 0), options("boolq", -4, 1), options("piqa", -5, 2)])["a:1"]
    assert [test.retest_of is None for test in tests] == [True, False, True]
    assert tests[2].log10_p_holm == pytest.approx(-5 + math.log10(2))


def test_controls_are_in_no_correction_and_have_no_verdict_of_their_own() -> None:
    records = [
        run("a:1", "boolq", -3),
        *(run("a:1", "boolq", -1, role="control", rows=f"{k}:{k + 9}") for k in range(9)),
    ]
    assert judged(records)[0].log10_p_holm == -3
    (family,) = build_report(records).models
    assert [test.control for test in family.tests] == [False] + [True] * 9
    assert family.tests[0].log10_p_holm == -3


def test_what_is_in_no_correction_has_no_corrected_p_value() -> None:
    records = [
        run("a:1", "boolq", -3, order_hash="x"),
        run("a:1", "boolq", -4, order_hash="x", seed=1, started="2025-01-02"),
        run("a:1", "boolq", -1, role="control", rows="400:500", order_hash="y"),
    ]
    target, *others = sorted((one.as_json() for one in judged(records)), key=lambda one: one["p_holm"] is None)
    assert target["log10_p_holm"] == -3
    assert {(one["p_holm"], one["log10_p_holm"], one["q_bh"], one["log10_q_by"]) for one in others} == {(None,) * 4}
    assert {one["headline_log10_p"] for one in others} == {-4, -1}


def test_a_failed_control_is_listed_with_its_reason() -> None:
    control = replace(run("a:1", "boolq", 0, role="control", rows="400:500"), status="failed", error="Trace\nno rows")
    (family,) = build_report([run("a:1", "boolq", -9), control]).models
    (failed,) = family.failed
    assert (failed.control, failed.rows, failed.reason) == (True, "400:500", "no rows")
    assert family.as_json()["failed"][0]["error"] == "no rows"


def test_an_order_that_is_not_exchangeable_is_not_testable() -> None:
    (found,) = judged([run("a:1", "boolq", -30, exchangeable=False)])
    assert found.verdict == "not testable"
    assert found.why_not_testable == "the text alone shows that the order is not exchangeable"
    assert not found.counts
    assert not found.seen


@pytest.mark.parametrize(
    ("p_holm", "verdict"), [(0.03, Verdict.DETECTED), (0.011, Verdict.DETECTED), (0.009, Verdict.NOT_TESTABLE)]
)
def test_one_honest_set_in_twenty_is_not_lost(p_holm: float, verdict: Verdict) -> None:
    diagnostics = {"similar neighbours": {"p_holm": 1.0}, "length trend": {"p_holm": p_holm}}
    (found,) = judged([run("a:1", "boolq", math.log10(4e-28), exchangeable=p_holm > 0.05, diagnostics=diagnostics)])
    assert found.verdict is verdict


@pytest.mark.parametrize("diagnostics", [None, {}])
def test_without_diagnostics_the_word_is_the_runs(diagnostics: object) -> None:
    (found,) = judged([run("a:1", "boolq", -9, exchangeable=False, diagnostics=diagnostics, rows="some")])
    assert found.verdict is Verdict.NOT_TESTABLE


@pytest.mark.parametrize(
    "found",
    [
        {"diagnostics": {"a": {"p": 0.0}}},
        {"diagnostics": "x"},
        {"order_hash": 7},
        {"row_digests": "x"},
        {"looks": {"second": True}},
        {"headline_log10_p": "-9"},
        {"headline_log10_p": None},
    ],
)
def test_a_test_of_another_shape_is_set_aside(found: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    record = run("a:1", "boolq", -9)
    (details,) = record.details["contamination"]["test"].values()
    details |= found
    assert judged([record]) == []
    assert "not a test of the published order" in caplog.text


def test_a_control_that_rejects_puts_its_target_in_doubt() -> None:
    target, other = run("a:1", "boolq", -9), run("a:1", "piqa", -9)
    rejecting = run("a:1", "boolq", -4, role="control", rows="400:500")
    quiet = run("a:1", "boolq", -1, role="control", rows="500:600")
    assert judged([target, quiet])[0].verdict is Verdict.DETECTED
    found = judged([target, other, rejecting, quiet])
    assert [one.verdict for one in found[:2]] == [Verdict.IN_DOUBT, Verdict.DETECTED]
    assert "in doubt" in str(build_report([target, rejecting]).as_json()["models"][0]["tests"][0]["verdict"])
    # Of nine controls at the level .01 one in eleven has a p-value below it: they are corrected for, too.
    many = [run("a:1", "boolq", -2.1, role="control", rows=f"{k}00:{k}50") for k in range(1, 10)]
    assert judged([target, *many])[0].verdict is Verdict.DETECTED
    # The text of a control may show that its own order is not a random one; then it says nothing.
    sorted_rows = run("a:1", "boolq", -9, role="control", rows="400:500", exchangeable=False)
    assert judged([target, sorted_rows])[0].verdict is Verdict.DETECTED
    # What was not detected stays not detected.
    assert judged([run("a:1", "boolq", -0.5), rejecting])[0].verdict is Verdict.NOT_DETECTED


def test_a_control_model_that_rejects_puts_the_same_rows_in_doubt() -> None:
    target, elsewhere = run("a:1", "boolq", -9, order_hash="x"), run("a:1", "piqa", -9, order_hash="y")
    control = run("old:1", "boolq", -4, role="control", order_hash="x")
    verdicts = {one.scenario: one.verdict for one in judged([target, elsewhere, control]) if one.counts}
    assert verdicts == {"boolq": Verdict.IN_DOUBT, "piqa": Verdict.DETECTED}


def test_eight_seeds_of_one_file_are_one_test() -> None:
    # What a model that has read nothing gives: eight p-values of the same order, which depend on each other.
    p_values = [0.04, 0.2, 0.09, 0.03, 0.15, 0.06, 0.3, 0.05]
    records = [
        run("a:1", "boolq", math.log10(p), order_hash="x", seed=seed, started=f"2025-01-0{9 - seed}")
        for seed, p in enumerate(p_values, start=1)
    ]
    assert fisher([math.log10(p) for p in p_values]) < -2.5  # taken for eight data sets, they would prove something
    (family,) = build_report(records).models
    assert len(family.tests) == 8
    (counted,) = family.targets
    assert counted.record is records[7]  # the first that was run, not the smallest p-value
    assert family.log10_pooled is family.log10_fisher is family.log10_cauchy is None
    assert counted.log10_p_holm == counted.log10_p
    retests = [test for test in family.tests if test.retest_of is not None]
    assert {test.retest_of and test.retest_of.record.name for test in retests} == {records[7].name}
    assert {str(test.verdict) for test in retests} == {"re-test of the same order"}
    assert sorted(test.log10_p for test in family.tests) == pytest.approx(sorted(map(math.log10, p_values)))
    assert not any(one.counts for one in judged(records)[:7])


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ({"rows": "0:100"}, {"rows": "50:150"}, True),
        ({"rows": "0:100"}, {"rows": "100:200"}, False),
        ({"rows": "0:100"}, {}, True),
        ({}, {}, True),
        ({"order_hash": "x"}, {"order_hash": "y"}, True),  # other renderings of the same rows
        ({"order_hash": "x", "scenario": "copy"}, {"order_hash": "x"}, True),  # the same file under another name
        ({"order_hash": "x", "scenario": "piqa"}, {"order_hash": "y"}, False),
        ({"scenario": "piqa"}, {}, False),
    ],
)
def test_which_tests_share_an_order(one: dict[str, Any], other: dict[str, Any], shared: bool) -> None:
    both = [{"scenario": "boolq", **each} for each in (one, other)]
    records = [run("a:1", log10_p=-1, seed=seed, **each) for seed, each in enumerate(both)]
    assert len([each for each in judged(records) if each.counts]) == (1 if shared else 2)


@pytest.mark.parametrize(("first", "counting"), [(0, [True, True, False]), (2, [False, False, True])])
def test_a_test_of_all_rows_makes_no_re_tests_of_parts_without_common_rows(first: int, counting: list[bool]) -> None:
    rows = ["0:100", "150:250", "90:160"]
    days = ["2025-01-01" if number == first else "2025-01-02" for number in range(3)]
    days[2] = days[2] if first == 2 else "2025-01-03"
    records = [run("a:1", "boolq", -1, rows=each, started=day) for each, day in zip(rows, days, strict=True)]
    assert [each.counts for each in judged(records)] == counting


def file(model: str, name: str, rows: range, log10_p: float = -4.0, **found: Any) -> RunRecord:
    """Return the test of a file whose rows differ in their number."""
    digests = row_digests([f"this is the text of row {number}" for number in rows])
    return run(model, name, log10_p, order_hash=name, row_digests=digests, **found)


def test_files_of_the_same_rows_are_one_test() -> None:
    records = [
        file("a:1", name, rows) for name, rows in (("all", range(60)), ("part", range(50)), ("piqa", range(90, 150)))
    ]
    (family,) = build_report(records).models
    assert [(test.scenario, str(test.verdict)[:7]) for test in family.tests] == [
        ("all", "depends"), ("part", "re-test"), ("piqa", "depends"),
    ]  # fmt: skip
    assert family.log10_fisher == pytest.approx(fisher([-4.0, -4.0]))
    assert [test.log10_p_holm for test in family.targets] == pytest.approx([-4 + math.log10(2)] * 2)
    assert build_report(records[:2]).models[0].log10_fisher is None


def test_runs_without_row_digests_are_compared_as_whole_files() -> None:
    old = run("a:1", "part", -4, order_hash="part")
    assert len([test for test in judged([file("a:1", "all", range(60)), old]) if test.counts]) == 2


@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from([3, 5, 10, 40])), min_size=1, max_size=7),
    st.sampled_from(["target", "control"]),
    st.randoms(use_true_random=False),
)
def test_families_do_not_depend_on_the_order_of_the_files(
    windows: list[tuple[int, int]], role: str, random: Random
) -> None:
    rows = [range(start, start + length) for start, length in windows]
    records = [
        file("a:1", f"file{number}", each, role=role, started=f"2025-01-1{number}") for number, each in enumerate(rows)
    ]
    # A file counts unless it shares rows with an earlier one that counts.
    first: list[int] = []
    for number, own in enumerate(rows):
        shared = (
            earlier
            for earlier, counts in enumerate(first)
            if earlier == counts and len(set(own) & set(rows[earlier])) >= max(3, min(len(own), len(rows[earlier])) / 5)
        )
        first.append(next(shared, number))
    expected = {f"file{number}": f"file{counts}" for number, counts in enumerate(first)}
    for _ in range(2):
        assert {test.scenario: (test.retest_of or test).scenario for test in judged(records)} == expected
        random.shuffle(records)


def test_a_repeated_control_counts_once() -> None:
    target = run("a:1", "boolq", -9)
    control = run("a:1", "boolq", -2.5, role="control", rows="400:500")
    repeats = [
        run("a:1", "boolq", -0.3, role="control", rows="400:500", seed=seed, started="2025-01-02")
        for seed in range(1, 9)
    ]
    # Counted nine times, the control would not reject: 9 · 0.003 is above 0.01.
    assert judged([target, control, *repeats])[0].verdict is Verdict.IN_DOUBT
    # The first one counts, whatever its p-value.
    late = run("a:1", "boolq", -9, role="control", rows="400:500", started="2025-01-03")
    assert judged([target, *repeats, late])[0].verdict is Verdict.DETECTED
    (family,) = build_report([target, *repeats[:2], control]).models
    assert [(test.control, test.retest_of is not None) for test in family.tests] == [
        (False, False), (True, False), (True, True), (True, True),
    ]  # fmt: skip
    assert family.tests[1].record is control


def test_a_control_of_a_re_test_is_a_control_of_the_test_that_counts() -> None:
    first, second = (
        file("a:1", name, range(60), -9, started=f"2025-01-0{day}") for day, name in ((1, "all"), (2, "copy"))
    )
    control = run("a:1", "copy", -4, role="control", rows="60:90", order_hash="control")
    assert judged([first, second, control])[0].verdict is Verdict.IN_DOUBT
    (family,) = build_report([first, second, control, run("a:1", "boolq", -1)]).models
    assert [test.scenario for test in family.tests] == ["all", "copy", "copy", "boolq"]


def test_a_control_of_two_files_is_a_control_of_both() -> None:
    """The same rows in two formats; the target is the second."""
    target = file("a:1", "copy", range(60), -9)
    held_out = row_digests([f"this is the text of row {number}" for number in range(60, 90)])
    controls = [
        run("a:1", name, -4, role="control", rows="60:90", row_digests=held_out, started=f"2025-01-0{day}")
        for day, name in ((1, "all"), (2, "copy"))
    ]
    assert judged([target, *controls])[0].verdict is Verdict.IN_DOUBT
    (family,) = build_report([target, run("a:1", "boolq", -1), *controls]).models
    assert [test.scenario for test in family.tests] == ["copy", "all", "copy", "boolq"]


def test_a_repeated_control_of_a_benchmarks_file_is_listed_with_it() -> None:
    files = [subject("a:1", name, -9, order_hash=name) for name in ("anatomy", "law")]
    controls = [subject("a:1", "law", -0.3, role="control", rows="400:500", seed=seed) for seed in (1, 2)]
    report = build_report([*files, *controls])
    assert [test.control for test in report.benchmarks[0].tests] == [False, False, True, True]
    assert report.models[0].tests == ()


def test_a_finding_concerns_runs_on_the_data_of_its_re_tests() -> None:
    first, second = (
        file("a:1", name, range(60), started=f"2025-01-0{day}") for day, name in ((1, "copy"), (2, "piqa"))
    )
    scored, other = run("a:1", "piqa", 0.0, seed=7), run("a:1", "boolq", 0.0, seed=7)
    finding = judged([first, second])[0]
    assert finding.seen
    assert [finding.concerns(one) for one in (scored, other, first, second)] == [True, False, False, False]


@pytest.mark.parametrize(
    ("rank", "found", "unsettled"),
    [
        (7, {}, True),  # exact p from 8e-04 to 0.09
        (4, {}, False),  # from 0.3 to 0.9
        (9, {}, False),  # from 1e-08 to 9e-08
        (7, {"next_example": {"log10_p": -13.0}}, False),  # the other test decides
        (7, {"neighbours": {"log10_p": -13.0}}, False),
        (7, {"neighbours": {"log10_p": -0.1}}, True),
        (7, {"exchangeable": False}, False),
        (7, {"role": "control"}, False),
        (9, {"alpha": 3e-8}, True),
        (7, {"looks": {**LOOKS, "first_log10_p": -9.0}}, False),  # so does that look
        (7, {"looks": LOOKS}, True),
    ],
)
def test_a_verdict_is_unsettled_if_other_shuffles_might_change_it(
    rank: int, found: dict[str, Any], unsettled: bool
) -> None:
    shards = [{"canonical": rank + 0.5, "shuffled": [float(one) for one in range(1, 10)]}] * 8
    (test,) = judged([run("a:1", "boolq", -3.2, shard_scores=shards, **found)])
    assert test.unsettled is unsettled


def test_whether_a_verdict_is_settled_depends_on_its_family() -> None:
    shards = [{"canonical": 8.5, "shuffled": [float(one) for one in range(1, 10)]}] * 8
    records = [run("a:1", f"set{number}", -1 if number else -8, shard_scores=shards) for number in range(9)]
    assert not judged(records[:2])[0].unsettled  # exact p up to 0.004
    assert judged(records)[0].unsettled


def test_of_an_order_the_test_counts_whose_text_passes_the_diagnostics() -> None:
    raw = run("a:1", "boolq", -9, order_hash="x", exchangeable=False, started="2025-01-01", seed=1)
    repaired = run("a:1", "boolq", -1, order_hash="x", started="2025-01-02", seed=2)
    found = {one.record.name: one.counts for one in judged([raw, repaired])}
    assert found == {raw.name: False, repaired.name: True}


@given(st.lists(st.floats(-30, 0), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_which_test_counts_depends_on_no_p_value(log10_ps: list[float], random: Random) -> None:
    def counted(values: Sequence[float]) -> list[str]:
        records = [
            run("a:1", "boolq", value, order_hash="x", seed=seed, started=f"2025-01-{10 + seed}")
            for seed, value in enumerate(values)
        ]
        random.shuffle(records)
        return [one.record.name for one in judged(records) if one.counts]

    assert counted(log10_ps) == counted([0.0] * len(log10_ps))


def test_other_runs_and_failed_ones_are_no_tests() -> None:
    tested = run("a:1", "boolq", -3)
    assert judged([replace(tested, status="failed"), replace(tested, details={})]) == []
    with pytest.raises(DataError, match="none of these runs is a test"):
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


def test_a_second_look_does_not_count_in_the_pooled_test() -> None:
    """Who gets a second look depends on the first one's answers, so the pooled test must not read it."""

    def pooled(*seconds: float | None) -> float | None:
        records = []
        for number, second in enumerate(seconds):
            shuffled = [1.0, 2.0, 3.0, 4.0, 5.0] + ([] if second is None else [second] * 20)
            shards = [{"canonical": 3.5 + shard / 10, "shuffled": shuffled} for shard in range(8)]
            looks = {**LOOKS, "shuffles": 5, "second": second is not None}
            records.append(run("a:1", f"data{number}", -1, shard_scores=shards, looks=looks))
        (family,) = build_report(records).models
        return family.log10_pooled

    first_looks = [[[3.5 + shard / 10, 1.0, 2.0, 3.0, 4.0, 5.0] for shard in range(8)]] * 2
    assert pooled(None, None) == pooled(0.0, None) == pooled(0.0, 9.0) == pooled_relabelling(first_looks).log10_p


def subject(model: str, name: str, log10_p: float, **found: Any) -> RunRecord:
    record = run(model, "mmlu", log10_p, **found)
    spec = record.spec.model_copy(update={"scenario": Component(name="mmlu", arguments={"subject": name})})
    return replace(record, spec=spec, name=spec.name)


def test_the_files_of_a_benchmark_are_a_family_and_one_test_of_their_model() -> None:
    files = [subject("a:1", name, -2.3) for name in ("anatomy", "law", "virology")]
    sorted_file = subject("a:1", "zoology", -40, exchangeable=False)
    report = build_report([run("a:1", "boolq", -2.3), *files, sorted_file])
    (model,), (benchmark,) = report.models, report.benchmarks
    assert [test.scenario for test in model.targets] == ["boolq"]
    assert len(benchmark.targets) == 3
    assert [str(test.verdict) for test in benchmark.tests].count("not testable") == 1
    # Three files are corrected for; the model's family has two tests, BoolQ and all of MMLU.
    assert benchmark.targets[0].log10_p_holm == pytest.approx(-2.3 + math.log10(3))
    assert model.targets[0].log10_p_holm == pytest.approx(-2.3)
    (row,) = model.benchmarks
    assert (len(row.files), row.not_testable) == (3, 1)
    assert row.as_json()["files"] == 4
    assert row.log10_p == pytest.approx(fisher([-2.3] * 3))
    assert row.log10_p_holm == pytest.approx(row.log10_p + math.log10(2))
    assert row.verdict is Verdict.DETECTED
    assert [family.benchmark for family in report.families] == ["", "mmlu"]
    assert json.loads(json.dumps(report.as_json()))["models"][0]["benchmarks"][0]["files_combined"] == 3


def test_report_and_verdicts_have_the_same_families() -> None:
    records = [run("a:1", "boolq", -2.1), *(subject("a:1", name, -2.1) for name in ("anatomy", "law"))]
    judged_p = {one.record.name: one.log10_p_holm for one in judged(records)}
    other = [replace(one, spec=one.spec.model_copy(update={"model": Component(name="b:2")})) for one in records]
    report = build_report([*records, *other])
    for family in (*report.models[:1], *report.benchmarks[:1], *report.data_sets):
        for test in family.targets:
            assert test.log10_p_holm == pytest.approx(judged_p[test.record.name])


def test_one_subject_or_several_files_by_path_are_no_benchmark() -> None:
    one = [subject("a:1", "law", -2.1, rows=rows) for rows in ("0:50", "50:100")]
    files = []
    for path in ("a.jsonl", "b.jsonl"):
        record = run("a:1", "published_file", -2.1)
        spec = record.spec.model_copy(update={"scenario": Component(name="published_file", arguments={"path": path})})
        files.append(replace(record, spec=spec, name=spec.name))
    report = build_report([*one, *files])
    assert report.benchmarks == ()
    assert len(report.models[0].targets) == 4


def test_a_benchmark_is_in_doubt_if_a_control_of_a_file_rejects() -> None:
    records = [subject("a:1", name, -9) for name in ("anatomy", "law")]
    control = subject("a:1", "law", -9, role="control", rows="400:500")
    report = build_report([*records, control])
    (row,) = report.models[0].benchmarks
    assert row.verdict is Verdict.IN_DOUBT
    assert control.name in [test.record.name for test in report.benchmarks[0].tests]


FEW = {"headline_log10_p": None, "testable": False, "not_testable": "with 4 examples …", "shard_scores": None}
SORTED = {"exchangeable": False}


@pytest.mark.parametrize("untestable", [FEW, SORTED], ids=["too few examples", "no repair passes"])
def test_what_cannot_be_tested_is_in_no_family(untestable: dict[str, Any]) -> None:
    honest = [run("a:1", name, -2.1) for name in ("boolq", "mnli")]
    alone = build_report(honest).models[0]
    few = run("a:1", "tiny", -30.0, **untestable)
    report = build_report([*honest, few])
    assert report.untestable
    (family,) = report.models
    assert [str(test.verdict) for test in family.tests][-1] == "not testable"
    assert [test.scenario for test in family.targets] == ["boolq", "mnli"]
    assert [test.as_json() for test in family.targets] == [test.as_json() for test in alone.targets]  # Holm, BH, BY
    for combined in ("log10_pooled", "log10_fisher", "log10_cauchy"):
        assert getattr(family, combined) == pytest.approx(getattr(alone, combined))
    (family,) = build_report([honest[0], few]).models
    assert family.log10_pooled is family.log10_fisher is family.log10_cauchy is None
    assert build_report([few]).models[0].targets == []


@pytest.mark.parametrize("untestable", [FEW, SORTED], ids=["too few examples", "no repair passes"])
def test_what_cannot_be_tested_has_a_reason_and_no_p_value(untestable: dict[str, Any]) -> None:
    (test,) = build_report([run("a:1", "tiny", -30.0, **untestable)]).models[0].tests
    value = json.loads(json.dumps(test.as_json(), allow_nan=False))
    assert (value["testable"], value["not_testable"]) == (False, test.why_not_testable)
    names = ("headline_log10_p", "p_holm", "log10_p_holm", "q_bh", "log10_q_bh", "q_by", "log10_q_by")
    assert [value[name] for name in names] == [None] * len(names)


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
