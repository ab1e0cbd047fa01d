"""Which models a contamination test has found to depend on the published order of which data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.contamination.families import judged_tests, order_tests
from harness.contamination.statistics.verdict import Verdict
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True)
class Finding:
    """What the contamination test says of one model and one data set."""

    run: RunRecord
    """The run that tested it."""
    split: str
    """The split that was tested."""
    log10_p: float
    """The headline's log10 p-value."""
    log10_p_holm: float
    """Adjusted over all of the model's data sets (Holm 1979)."""
    verdict: str
    """The words for the adjusted p-value."""
    control: bool
    """Whether it is a control, which the model cannot have seen."""
    fields: Mapping[str, Any]
    """Everything that the test reports."""

    @property
    def seen(self) -> bool:
        """Whether dependence on the published order was detected."""
        return self.verdict == Verdict.DETECTED and not self.control

    def concerns(self, run: RunRecord) -> bool:
        """Whether a run of the same model asked about the data set that was tested."""
        return run is not self.run and run.spec.scenario == self.run.spec.scenario and run.spec.eval_split == self.split


def findings(runs: Iterable[RunRecord]) -> list[Finding]:
    """Return the findings of all runs that tested for contamination, by model in the runs' order.

    Controls and re-tests are included, but belong to no family and get no verdict of their own.
    """
    judged = judged_tests(list(order_tests(runs)))
    return [
        Finding(
            one.test.record,
            one.test.split,
            one.test.log10_p,
            one.log10_p_holm,
            str(one.verdict),
            one.test.control,
            one.test.found,
        )
        for tests in judged.values()
        for one in tests
    ]
