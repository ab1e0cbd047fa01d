"""A report on tests of the published order: families of tests with corrections, and their controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.contamination.benchmarks import Benchmark, benchmarks
from harness.contamination.failed_tests import FailedTest, failed_tests
from harness.contamination.order_tests import JudgedTest, judged_tests
from harness.contamination.statistics.relabelling import pooled_relabelling
from harness.errors import DataError
from harness.plugins.registry import Registry
from harness.statistics.families import benjamini_hochberg, benjamini_yekutieli, cauchy, fisher
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True)
class TestFamily:
    """Tests that are corrected together."""

    __test__ = False  # not a test of pytest's

    name: str
    """The model that was tested on several data sets, or the data set that several models were tested on."""
    shared_order: bool
    """True if the tests share an order, so that they depend on each other in unknown ways; Holm's corrections and
    verdicts are then those of the models' families."""
    tests: tuple[JudgedTest, ...]
    """The tests; re-tests and controls follow the target that they belong to."""
    log10_pooled: float | None = None
    """Log10 p of the relabelling test of all shards together, which finds a weak but general dependence. It uses only
    first looks, because their answers decide which data sets get a second one. This and the combinations below cover
    the targets, and are None for fewer than two."""
    log10_fisher: float | None = None
    """Fisher's combination of the p-values."""
    log10_cauchy: float | None = None
    """The Cauchy combination, which finds a dependence in a few of many data sets."""
    benchmark: str = ""
    """The benchmark whose files these are; empty for a model's own family."""
    benchmarks: tuple[Benchmark, ...] = ()
    """In a model's own family, the benchmarks of several files, each of which is one test."""
    failed: tuple[FailedTest, ...] = ()
    """In a model's own family, all of its tests that failed."""

    @property
    def targets(self) -> list[JudgedTest]:
        """The tests that count: neither controls, nor re-tests, nor orders that cannot be tested."""
        return [test for test in self.tests if test.counts]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values; log10 p-values, since p-values may be too small for a float."""
        return {
            "name": self.name,
            "benchmark": self.benchmark,
            "shared_order": self.shared_order,
            "log10_pooled": self.log10_pooled,
            "log10_fisher": self.log10_fisher,
            "log10_cauchy": self.log10_cauchy,
            "tests": [test.as_json() for test in self.tests],
            "benchmarks": [benchmark.as_json() for benchmark in self.benchmarks],
            "failed": [test.as_json() for test in self.failed],
        }


@dataclass(frozen=True, slots=True)
class Report:
    """Families of tests."""

    models: tuple[TestFamily, ...]
    """Each model's data sets and, as one test each, its benchmarks of several files."""
    benchmarks: tuple[TestFamily, ...] = ()
    """The files of each model's benchmarks."""
    data_sets: tuple[TestFamily, ...] = ()
    """The models of each data set that has several."""

    @property
    def families(self) -> tuple[TestFamily, ...]:
        """All of them: each model followed by its benchmarks, then the data sets."""
        parts = [[family, *(part for part in self.benchmarks if part.name == family.name)] for family in self.models]
        return (*(family for part in parts for family in part), *self.data_sets)

    @property
    def untestable(self) -> bool:
        """True if the order of a test's data cannot be tested."""
        return any(not test.testable for family in self.families for test in family.tests)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        kinds = {"models": self.models, "benchmarks": self.benchmarks, "data_sets": self.data_sets}
        return {kind: [family.as_json() for family in families] for kind, families in kinds.items()}


