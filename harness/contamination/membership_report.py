"""Membership scores of suspected data against controls: shares above a threshold, AUROC, and the text baseline.

These are heuristics, for comparison with the tests of the published order; they give no p-value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.contamination.order_tests import details_of
from harness.contamination.statistics.baselines import auroc, share_flagged, threshold
from harness.contamination.statistics.text_baseline import text_baseline
from harness.errors import DataError
from harness.storage.example_files import read_examples
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True)
class Score:
    """One score of one data set."""

    name: str
    """The score's name."""
    threshold: float
    """The value that at most 5 % of the controls exceed."""
    flagged: float
    """The share of the examples above it."""
    auroc: float
    """The probability that an example scores higher than a control."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """One data set's scores under one model, with the model's controls."""

    model: str
    """The model's label."""
    scenario: str
    """The scenario's label, with the rows that were used."""
    run: str
    """The run's name."""
    examples: int
    """Number of examples."""
    controls: int
    """Number of control examples, which the model was not trained on and which set the thresholds."""
    blind_auroc: float
    """AUROC of a classifier that tells the two sets apart by words alone; if it is far from 1/2, every score may be,
    for the same reason.
    """
    scores: tuple[Score, ...]
    """The scores."""

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values, marked as a heuristic."""
        return {"heuristic": True, **asdict(self)}


@dataclass(frozen=True, slots=True)
class _Scored:
    record: RunRecord
    scores: Mapping[str, list[float]]
    control: bool

    @property
    def texts(self) -> list[str]:
        return [example.instance.input for example, _, error in read_examples(self.record) if error is None]


def membership_report(records: Iterable[RunRecord], *, rate: float = 0.05) -> list[Suspect]:
    """Return the membership scores of each data set, with thresholds from the controls of the same model.

    Raises:
        DataError: There are no such runs, a model has no controls, or too few for a threshold.
    """
    by_model: dict[str, list[_Scored]] = {}
    for record in records:
        found = _scored(record)
        if found is not None:
            by_model.setdefault(record.spec.model.label, []).append(found)
    if not by_model:
        raise DataError("none of these runs has membership scores; docs/how-to/contamination.md says how to get them.")
    return [suspect for model, scored in sorted(by_model.items()) for suspect in _suspects(model, scored, rate)]


def _suspects(model: str, scored: Sequence[_Scored], rate: float) -> Iterable[Suspect]:
    controls = [one for one in scored if one.control]
    if not controls:
        raise DataError(
            f"{model} has no membership scores of texts that it was not trained on. Run some with the adapter's "
            "`role: control`: held-out rows of the same data, or newer data of the same kind."
        )
    clean_texts = [text for one in controls for text in one.texts]
    for target in (one for one in scored if not one.control):
        scores = []
        for name, values in target.scores.items():
            clean = [value for one in controls for value in one.scores.get(name, ())]
            try:
                limit = threshold(clean, rate)
            except ValueError as error:
                raise DataError(f"{model}: {error}; add controls.") from None
            scores.append(Score(name, limit, share_flagged(values, limit), auroc(values, clean)))
        rows = target.record.spec.adapter.arguments.get("rows")
        yield Suspect(
            model=model,
            scenario=target.record.spec.scenario.label + (f" [{rows}]" if rows else ""),
            run=target.record.name,
            examples=max(map(len, target.scores.values())),
            controls=len(clean_texts),
            blind_auroc=text_baseline(target.texts, clean_texts),
            scores=tuple(scores),
        )


def _scored(record: RunRecord) -> _Scored | None:
    for split, found in details_of(record):
        if split == record.spec.eval_split and found.get("heuristic") and found.get("scores"):
            scores = {name: list(values.values()) for name, values in found["scores"].items()}
            return _Scored(record, scores, found.get("role") == "control")
    return None
