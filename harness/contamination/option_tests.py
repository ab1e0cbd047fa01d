"""Option-order tests among runs: one family for each model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.contamination.order_tests import details_of
from harness.contamination.roles import OPTION_TEST
from harness.contracts.plugins import Kind
from harness.errors import DataError
from harness.plugins.registry import Registry, default_registry
from harness.statistics.families import holm
from harness.storage.results import RunRecord
from harness.sweeps.load import Sweep, sweep_from_mapping


@dataclass(frozen=True, slots=True)
class OptionTest:
    """One test: a model, and the options of a data set's questions."""

    record: RunRecord
    """The run."""
    found: Mapping[str, Any]
    """The metric's details, as in run.json."""
    log10_p_holm: float = 0.0
    """Log10 of the p-value, corrected over the model's data sets by Holm."""

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
        """Log10 of the exact p-value."""
        return min(0.0, float(self.found["log10_p"]))

    @property
    def faults(self) -> list[str]:
        """Names of the text-only tests that find an order of the options."""
        if self.found.get("exchangeable", True):
            return []
        tests: Mapping[str, Any] = self.found.get("diagnostics") or {}
        return [name for name, test in tests.items() if test["p_holm"] <= 0.01] or ["the options' order"]

    def depends(self, alpha: float) -> bool:
        """Return True if the model depends on the published order of the options, at a level."""
        return not self.faults and self.log10_p_holm <= math.log10(alpha)

    def as_json(self) -> dict[str, Any]:
        """Return the test as JSON values."""
        names = {"model": self.model, "scenario": self.scenario, "run": self.record.name}
        return {**names, **self.found, "log10_p_holm": self.log10_p_holm}


def option_sweep(
    models: Sequence[str], data: Sequence[str], *, orders: int, suite: str, seed: int, instances: int | None
) -> tuple[Sweep, Registry]:
    """Return the checked sweep that tests models on the options of data sets.

    Raises:
        SpecError: A model or a scenario is wrong; it holds all errors.
    """
    registry = default_registry()
    method = registry.with_role(Kind.ADAPTER, OPTION_TEST).name
    defaults = {} if instances is None else {"defaults": {"max_eval_instances": instances}}
    runs = [{"scenario": one, "models": list(models), "adapter": {"method": method, "orders": orders},
             "metrics": [method], "main_metric": method} for one in data]  # fmt: skip
    return sweep_from_mapping({"suite": suite, **defaults, "runs": runs}, option="--data", seed=seed, registry=registry)


def option_tests(records: Iterable[RunRecord]) -> dict[str, list[OptionTest]]:
    """Return the option-order tests among runs by model, corrected over each model's data sets.

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
        corrected = holm([test.log10_p for test in tests], log10=True)
        by_model[model] = [replace(test, log10_p_holm=p) for test, p in zip(tests, corrected, strict=True)]
    return by_model


def _tests(records: Iterable[RunRecord]) -> Iterator[OptionTest]:
    for record in records:
        for _, found in details_of(record):
            if "first_rate_by_chance" in found and isinstance(found.get("log10_p"), int | float):
                yield OptionTest(record, found)
