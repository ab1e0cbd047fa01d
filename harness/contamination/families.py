"""Which tests of the published order belong together, and what each allows to say; the one definition for all views.

The targets of one model are a family, in which each published order counts once. Tests that share an order test one
hypothesis again, with another seed, another rendering or other shards: they are listed, and neither corrected for nor
combined.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AllowInfNan, BaseModel, Field, Strict, ValidationError

from harness.contamination.statistics.diagnostics import DIAGNOSTICS_LEVEL
from harness.contamination.statistics.verdict import Verdict, verdict
from harness.errors import DataError
from harness.statistics.families import holm
from harness.storage.results import RUN_FILE, RunRecord, warn_set_aside
from harness.storage.run_schema import reasons

_Number = Annotated[float, Strict(), AllowInfNan(False)]


class _Shard(BaseModel):
    canonical: _Number
    shuffled: list[_Number]


class _Diagnostic(BaseModel):
    p_holm: _Number


class _Found(BaseModel):
    """What every report reads of a test; the rest is shown as it is."""

    headline_log10_p: Annotated[_Number, Field(le=1e-6)]
    alpha: Annotated[_Number, Field(gt=0, lt=1)] = 0.01
    exchangeable: bool = True
    order_hash: str | None = None
    shard_scores: list[_Shard] | None = None
    diagnostics: dict[str, _Diagnostic] | None = None
    repaired_diagnostics: dict[str, _Diagnostic] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class OrderTest:
    """One test: a model, and a data set in its published order."""

    record: RunRecord
    """The run."""
    split: str
    """The split that was tested."""
    found: Mapping[str, Any]
    """What the metric found, as in run.json."""

    @property
    def model(self) -> str:
        """The model's label."""
        return self.record.spec.model.label

    @property
    def scenario(self) -> str:
        """The scenario's label."""
        return self.record.spec.scenario.label

    @property
    def control(self) -> bool:
        """Whether it is a control: rows that the model cannot have read, or a model that cannot have read them."""
        return self.found.get("role") == "control"

    @property
    def log10_p(self) -> float:
        """Log10 of the headline p-value."""
        return float(self.found["headline_log10_p"])

    @property
    def alpha(self) -> float:
        """The level that the run asked for."""
        return float(self.found.get("alpha", 0.01))

    @property
    def rejected_diagnostics(self) -> list[str]:
        """Names of the text-only tests by which the order is not exchangeable."""
        return [name for name, p_holm in self._diagnostics.items() if p_holm <= DIAGNOSTICS_LEVEL]

    @property
    def exchangeable(self) -> bool:
        """Whether the text alone leaves it open that the order is a random one."""
        return not self.rejected_diagnostics if self._diagnostics else bool(self.found.get("exchangeable", True))

    @property
    def _diagnostics(self) -> Mapping[str, float]:
        tests = self.found.get("repaired_diagnostics") or self.found.get("diagnostics") or {}
        return {name: float(test["p_holm"]) for name, test in tests.items()}

    def shares_order(self, other: OrderTest) -> bool:
        """Return whether both tests read the same rows in the same order, or rows of one data set that overlap."""
        ours, theirs = self.found.get("order_hash"), other.found.get("order_hash")
        if ours is not None and ours == theirs:
            return True
        if (self.scenario, self.split) != (other.scenario, other.split):
            return False
        (start, stop), (first, last) = _rows(self.found), _rows(other.found)
        return start < last and first < stop


@dataclass(frozen=True, slots=True, eq=False)
class JudgedTest:
    """A test within its model's family."""

    test: OrderTest
    """The test."""
    retest_of: OrderTest | None
    """The test of the same order that counts instead of this one; None for one that counts itself."""
    log10_p_holm: float
    """Its headline corrected over the family by Holm; of controls and re-tests the headline itself."""
    doubted: bool
    """Whether one of its controls rejects."""

    @property
    def verdict(self) -> Verdict:
        """What it allows to say."""
        return self.verdict_at(self.log10_p_holm)

    def verdict_at(self, log10_p: float) -> Verdict:
        """Return what it would allow to say with its p-value corrected in another way."""
        if self.retest_of is not None:
            return Verdict.RETEST
        words = _verdict(self.test, log10_p)
        return Verdict.IN_DOUBT if words is Verdict.DETECTED and self.doubted else words

    @property
    def counts(self) -> bool:
        """Whether it belongs to the family: it is neither a control nor a re-test."""
        return not self.test.control and self.retest_of is None


