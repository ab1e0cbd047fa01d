"""A report on tests of the published order: families of tests with corrections, and their controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.contamination.order_tests import JudgedTest, judged_tests
from harness.contamination.statistics.relabelling import pooled_relabelling
from harness.errors import DataError
from harness.statistics.families import benjamini_hochberg, benjamini_yekutieli, cauchy, fisher, holm
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True)
class TestFamily:
    """Tests that are corrected together."""

    __test__ = False  # not a test of pytest's

    name: str
    """The model that was tested on several data sets, or the data set that several models were tested on."""
    shared_order: bool
    """True if the tests share an order, so that they depend on each other in unknown ways."""
    tests: tuple[JudgedTest, ...]
    """The tests; re-tests and controls follow the target that they belong to."""
    log10_pooled: float | None = None
    """Log10 p of the re-labelling test of all shards together, which finds a weak but general dependence. Like the
    combinations below, of the targets whose order is exchangeable; None for fewer than two."""
    log10_fisher: float | None = None
    """Fisher's combination of the p-values."""
    log10_cauchy: float | None = None
    """The Cauchy combination, which finds a dependence in a few of many data sets."""

    @property
    def targets(self) -> list[JudgedTest]:
        """The tests that count: neither controls nor re-tests."""
        return [test for test in self.tests if test.counts]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values; log10 p-values, since p-values may be too small for a float."""
        return {
            "name": self.name,
            "shared_order": self.shared_order,
            "log10_pooled": self.log10_pooled,
            "log10_fisher": self.log10_fisher,
            "log10_cauchy": self.log10_cauchy,
            "tests": [test.as_json() for test in self.tests],
        }


@dataclass(frozen=True, slots=True)
class Report:
    """Families of tests: each model's data sets, and the models of each data set that has several."""

    models: tuple[TestFamily, ...]
    data_sets: tuple[TestFamily, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "models": [family.as_json() for family in self.models],
            "data_sets": [family.as_json() for family in self.data_sets],
        }


def build_report(records: Sequence[RunRecord]) -> Report:
    """Return the report on all tests among some runs.

    Raises:
        DataError: There are none.
    """
    by_model = judged_tests(records)
    if not by_model:
        raise DataError(
            "none of these runs is a test of the published order; make one with "
            "`harness contamination test MODEL --data DATA`."
        )
    by_data: dict[str, list[JudgedTest]] = {}
    for test in (test for tests in by_model.values() for test in tests if test.counts):
        by_data.setdefault(test.scenario, []).append(test)
    shared = {scenario: tests for scenario, tests in by_data.items() if len({test.model for test in tests}) > 1}
    return Report(
        tuple(_family(model, tests, shared_order=False) for model, tests in by_model.items()),
        tuple(_family(scenario, tests, shared_order=True) for scenario, tests in shared.items()),
    )


def _family(name: str, judged: Sequence[JudgedTest], *, shared_order: bool) -> TestFamily:
    targets = [test for test in judged if test.counts]
    p_values = [test.log10_p for test in targets]
    by_hochberg: Sequence[float | None] = [None] * len(targets)
    if not shared_order:
        by_hochberg = benjamini_hochberg(p_values, log10=True)
    adjusted = zip(holm(p_values, log10=True), by_hochberg, benjamini_yekutieli(p_values, log10=True), strict=True)
    controls = [test for test in judged if test.control]
    tests: list[JudgedTest] = []
    for target, (p_holm, q_bh, q_by) in zip(targets, adjusted, strict=True):
        tests.append(replace(target, log10_p_holm=p_holm, log10_q_bh=q_bh, log10_q_by=q_by))
        retests = [test for test in judged if test.retest_of and test.retest_of.found is target.found]
        own = [test for test in controls if test.scenario == target.scenario]
        controls = [test for test in controls if test not in own]
        tests += [*retests, *own]
    tests += controls
    valid = [test for test in targets if test.exchangeable]
    if shared_order or len(valid) < 2:
        return TestFamily(name, shared_order, tuple(tests))
    tables = [
        [[row["canonical"], *row["shuffled"]] for row in test.found["shard_scores"]]
        for test in valid
        if test.found.get("shard_scores")
    ]
    pooled = pooled_relabelling(tables).log10_p if len(tables) == len(valid) else None
    together = [test.log10_p for test in valid]
    return TestFamily(name, shared_order, tuple(tests), pooled, fisher(together), cauchy(together))
