"""Which models a contamination test has found to depend on the published order of which data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.contamination_verdicts import corrected_verdict, order_tests
from harness.exchangeability.families import holm
from harness.exchangeability.headline import Verdict
from harness.leaderboard.columns import canonical
from harness.results import RunRecord


@dataclass(frozen=True, slots=True)
class Finding:
    """What the contamination test says of one model and one data set.

    Attributes:
        run: The run that tested it.
        split: The split that was tested.
        log10_p: The headline's log10 p-value.
        log10_p_holm: Adjusted over all of the model's data sets (Holm 1979).
        verdict: The words for the adjusted p-value.
        control: Whether it is a control, which the model cannot have seen.
        fields: Everything that the test reports.
    """

    run: RunRecord
    split: str
    log10_p: float
    log10_p_holm: float
    verdict: str
    control: bool
    fields: Mapping[str, Any]

    @property
    def seen(self) -> bool:
        """Whether dependence on the published order was detected."""
        return self.verdict == Verdict.DETECTED and not self.control

    def concerns(self, run: RunRecord) -> bool:
        """Whether a run of the same model asked about the data set that was tested."""
        return run is not self.run and run.spec.scenario == self.run.spec.scenario and run.spec.eval_split == self.split


def findings(runs: Iterable[RunRecord]) -> list[Finding]:
    """Return the findings of all runs that tested for contamination, controls as well, by model in the runs' order.

    A control is a data set that the model cannot have seen: it belongs to no family, and what it shows is no verdict.
    """
    by_model: dict[str, list[tuple[RunRecord, str, Mapping[str, Any]]]] = {}
    for run, split, fields in order_tests(list(runs)):
        by_model.setdefault(canonical(run.spec.model.model_dump(mode="json")), []).append((run, split, fields))
    return [finding for tests in by_model.values() for finding in _family(tests)]


def _family(tests: Sequence[tuple[RunRecord, str, Mapping[str, Any]]]) -> list[Finding]:
    values = [float(fields["headline_log10_p"]) for _, _, fields in tests]
    targets = [at for at, (_, _, fields) in enumerate(tests) if fields.get("role") != "control"]
    adjusted = dict(zip(targets, holm([values[at] for at in targets]), strict=True)) if targets else {}
    return [
        Finding(
            run,
            split,
            value,
            adjusted.get(at, value),
            str(corrected_verdict(fields, adjusted.get(at, value))),
            fields.get("role") == "control",
            fields,
        )
        for at, ((run, split, fields), value) in enumerate(zip(tests, values, strict=True))
    ]
