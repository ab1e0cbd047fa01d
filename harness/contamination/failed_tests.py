"""Tests of the published order that failed: reports list them with the reason, since they show nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from harness.contracts.plugins import AdapterDetails, Kind
from harness.plugins.registry import Registry, default_registry
from harness.storage.results import RunRecord

REPORT = "contamination report"
"""The command that reports on an adapter's runs, if they test the published order."""


@dataclass(frozen=True, slots=True, eq=False)
class FailedTest:
    """A test that failed; it is in no correction."""

    record: RunRecord
    """The run."""

    @property
    def model(self) -> str:
        """The model's label."""
        return self.record.spec.model.label

    @property
    def scenario(self) -> str:
        """The scenario's label."""
        return self.record.spec.scenario.label

    @property
    def rows(self) -> str | None:
        """The rows that were to be tested, ``0:100``; None for all."""
        return self.record.spec.adapter.arguments.get("rows")

    @property
    def control(self) -> bool:
        """True for a control."""
        return self.record.spec.adapter.arguments.get("role") == "control"

    @property
    def reason(self) -> str:
        """Why it failed."""
        return failure_reason(self.record)

    def as_json(self) -> dict[str, Any]:
        """Return the test as JSON values."""
        return {
            "model": self.model,
            "scenario": self.scenario,
            "run": self.record.name,
            "rows": self.rows,
            "role": "control" if self.control else "target",
            "error": self.reason,
        }


def failed_tests(records: Iterable[RunRecord], registry: Registry | None = None) -> Iterator[FailedTest]:
    """Yield the failed tests of the published order among runs.

    Args:
        records: The runs.
        registry: Knows their adapters (default: the installed plugins).
    """
    failed = [record for record in records if record.status != "ok"]
    if not failed:
        return
    known = registry or default_registry()
    for record in failed:
        adapter = known.find(Kind.ADAPTER, record.spec.adapter.name)
        if adapter and isinstance(adapter.details, AdapterDetails) and adapter.details.report == REPORT:
            yield FailedTest(record)


def failure_reason(record: RunRecord) -> str:
    """Return the last line of why a run failed."""
    return (record.error or "no reason").strip().splitlines()[-1]
