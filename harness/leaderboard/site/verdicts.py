"""Which models a contamination test has found to depend on the published order of which data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.exchangeability.families import holm
from harness.exchangeability.headline import Verdict
from harness.leaderboard.columns import canonical
from harness.results import RunRecord

METRIC = "contamination"


@dataclass(frozen=True, slots=True)
class Finding:
    """What the contamination test says of one model and one data set.

    Attributes:
        run: The run that tested it.
        split: The split that was tested.
        log10_p: The headline's log10 p-value.
        log10_p_holm: Adjusted over all of the model's data sets (Holm 1979).
        verdict: The words that the test uses.
        fields: Everything that the test reports.
    """

    run: RunRecord
    split: str
    log10_p: float
    log10_p_holm: float
    verdict: str
    fields: Mapping[str, Any]

    @property
    def seen(self) -> bool:
        """Whether dependence on the published order was detected."""
        return self.verdict == Verdict.DETECTED

    def concerns(self, run: RunRecord) -> bool:
        """Whether a run of the same model asked about the data set that was tested."""
        return run is not self.run and run.spec.scenario == self.run.spec.scenario and run.spec.eval_split == self.split


def findings(runs: Iterable[RunRecord]) -> list[Finding]:
    """Return the findings of all runs that tested for contamination, in their order."""
    by_model: dict[str, list[tuple[RunRecord, str, Mapping[str, Any]]]] = {}
    for run in runs:
        for split, fields in tested(run):
            by_model.setdefault(canonical(run.spec.model.model_dump(mode="json")), []).append((run, split, fields))
    return [finding for tests in by_model.values() for finding in _family(tests)]


def tested(run: RunRecord) -> list[tuple[str, Mapping[str, Any]]]:
    """Return what a run's record says of contamination, by split."""
    splits = run.details.get(METRIC, {})
    if run.status != "ok" or not isinstance(splits, Mapping):
        return []
    found = [(split, parts.get("original")) for split, parts in splits.items() if isinstance(parts, Mapping)]
    return [(split, f) for split, f in found if isinstance(f, Mapping) and _number(f.get("headline_log10_p"))]


def _family(tests: Sequence[tuple[RunRecord, str, Mapping[str, Any]]]) -> list[Finding]:
    values = [float(fields["headline_log10_p"]) for _, _, fields in tests]
    return [
        Finding(run, split, value, adjusted, str(fields.get("verdict", "")), fields)
        for (run, split, fields), value, adjusted in zip(tests, values, holm(values), strict=True)
    ]


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
