"""A report on tests of the published order: each with its controls, and families of them with their corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.contamination.families import JudgedTest, OrderTest, judged_tests, order_tests
from harness.contamination.statistics.relabelling import pooled_relabelling
from harness.contamination.statistics.verdict import Verdict
from harness.errors import DataError
from harness.statistics.families import benjamini_hochberg, benjamini_yekutieli, cauchy, fisher, holm
from harness.storage.results import RunRecord

FEWEST_SHOWN = 2
"""Tests from which on there is a family to combine."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test: a model, and a data set in its published order."""

    test: OrderTest
    """The test."""
    retest_of: str | None
    """The run that counts for the same order instead of this one; None for a test that counts itself."""
    log10_p_holm: float
    """The headline corrected over the family by Holm; of controls and re-tests the headline itself."""
    log10_q_bh: float | None
    """Benjamini and Hochberg's; None where the tests of the family share an order."""
    log10_q_by: float
    """Benjamini and Yekutieli's."""
    verdict: Verdict
    """What the test allows to say."""

    @property
    def model(self) -> str:
        """The model's label."""
        return self.test.model

    @property
    def scenario(self) -> str:
        """The scenario's label."""
        return self.test.scenario

    @property
    def control(self) -> bool:
        """Whether it is a control."""
        return self.test.control

    @property
    def counts(self) -> bool:
        """Whether it is in the corrections: it is neither a control nor a re-test."""
        return not self.control and self.retest_of is None

    @property
    def found(self) -> Mapping[str, Any]:
        """What the metric found, as in run.json."""
        return self.test.found

    @property
    def log10_p(self) -> float:
        """Log10 of the headline p-value."""
        return self.test.log10_p

    @property
    def rejected_diagnostics(self) -> list[str]:
        """Names of the text-only tests by which the order is not exchangeable."""
        return self.test.rejected_diagnostics

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        adjusted = {"p_holm": self.log10_p_holm, "q_bh": self.log10_q_bh, "q_by": self.log10_q_by}
        return {
            "model": self.model,
            "scenario": self.scenario,
            "run": self.test.record.name,
            "retest_of": self.retest_of,
            **self.found,
            **{f"log10_{name}": value for name, value in adjusted.items()},
            **{name: None if value is None else 10**value for name, value in adjusted.items()},
            "verdict": str(self.verdict),
        }


@dataclass(frozen=True, slots=True)
class Family:
    """Tests that are looked at together."""

    name: str
    """The model whose files they are, or the data set that several models were tested on."""
    shared_order: bool
    """Whether they share an order, so that they depend on each other in unknown ways."""
    tests: tuple[Test, ...]
    """The tests; re-tests and controls come after the target that they belong to."""
    log10_pooled: float | None = None
    """Log10 p of the re-labelling test of all shards together: a dependence weak but everywhere."""
    log10_fisher: float | None = None
    """Fisher's combination of the headlines."""
    log10_cauchy: float | None = None
    """The Cauchy combination: a dependence in a few of many."""

    @property
    def targets(self) -> list[Test]:
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
    """Families of tests: for each model its data sets, and for each data set its models where there are several."""

    models: tuple[Family, ...]
    data_sets: tuple[Family, ...] = field(default=())

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
    judged = judged_tests(list(order_tests(records)))
    if not judged:
        raise DataError(
            "no run here holds a test of the published order. `harness contamination test MODEL --data DATA` makes one."
        )
    by_data: dict[str, list[JudgedTest]] = {}
    for one in (one for tests in judged.values() for one in tests if one.counts):
        by_data.setdefault(one.test.scenario, []).append(one)
    models = tuple(_family(model, tests, shared_order=False) for model, tests in judged.items())
    shared = {scenario: each for scenario, each in by_data.items() if len({one.test.model for one in each}) > 1}
    return Report(models, tuple(_family(scenario, each, shared_order=True) for scenario, each in shared.items()))


def _family(name: str, judged: Sequence[JudgedTest], *, shared_order: bool) -> Family:
    targets = [one for one in judged if one.counts]
    controls = [one for one in judged if one.test.control]
    headlines = [one.test.log10_p for one in targets]
    by_yekutieli = benjamini_yekutieli(headlines, log10=True)
    by_hochberg: Sequence[float | None] = (
        [None] * len(headlines) if shared_order else benjamini_hochberg(headlines, log10=True)
    )
    by_holm = holm(headlines, log10=True) if shared_order else [one.log10_p_holm for one in targets]
    tests: list[Test] = []
    for target, p_holm, q_bh, q_by in zip(targets, by_holm, by_hochberg, by_yekutieli, strict=True):
        tests.append(Test(target.test, None, p_holm, q_bh, q_by, target.verdict_at(p_holm)))
        tests += [_alone(one) for one in judged if one.retest_of is target.test]
        tests += [_alone(one) for one in controls if one.test.scenario == target.test.scenario]
        controls = [one for one in controls if one.test.scenario != target.test.scenario]
    tests += [_alone(one) for one in controls]
    if shared_order or len(targets) < FEWEST_SHOWN:
        return Family(name, shared_order, tuple(tests))
    tables = [
        [[row["canonical"], *row["shuffled"]] for row in one.test.found["shard_scores"]]
        for one in targets
        if one.test.found.get("shard_scores")
    ]
    pooled = pooled_relabelling(tables).log10_p if len(tables) == len(targets) else None
    return Family(name, shared_order, tuple(tests), pooled, fisher(headlines), cauchy(headlines))


def _alone(one: JudgedTest) -> Test:
    """Return a control or a re-test, which is in no correction."""
    log10_p = one.test.log10_p
    retest_of = None if one.retest_of is None else one.retest_of.record.name
    return Test(one.test, retest_of, log10_p, log10_p, log10_p, one.verdict)
