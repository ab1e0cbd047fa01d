"""Tests of the published order among runs: which belong together, and what each one shows.

The tests of one model's data sets are a family, in which each published order counts once. Tests that share an order
repeat one hypothesis with another seed, rendering, file or set of shards: such re-tests are listed, but left out of
corrections and combinations. The same holds for controls, and for orders that cannot be tested. The files of
one benchmark, such as MMLU's subjects, are a family of their own; in their model's family they are one test, whose
p-value is Fisher's combination of the files that can be tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, AllowInfNan, BaseModel, Field, Strict, ValidationError

from harness.contamination.retests import representatives
from harness.contamination.statistics.looks import combined_looks
from harness.contamination.statistics.relabelling import relabelling_spread
from harness.contamination.statistics.shared_rows import digest_places, share_rows
from harness.contamination.statistics.testable import why_not_testable
from harness.contamination.statistics.verdict import Verdict, verdict
from harness.errors import DataError
from harness.statistics.families import bonferroni, fisher, holm
from harness.storage.results import RUN_FILE, RunRecord, warn_set_aside
from harness.storage.run_schema import reasons

_Number = Annotated[float, Strict(), AllowInfNan(False)]


def _digests(value: str) -> str:
    digest_places(value)
    return value


class _Shard(BaseModel):
    canonical: _Number
    shuffled: Annotated[list[_Number], Field(min_length=1)]


def _of_equal_width(shards: list[_Shard]) -> list[_Shard]:
    if len({len(shard.shuffled) for shard in shards}) > 1:
        raise ValueError("the shards have different numbers of shuffles")
    return shards


class _Part(BaseModel):
    log10_p: Annotated[_Number, Field(le=1e-6)] | None = None


class _Diagnostic(BaseModel):
    p_holm: _Number


class _Looks(BaseModel):
    shuffles: Annotated[int, Strict(), Field(ge=1)]
    share: Annotated[_Number, Field(gt=0, lt=1)]
    open: Annotated[_Number, Field(gt=0, le=1)]
    first_log10_p: Annotated[_Number, Field(le=0)]
    second: Annotated[bool, Strict()]


class _Cost(BaseModel):
    requests: Annotated[int, Strict()] = 0
    tokens: Annotated[int, Strict()] | None = None


class _Found(BaseModel):
    """The keys of a test's details that reports compute with; the others are only shown."""

    headline_log10_p: Annotated[_Number, Field(le=1e-6)] | None
    alpha: Annotated[_Number, Field(gt=0, lt=1)] = 0.01
    exchangeable: bool = True
    testable: bool = True
    order_hash: str | None = None
    row_digests: Annotated[str, AfterValidator(_digests)] | None = None
    shard_scores: Annotated[list[_Shard], AfterValidator(_of_equal_width)] | None = None
    neighbours: _Part | None = None
    next_example: _Part | None = None
    cost: _Cost | None = None
    looks: _Looks | None = None
    diagnostics: dict[str, _Diagnostic] | None = None
    repaired_diagnostics: dict[str, _Diagnostic] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class OrderTest:
    """One test: a model, and a data set in its published order."""

    record: RunRecord
    """The run."""
    split: str
    """The tested split."""
    found: Mapping[str, Any]
    """The metric's details, as in run.json."""

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
        """True for a control: the model was not trained on these rows."""
        return self.found.get("role") == "control"

    @property
    def log10_p(self) -> float:
        """Log10 of the combined p-value; not a number if the order cannot be tested."""
        return min(0.0, float(self.found["headline_log10_p"])) if self.testable else math.nan

    @property
    def alpha(self) -> float:
        """The run's level."""
        return float(self.found.get("alpha", 0.01))

    @property
    def log10_level(self) -> float:
        """Log10 of the run's level."""
        return math.log10(self.alpha)

    @property
    def spread(self) -> tuple[float, float] | None:
        """Log10 of the exact p-values between which four in five other draws of shuffles would lie; None without."""
        shards = self.found.get("shard_scores")
        return _spread(tuple((shard["canonical"], *shard["shuffled"]) for shard in shards)) if shards else None

    @property
    def computed_tokens(self) -> int | None:
        """Tokens that the model computed for the run; None in records of older versions."""
        return self.record.efficiency.get("computed_tokens")

    @property
    def unselected_scores(self) -> list[list[float]]:
        """The scores of each shard's orders, the published one's first, without those of a second look.

        Whether there is a second look depends on the first one's answers, so ranks among all orders are not uniform.
        """
        looks = self.found.get("looks")
        stop = looks["shuffles"] if looks else None
        return [[shard["canonical"], *shard["shuffled"][:stop]] for shard in self.found.get("shard_scores") or ()]

    @property
    def testable(self) -> bool:
        """False if the order cannot be tested, so that there is no p-value."""
        return not self.why_not_testable

    @property
    def why_not_testable(self) -> str:
        """Why the order cannot be tested; '' if it can be."""
        return why_not_testable(self.found)

    @property
    def benchmark(self) -> str:
        """The benchmark that the data set may be one file of: the scenario without its parameters.

        Empty for a file that is named by its path: two such files need not have anything in common.
        """
        scenario = self.record.spec.scenario
        return "" if "path" in scenario.arguments else scenario.name

    def verdict_at(self, log10_p: float) -> Verdict:
        """Return the verdict at a corrected p-value."""
        if not self.testable:
            return Verdict.NOT_TESTABLE
        # Rounding must not carry log10 of the largest p-value above 0.
        return verdict(min(0.0, log10_p), self.alpha)

    def shares_order(self, other: OrderTest) -> bool:
        """Return True if both tests read the same rows in the same order, or overlapping rows of one data set.

        In different files, rows are the same if their words are the same, and :func:`share_rows` decides. Runs without
        ``row_digests`` are compared as whole files, by ``order_hash``.
        """
        ours, theirs = self.found.get("order_hash"), other.found.get("order_hash")
        if ours is not None and ours == theirs:
            return True
        if (self.scenario, self.split) == (other.scenario, other.split):
            (start, stop), (first, last) = _rows(self.found), _rows(other.found)
            if start < last and first < stop:
                return True
        digests, others = self.found.get("row_digests"), other.found.get("row_digests")
        return bool(digests and others and share_rows(digests, others))


