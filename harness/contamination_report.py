"""A report on tests of the published order: each with its controls, and families of them with their corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.contamination_verdicts import corrected_verdict, order_tests
from harness.errors import DataError
from harness.exchangeability import Verdict, pooled_relabelling
from harness.exchangeability.families import benjamini_hochberg, benjamini_yekutieli, cauchy, fisher, holm
from harness.results import RunRecord

FEWEST_SHOWN = 2
"""Tests from which on there is a family to combine."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test: a model, and a data set in its published order.

    Attributes:
        model: The model's label.
        scenario: The scenario's label.
        run: The run's name.
        control: Whether it is one.
        found: What the metric found, as in run.json.
        log10_p_holm: The headline corrected over the family by Holm; of a control the headline itself.
        log10_q_bh: Benjamini and Hochberg's; None where the tests of the family share an order.
        log10_q_by: Benjamini and Yekutieli's.
        verdict: The words that go with Holm's p-value.
    """

    model: str
    scenario: str
    run: str
    control: bool
    found: Mapping[str, Any]
    log10_p_holm: float
    log10_q_bh: float | None
    log10_q_by: float
    verdict: Verdict

    @property
    def log10_p(self) -> float:
        """Log10 of the headline p-value."""
        return float(self.found["headline_log10_p"])

    @property
    def rejected_diagnostics(self) -> list[str]:
        """Names of the text-only tests by which the order is not exchangeable."""
        tests = self.found.get("repaired_diagnostics") or self.found.get("diagnostics") or {}
        return [name for name, test in tests.items() if test["p_holm"] <= 0.05]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        adjusted = {"p_holm": self.log10_p_holm, "q_bh": self.log10_q_bh, "q_by": self.log10_q_by}
        return {
            "model": self.model,
            "scenario": self.scenario,
            "run": self.run,
            **self.found,
            **{f"log10_{name}": value for name, value in adjusted.items()},
            **{name: None if value is None else 10**value for name, value in adjusted.items()},
            "verdict": str(self.verdict),
        }


@dataclass(frozen=True, slots=True)
class Family:
    """Tests that are looked at together.

    Attributes:
        name: The model whose files they are, or the data set that several models were tested on.
        shared_order: Whether they share an order, so that they depend on each other in unknown ways.
        tests: The tests, controls after the target that they belong to.
        log10_pooled: Log10 p of the re-labelling test of all shards together: a dependence weak but everywhere.
        log10_fisher: Fisher's combination of the headlines.
        log10_cauchy: The Cauchy combination: a dependence in a few of many.
    """

    name: str
    shared_order: bool
    tests: tuple[Test, ...]
    log10_pooled: float | None = None
    log10_fisher: float | None = None
    log10_cauchy: float | None = None

    @property
    def targets(self) -> list[Test]:
        """The tests that are no controls."""
        return [test for test in self.tests if not test.control]

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
    entries = [
        (record.spec.model.label, record.spec.scenario.label, record.name, found)
        for record, _, found in order_tests(records)
    ]
    if not entries:
        raise DataError(
            "no run here holds a test of the published order. `harness contamination test MODEL --data DATA` makes one."
        )
    by_model: dict[str, list[_Entry]] = {}
    by_data: dict[str, list[_Entry]] = {}
    for model, scenario, run, found in entries:
        by_model.setdefault(model, []).append((model, scenario, run, found))
        if found.get("role") != "control":
            by_data.setdefault(scenario, []).append((model, scenario, run, found))
    models = tuple(_family(model, each, shared_order=False) for model, each in by_model.items())
    shared = {scenario: each for scenario, each in by_data.items() if len({model for model, *_ in each}) > 1}
    return Report(models, tuple(_family(scenario, each, shared_order=True) for scenario, each in shared.items()))


_Entry = tuple[str, str, str, Mapping[str, Any]]


def _family(name: str, entries: Sequence[_Entry], *, shared_order: bool) -> Family:
    targets = [entry for entry in entries if entry[3].get("role") != "control"]
    controls = [entry for entry in entries if entry[3].get("role") == "control"]
    headlines = [float(found["headline_log10_p"]) for *_, found in targets]
    by_holm, by_yekutieli = holm(headlines), benjamini_yekutieli(headlines)
    by_hochberg: Sequence[float | None] = [None] * len(headlines) if shared_order else benjamini_hochberg(headlines)
    tests: list[Test] = []
    for target, p_holm, q_bh, q_by in zip(targets, by_holm, by_hochberg, by_yekutieli, strict=True):
        tests.append(_test(target, p_holm, q_bh, q_by))
        tests += [_alone(control) for control in controls if control[1] == target[1]]
    known = {target[1] for target in targets}
    tests += [_alone(control) for control in controls if control[1] not in known]
    if shared_order or len(targets) < FEWEST_SHOWN:
        return Family(name, shared_order, tuple(tests))
    tables = [
        [[row["canonical"], *row["shuffled"]] for row in found["shard_scores"]]
        for *_, found in targets
        if found.get("shard_scores")
    ]
    pooled = pooled_relabelling(tables).log10_p if len(tables) == len(targets) else None
    return Family(name, shared_order, tuple(tests), pooled, fisher(headlines), cauchy(headlines))


def _test(entry: _Entry, p_holm: float, q_bh: float | None, q_by: float) -> Test:
    model, scenario, run, found = entry
    return Test(model, scenario, run, False, found, p_holm, q_bh, q_by, corrected_verdict(found, p_holm))


def _alone(entry: _Entry) -> Test:
    """Return a control, which stands in no family: what it says is said by itself."""
    model, scenario, run, found = entry
    log10_p = float(found["headline_log10_p"])
    return Test(model, scenario, run, True, found, log10_p, log10_p, log10_p, corrected_verdict(found, log10_p))
