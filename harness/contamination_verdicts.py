"""What runs have found about contamination, in few words: a verdict for each model and data set, corrected for all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AllowInfNan, BaseModel, Field, Strict, ValidationError

from harness.errors import DataError
from harness.exchangeability import Verdict, verdict
from harness.exchangeability.families import holm
from harness.results import RUN_FILE, RunRecord, warn_set_aside
from harness.run_schema import reasons

METRIC = "contamination"
"""The metric whose details hold what a test found."""


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
    shard_scores: list[_Shard] | None = None
    diagnostics: dict[str, _Diagnostic] | None = None
    repaired_diagnostics: dict[str, _Diagnostic] | None = None


@dataclass(frozen=True, slots=True)
class ContaminationVerdict:
    """What the tests of one model on one data set allow to say.

    Attributes:
        model: The model's label.
        scenario: The scenario's label.
        split: The split that was tested.
        headline_log10_p: Log10 of the headline p-value of this test alone.
        log10_p_holm: The same, corrected for all tests that were looked at together (Holm).
        verdict: The words that go with the corrected p-value.
        run: The run's name.
    """

    model: str
    scenario: str
    split: str
    headline_log10_p: float
    log10_p_holm: float
    verdict: str
    run: str


def verdicts(records: Sequence[RunRecord]) -> dict[tuple[str, str], ContaminationVerdict]:
    """Return the verdict on each model and data set, by the labels of model and scenario.

    The correction is over all tests of the records but for controls. Of several tests of one model on one data set the
    one that was finished last counts.
    """
    tested = sorted(order_tests(records), key=lambda entry: entry[0].finished)
    latest = {
        (record.spec.model.label, record.spec.scenario.label): (record, split, found)
        for record, split, found in tested
        if found.get("role") != "control"
    }
    adjusted = holm([found["headline_log10_p"] for _, _, found in latest.values()]) if latest else []
    return {
        key: ContaminationVerdict(
            model=key[0],
            scenario=key[1],
            split=split,
            headline_log10_p=found["headline_log10_p"],
            log10_p_holm=log10_p,
            verdict=corrected_verdict(found, log10_p),
            run=record.name,
        )
        for (key, (record, split, found)), log10_p in zip(latest.items(), adjusted, strict=True)
    }


def order_tests(records: Sequence[RunRecord]) -> Iterator[tuple[RunRecord, str, Mapping[str, Any]]]:
    """Yield each run that holds a test of the published order, with the split and what was found.

    What another program wrote in another shape is left out, with a warning.
    """
    for record in records:
        by_split = record.details.get(METRIC)
        if record.status != "ok" or not isinstance(by_split, Mapping):
            continue
        for split, parts in by_split.items():
            found = parts.get("original") if isinstance(parts, Mapping) else None
            if not isinstance(found, Mapping) or "headline_log10_p" not in found:
                continue
            try:
                _Found.model_validate(found)
            except ValidationError as error:
                message = f"not a test of the published order: {reasons(error)}."
                warn_set_aside(DataError(message, file=record.directory / RUN_FILE))
                continue
            yield record, split, found


def corrected_verdict(found: Mapping[str, Any], log10_p: float) -> Verdict:
    """Return the words for a test's corrected p-value, at the level that its run asked for."""
    # Rounding must not carry log10 of the largest p-value above 0.
    return verdict(min(0.0, log10_p), float(found.get("alpha", 0.01)), bool(found.get("exchangeable", True)))


def shown_p(log10_p: float | None, *, brief: bool = False) -> str:
    """Return a p-value for people: ``0.034``, ``2.1e-05``, ``4.0e-412``; where brief ``2e-05``."""
    if log10_p is None:
        return "–"
    if log10_p > -3:
        return f"{10**log10_p:.3f}"
    exponent = math.floor(log10_p)
    decimals = 0 if brief else 1
    mantissa = f"{10 ** (log10_p - exponent):.{decimals}f}"
    if mantissa.startswith("10"):
        mantissa, exponent = f"{1:.{decimals}f}", exponent + 1
    return f"{mantissa}e{exponent:03d}"