@dataclass(frozen=True, slots=True, eq=False)
class JudgedTest(OrderTest):
    """A test within its model's family."""

    retest_of: OrderTest | None = None
    """The test of the same order that counts instead of this one; None for one that counts itself."""
    retests: tuple[OrderTest, ...] = ()
    """The re-tests of the same order, for which this test counts."""
    corrected_with: tuple[OrderTest, ...] = ()
    """The tests of its model that count, itself among them."""
    family: str = ""
    """The benchmark whose files are its family; empty for the model's family."""
    log10_p_holm: float = 0.0
    """The combined p-value corrected over the family by Holm; for controls and re-tests uncorrected. This and the
    other corrections are not numbers if the order cannot be tested."""
    log10_q_bh: float | None = None
    """Benjamini and Hochberg's correction, made for a report; None if the tests of the family share an order."""
    log10_q_by: float = 0.0
    """Benjamini and Yekutieli's correction, made for a report."""
    doubted: bool = False
    """True if one of its controls rejects."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the test."""
        if self.retest_of is not None:
            return Verdict.RETEST
        words = self.verdict_at(self.log10_p_holm)
        return Verdict.IN_DOUBT if words is Verdict.DETECTED and self.doubted else words

    @property
    def counts(self) -> bool:
        """True if it belongs to the family: it is neither a control nor a re-test, and the order can be tested."""
        return not self.control and self.retest_of is None and self.testable

    @property
    def unsettled(self) -> bool:
        """True if other shuffles are likely to change the verdict: it differs between the ends of ``spread``."""
        if not self.counts or self.spread is None:
            return False
        strong, weak = map(self._detected_at, self.spread)
        return strong is not weak

    def _detected_at(self, log10_p_exact: float) -> bool:
        """Return True if dependence would be detected, given another p-value of the relabelling test."""
        exact, looks = min(0.0, log10_p_exact), self.found.get("looks")
        if looks:
            first, second = (looks["first_log10_p"], exact) if looks["second"] else (exact, None)
            exact = combined_looks(first, second, looks["share"], looks["open"])
        others = [(self.found.get(name) or {}).get("log10_p") for name in ("neighbours", "next_example")]
        log10_p = bonferroni([exact, *(min(0.0, one) for one in others if one is not None)])
        changed = OrderTest(self.record, self.split, {**self.found, "headline_log10_p": log10_p})
        p_values, _ = corrected([changed if test.found is self.found else test for test in self.corrected_with])
        return changed.verdict_at(p_values[changed]) is Verdict.DETECTED

    @property
    def seen(self) -> bool:
        """True if dependence on the published order was detected."""
        return self.verdict is Verdict.DETECTED and not self.control

    def as_json(self) -> dict[str, Any]:
        """Return the test and its corrections as JSON values."""
        adjusted = {"p_holm": self.log10_p_holm, "q_bh": self.log10_q_bh, "q_by": self.log10_q_by}
        unknown = {} if self.testable else {"headline_log10_p": None, "not_testable": self.why_not_testable}
        if not self.counts:  # it is in no correction, so it has no corrected p-value
            adjusted = dict.fromkeys(adjusted)
        return {
            "model": self.model,
            "scenario": self.scenario,
            "run": self.record.name,
            "retest_of": self.retest_of and self.retest_of.record.name,
            "family": self.family or self.model,
            "log10_p_exact_spread": self.spread,
            "computed_tokens": self.computed_tokens,
            **self.found,
            "testable": self.testable,
            **unknown,
            **{f"log10_{name}": value for name, value in adjusted.items()},
            **{name: None if value is None else 10**value for name, value in adjusted.items()},
            "verdict": str(self.verdict),
        }

    def concerns(self, run: RunRecord) -> bool:
        """Return True if another run of the same model used the tested data, or those of a re-test."""
        tests = (self, *self.retests)
        return all(run is not test.record for test in tests) and any(
            run.spec.scenario == test.record.spec.scenario and run.spec.eval_split == test.split for test in tests
        )


