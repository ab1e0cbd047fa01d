"""Option-order tests among runs: one family for each model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.contamination.order_tests import details_of
from harness.contamination.retests import representatives
from harness.contamination.roles import OPTION_TEST, QUESTIONS_FILE
from harness.contamination.statistics.shared_rows import share_options
from harness.contamination.statistics.testable import why_options_not_testable
from harness.contamination.statistics.verdict import Verdict, verdict
from harness.contamination.sweep import scenario_of
from harness.contracts.plugins import Kind
from harness.errors import DataError
from harness.plugins.registry import Registry, default_registry
from harness.statistics.families import holm
from harness.storage.results import RunRecord
from harness.sweeps.load import Sweep, sweep_from_mapping


@dataclass(frozen=True, slots=True, eq=False)
class OptionTest:
    """One test: a model, and the options of a data set's questions."""

    record: RunRecord
    """The run."""
    found: Mapping[str, Any]
    """The metric's details, as in run.json."""
    log10_p_holm: float = math.nan
    """Log10 of the p-value, corrected over the model's data sets by Holm; not a number if it cannot be tested."""
    retest_of: OptionTest | None = None
    """The test of the same questions that counts instead of this one; None for one that counts itself."""

    @property
    def model(self) -> str:
        """The model's label."""
        return self.record.spec.model.label

    @property
    def scenario(self) -> str:
        """The scenario's label."""
        return self.record.spec.scenario.label

    @property
    def log10_p(self) -> float:
        """Log10 of the exact p-value; not a number if the order cannot be tested."""
        return min(0.0, float(self.found["log10_p"])) if not self.why_not_testable else math.nan

    @property
    def alpha(self) -> float:
        """The run's level."""
        return float(self.found.get("alpha", 0.01))

    @property
    def why_not_testable(self) -> str:
        """Why the order of the options cannot be tested; '' if it can be."""
        return why_options_not_testable(self.found, self.alpha)

    @property
    def counts(self) -> bool:
        """True if the test is in the correction: it is not a re-test, and the order can be tested."""
        return self.retest_of is None and not self.why_not_testable

    @property
    def verdict(self) -> Verdict:
        """The verdict on the corrected p-value."""
        if self.why_not_testable:
            return Verdict.NOT_TESTABLE
        return Verdict.RETEST if self.retest_of else verdict(self.log10_p_holm, self.alpha)

    def shares_order(self, other: OptionTest) -> bool:
        """Return True if both tests read some of the same questions, with their options in the same order.

        Questions that share their options, such as yes and no, are only compared by the name of the data set.
        """
        if self.scenario == other.scenario:
            return True
        digests, others = self.found.get("option_digests"), other.found.get("option_digests")
        try:
            return isinstance(digests, str) and isinstance(others, str) and share_options(digests, others)
        except ValueError:
            return False

    def as_json(self) -> dict[str, Any]:
        """Return the test as JSON values."""
        names = {
            "model": self.model,
            "scenario": self.scenario,
            "run": self.record.name,
            "retest_of": self.retest_of and self.retest_of.record.name,
        }
        p_values = {
            "log10_p": None if self.why_not_testable else self.log10_p,
            "log10_p_holm": self.log10_p_holm if self.counts else None,
        }
        return {**names, **self.found, **p_values, "verdict": str(self.verdict)}


def option_sweep(
    models: Sequence[str],
    data: Sequence[str],
    *,
    columns: Mapping[str, str | int] | None = None,
    orders: int = 24,
    alpha: float = 0.01,
    suite: str = "contamination-options",
    seed: int = 0,
    instances: int | None = None,
) -> tuple[Sweep, Registry]:
    """Return the checked sweep that tests models on the options of data sets.

    Args:
        models: The models, ``backend:identifier``.
        data: Scenarios in shorthand, or paths of files of questions.
        columns: The columns of the files, as parameters of the scenario for such files; others are guessed.
        orders: Most orders of a question's options to compare.
        alpha: The level.
        suite: The name of the suite.
        seed: Seeds everything random.
        instances: Most questions of each data set; None for all.

    Raises:
        DataError: A file does not exist, or columns are given but no file.
        SpecError: A model or a scenario is wrong; it holds all errors.
    """
    registry = default_registry()
    scenarios = [scenario_of(one, registry, QUESTIONS_FILE) for one in data]
    if columns and not any(isinstance(one, dict) for one in scenarios):
        raise DataError(f"columns ({', '.join(columns)}) can be named for files only, and --data names no file.")
    method = registry.with_role(Kind.ADAPTER, OPTION_TEST).name
    defaults = {} if instances is None else {"defaults": {"max_eval_instances": instances}}
    runs = [
        {
            "scenario": {**one, **(columns or {})} if isinstance(one, dict) else one,
            "models": list(models),
            "adapter": {"method": method, "orders": orders},
            "metrics": [{"name": method, "alpha": alpha}],
            "main_metric": method,
        }
        for one in scenarios
    ]
    return sweep_from_mapping({"suite": suite, **defaults, "runs": runs}, option="--data", seed=seed, registry=registry)


def option_tests(records: Iterable[RunRecord]) -> dict[str, list[OptionTest]]:
    """Return the option-order tests among runs by model, corrected over each model's data sets that can be tested.

    Of tests of the same questions, such as those of a file named twice, the first counts; the others are re-tests.

    Raises:
        DataError: There are none.
    """
    by_model: dict[str, list[OptionTest]] = {}
    for test in _tests(records):
        by_model.setdefault(test.model, []).append(test)
    if not by_model:
        raise DataError(
            "none of these runs is a test of options; make one with `harness contamination options MODEL --data DATA`."
        )
    for model, tests in by_model.items():
        counting = representatives([test for test in tests if not test.why_not_testable])
        counted = list(dict.fromkeys(counting.values()))
        p_values = dict(zip(counted, holm([test.log10_p for test in counted], log10=True), strict=True))
        by_model[model] = [
            replace(test, log10_p_holm=p_values[test])
            if test in p_values
            else replace(test, log10_p_holm=test.log10_p, retest_of=counting.get(test))
            for test in tests
        ]
    return by_model


def _tests(records: Iterable[RunRecord]) -> Iterator[OptionTest]:
    for record in records:
        for _, found in details_of(record):
            if "first_rate_by_chance" in found and isinstance(found.get("log10_p"), int | float | None):
                yield OptionTest(record, found)