def build_report(records: Sequence[RunRecord], registry: Registry | None = None) -> Report:
    """Return the report on all tests among some runs, also those that failed.

    Args:
        records: The runs.
        registry: Knows their adapters (default: the installed plugins).

    Raises:
        DataError: There are none.
    """
    by_model = judged_tests(records)
    failed: dict[str, list[FailedTest]] = {}
    for failure in sorted(failed_tests(records, registry), key=lambda test: test.control):  # targets first
        failed.setdefault(failure.model, []).append(failure)
    if not by_model and not failed:
        raise DataError(
            "none of these runs is a test of the published order; make one with "
            "`harness contamination test MODEL --data DATA`."
        )
    models, parts = [], []
    for model in dict.fromkeys((*by_model, *failed)):
        judged = by_model.get(model, [])
        found = benchmarks(judged)
        rest = list(judged)
        for benchmark in found:
            own = [test for test in judged if _belongs(test, benchmark)]
            rest = [test for test in rest if test not in own]
            parts.append(_family(model, own, benchmark=benchmark.name))
        models.append(replace(_family(model, rest, parts=found), failed=tuple(failed.get(model, ()))))
    by_data: dict[str, list[JudgedTest]] = {}
    for test in (test for tests in by_model.values() for test in tests if test.counts):
        by_data.setdefault(test.scenario, []).append(test)
    shared = {scenario: tests for scenario, tests in by_data.items() if len({test.model for test in tests}) > 1}
    data_sets = [_family(scenario, tests, shared_order=True) for scenario, tests in shared.items()]
    return Report(tuple(models), tuple(parts), tuple(data_sets))


def _belongs(test: JudgedTest, benchmark: Benchmark) -> bool:
    """Return True for a benchmark's files, their re-tests and their controls."""
    counting = test.retest_of or test
    if test.control:
        return any(file.scenario == counting.scenario for file in benchmark.files)
    if not test.testable:
        return test.benchmark == benchmark.name
    return any(file.found is counting.found for file in benchmark.files)


def _family(
    name: str,
    judged: Sequence[JudgedTest],
    *,
    shared_order: bool = False,
    benchmark: str = "",
    parts: Sequence[Benchmark] = (),
) -> TestFamily:
    targets = [test for test in judged if test.counts]
    p_values = [*(test.log10_p for test in targets), *(part.log10_p for part in parts)]
    by_hochberg: Sequence[float | None] = [None] * len(p_values)
    if not shared_order:
        by_hochberg = benjamini_hochberg(p_values, log10=True)
    corrections = list(zip(by_hochberg, benjamini_yekutieli(p_values, log10=True), strict=True))
    rows = tuple(
        replace(part, log10_q_bh=q_bh, log10_q_by=q_by)
        for part, (q_bh, q_by) in zip(parts, corrections[len(targets) :], strict=True)
    )
    adjusted = {
        target: replace(target, log10_q_bh=q_bh, log10_q_by=q_by)
        for target, (q_bh, q_by) in zip(targets, corrections, strict=False)
    }
    controls = [test for test in judged if test.control and test.retest_of is None]

    def with_retests(test: JudgedTest) -> list[JudgedTest]:
        retests = (other for other in judged if other.retest_of and other.retest_of.found is test.found)
        return [adjusted.get(test, test), *retests]

    tests: list[JudgedTest] = []
    for test in judged:
        if test.counts:
            data = {one.scenario for one in (test, *test.retests)}
            own = [control for control in controls if data & {one.scenario for one in (control, *control.retests)}]
            controls = [control for control in controls if control not in own]
            tests += (one for first in (test, *own) for one in with_retests(first))
        elif not test.testable and not test.control:
            tests.append(test)
    tests += (one for control in controls for one in with_retests(control))
    family = TestFamily(name, shared_order, tuple(tests), benchmark=benchmark, benchmarks=rows)
    if shared_order or len(p_values) < 2:
        return family
    files = [*targets, *(test for one in parts for test in one.files)]
    tables = [test.unselected_scores for test in files if test.found.get("shard_scores")]
    pooled = pooled_relabelling(tables).log10_p if len(tables) == len(files) else None
    return replace(family, log10_pooled=pooled, log10_fisher=fisher(p_values), log10_cauchy=cauchy(p_values))