def order_tests(records: Iterable[RunRecord]) -> Iterator[OrderTest]:
    """Yield the tests of the published order that runs hold: the details of any metric that have ``headline_log10_p``.

    Details of that name in another shape are left out, with a warning.
    """
    for record in records:
        for split, found in details_of(record):
            if "headline_log10_p" not in found:
                continue
            try:
                p_value = _Found.model_validate(found).headline_log10_p
                wrong = "" if p_value is not None or why_not_testable(found) else "headline_log10_p is null"
            except ValidationError as error:
                wrong = reasons(error, _Found)
            if wrong:
                message = f"not a test of the published order: {wrong}."
                warn_set_aside(DataError(message, file=record.directory / RUN_FILE))
                continue
            yield OrderTest(record, split, found)


def is_order_test(record: RunRecord) -> bool:
    """Return True if a finished run has the details of a test of the published order."""
    return any("headline_log10_p" in found for _, found in details_of(record))


def details_of(record: RunRecord) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each metric's details of the unperturbed instances of a finished run, with their split."""
    if record.status != "ok":
        return
    for by_split in record.details.values():
        for split, parts in by_split.items() if isinstance(by_split, Mapping) else ():
            found = parts.get("original") if isinstance(parts, Mapping) else None
            if isinstance(found, Mapping):
                yield split, found


def judged_tests(records: Iterable[RunRecord]) -> dict[str, list[JudgedTest]]:
    """Return the tests among runs by model, in the runs' order."""
    tests = list(order_tests(records))
    by_model: dict[str, list[OrderTest]] = {}
    for test in tests:
        by_model.setdefault(test.model, []).append(test)
    counting: dict[OrderTest, OrderTest] = {}
    for family in by_model.values():
        for control in (False, True):
            counting |= representatives([test for test in family if test.testable and test.control is control])
    return {model: _judged(family, counting) for model, family in by_model.items()}