def order_tests(records: Iterable[RunRecord]) -> Iterator[OrderTest]:
    """Yield the tests of the published order that runs hold: the details of any metric that have ``headline_log10_p``.

    Details of that name in another shape are left out, with a warning.
    """
    for record in records:
        for split, found in details_of(record):
            if "headline_log10_p" not in found:
                continue
            try:
                _Found.model_validate(found)
            except ValidationError as error:
                message = f"not a test of the published order: {reasons(error, _Found)}."
                warn_set_aside(DataError(message, file=record.directory / RUN_FILE))
                continue
            yield OrderTest(record, split, found)


def details_of(record: RunRecord) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what each metric of a finished run says of the unperturbed instances, with their split."""
    if record.status != "ok":
        return
    for by_split in record.details.values():
        for split, parts in by_split.items() if isinstance(by_split, Mapping) else ():
            found = parts.get("original") if isinstance(parts, Mapping) else None
            if isinstance(found, Mapping):
                yield split, found


def judged_tests(tests: Sequence[OrderTest]) -> dict[str, list[JudgedTest]]:
    """Return the tests of each model, in their order, with what each allows to say."""
    by_model: dict[str, list[OrderTest]] = {}
    for test in tests:
        by_model.setdefault(test.model, []).append(test)
    controls = [test for test in tests if test.control]
    return {model: _judged(family, controls) for model, family in by_model.items()}


def representatives(tests: Sequence[OrderTest]) -> dict[OrderTest, OrderTest]:
    """Return for each of one model's targets the test that counts for its order.

    Tests share an order, also by way of others. The one that counts was settled by no p-value: of those whose texts
    pass the diagnostics, which are seen before any model is asked, the one that was started first.
    """
    groups: list[list[OrderTest]] = []
    for test in tests:
        together = [group for group in groups if any(test.shares_order(other) for other in group)]
        groups = [group for group in groups if group not in together]
        groups.append([*(other for group in together for other in group), test])
    found: dict[OrderTest, OrderTest] = {}
    for group in groups:
        first = min(group, key=lambda test: (not test.exchangeable, test.record.started or "", test.record.name))
        found |= dict.fromkeys(group, first)
    return found


def _judged(family: Sequence[OrderTest], controls: Sequence[OrderTest]) -> list[JudgedTest]:
    first = representatives([test for test in family if not test.control])
    counted = [test for test in family if first.get(test) is test]
    corrected = dict(zip(counted, holm([test.log10_p for test in counted], log10=True), strict=True)) if counted else {}
    judged = []
    for test in family:
        retest_of = None if test.control or first[test] is test else first[test]
        doubted = not test.control and _doubted(test, controls)
        judged.append(JudgedTest(test, retest_of, corrected.get(test, test.log10_p), doubted))
    return judged


def _verdict(test: OrderTest, log10_p: float) -> Verdict:
    # Rounding must not carry log10 of the largest p-value above 0.
    return verdict(min(0.0, log10_p), test.alpha, test.exchangeable)


def _doubted(target: OrderTest, controls: Sequence[OrderTest]) -> bool:
    """Return whether one of the target's controls rejects, after Holm over them, though nothing can have been learnt.

    They are the same model on other rows of the data set, and other models on the same rows.
    """
    own = [
        control
        for control in controls
        if control.exchangeable
        and (
            (control.model == target.model and control.scenario == target.scenario)
            or (control.model != target.model and control.shares_order(target))
        )
    ]
    if not own:
        return False
    adjusted = holm([control.log10_p for control in own], log10=True)
    return any(_verdict(control, log10_p) is Verdict.DETECTED for control, log10_p in zip(own, adjusted, strict=True))


def _rows(found: Mapping[str, Any]) -> tuple[float, float]:
    """Return the first row that was read and the one after the last; everything where nothing is said."""
    start, _, stop = str(found.get("rows") or "").partition(":")
    whole = not (start.strip().isdecimal() and stop.strip().isdecimal())
    return (0, math.inf) if whole else (int(start), int(stop))