def combined(files: Sequence[OrderTest]) -> float:
    """Return log10 of the p-value of a benchmark's testable files together, by Fisher.

    A file in random order fails the diagnostics with a probability of at most 0.01. If such files are left out and not
    repaired, the p-value of a file that passes is at most t with a probability of at most t / 0.99, and Fisher's p for
    57 such files is at most 0.01 with a probability of at most 0.0118.
    """
    return fisher([test.log10_p for test in files])


def corrected(counting: Sequence[OrderTest]) -> tuple[dict[OrderTest, float], dict[str, float]]:
    """Return log10 of Holm's corrections of one model's tests, each within its family, and of its benchmarks."""
    files = _files(counting)
    alone = [test for test in counting if test.benchmark not in files]
    names = list(files)
    p_values = holm([*(test.log10_p for test in alone), *(combined(files[name]) for name in names)], log10=True)
    tests = dict(zip(alone, p_values, strict=False))
    for members in files.values():
        tests |= zip(members, holm([test.log10_p for test in members], log10=True), strict=True)
    return tests, dict(zip(names, p_values[len(alone) :], strict=True))


@lru_cache(maxsize=1000)
def _spread(scores: tuple[tuple[float, ...], ...]) -> tuple[float, float]:
    return relabelling_spread(scores)


def _files(counting: Sequence[OrderTest]) -> dict[str, list[OrderTest]]:
    """Return the tests of each benchmark of which several files were tested."""
    by_name: dict[str, list[OrderTest]] = {}
    for test in counting:
        by_name.setdefault(test.benchmark, []).append(test)
    return {name: tests for name, tests in by_name.items() if name and len({test.scenario for test in tests}) > 1}


def _judged(tests: Sequence[OrderTest], counting: Mapping[OrderTest, OrderTest]) -> list[JudgedTest]:
    """Judge one model's tests; ``counting`` has the test that counts for the order of each test of all models."""
    counted = tuple(test for test in tests if counting.get(test) is test and not test.control)
    p_values, benchmarks = corrected(counted)
    retests: dict[OrderTest, list[OrderTest]] = {}
    for test in tests:
        if counting.get(test, test) is not test:
            retests.setdefault(counting[test], []).append(test)
    controls: dict[OrderTest, list[OrderTest]] = {}
    for test, counts in counting.items():
        if test.control:
            controls.setdefault(counts, []).append(test)
    return [
        JudgedTest(
            test.record,
            test.split,
            test.found,
            retest_of=None if counting.get(test) is test else counting.get(test),
            retests=tuple(retests.get(test, ())),
            corrected_with=counted if test in p_values else (),
            family=test.benchmark if test.benchmark in benchmarks else "",
            log10_p_holm=p_values.get(test, test.log10_p),
            log10_q_bh=test.log10_p,
            log10_q_by=test.log10_p,
            doubted=test in p_values and _doubted([test, *retests.get(test, ())], controls),
        )
        for test in tests
    ]


def _doubted(order: Sequence[OrderTest], controls: Mapping[OrderTest, Sequence[OrderTest]]) -> bool:
    """Return True if a control rejects, after Holm over the controls, although its order cannot have been learnt.

    Controls are the same model on other rows of the data set, and other models on the same rows.

    Args:
        order: A target and its re-tests.
        controls: The controls of all models that count, each with itself and its re-tests.
    """
    own = [
        counts
        for counts, group in controls.items()
        if any(
            control.scenario == target.scenario if control.model == target.model else control.shares_order(target)
            for control in group
            for target in order
        )
    ]
    adjusted = holm([control.log10_p for control in own], log10=True)
    return any(control.verdict_at(log10_p) is Verdict.DETECTED for control, log10_p in zip(own, adjusted, strict=True))


def _rows(found: Mapping[str, Any]) -> tuple[float, float]:
    """Return the first tested row and the one after the last; all rows if the details do not say."""
    start, _, stop = str(found.get("rows") or "").partition(":")
    whole = not (start.strip().isdecimal() and stop.strip().isdecimal())
    return (0, math.inf) if whole else (int(start), int(stop))
