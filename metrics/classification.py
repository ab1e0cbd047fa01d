"""F1 of the predicted classes over a whole run, and other measures of their agreement with the right ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from harness import Estimate, Example, MetricError, RunMetric, Scale, metric
from harness.statistics import jackknife_estimate
from metrics._text.normalisation import normalise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Classes = tuple[str, ...]
Outcome = tuple[Classes, Classes]
"""The classes of the correct references and the predicted classes, each sorted."""

CLASS_MINIMUM = 10
"""Fewest instances of each class for an interval of a measure by class."""

MOST_CLASSES = 50
"""Largest number of classes that have a stat of their own."""

_MACRO, _WEIGHTED, _MICRO = (f"classification_{kind}_f1" for kind in ("macro", "weighted", "micro"))
_BALANCED, _MATTHEWS, _CLASS = "classification_balanced_accuracy", "classification_matthews", "classification_f1@"


@metric(
    "classification",
    title={
        "classification": "Classification",
        "classification_macro_f1": "Macro F1",
        "classification_weighted_f1": "Weighted F1",
        "classification_micro_f1": "Micro F1",
        "classification_balanced_accuracy": "Balanced accuracy",
        "classification_matthews": "Matthews correlation",
        "classification_f1@*": "F1 of class *",
    },
    short={"classification_balanced_accuracy": "Bal. acc.", "classification_matthews": "MCC"},
    category="accuracy",
    scale={_MATTHEWS: Scale("bounded", -1.0, 1.0), "*": "bounded"},
    gives=(_MACRO, _WEIGHTED, _MICRO, _BALANCED, _MATTHEWS, f"{_CLASS}*"),
    source="Sokolova and Lapalme 2009; Gorodkin 2004 (Matthews correlation); HELM, classification_metrics.py",
)
class Classification(RunMetric):
    """F1 over classes in several ways, balanced accuracy, and the Matthews correlation.

    The class of an instance is the normalised text (lower case, no ASCII punctuation, articles kept) of its correct
    reference, and the predicted class that of the prediction; a prediction that is not a known class predicts none.
    With a class's true positives TP, false positives FP and false negatives FN, its F1 is 2·TP / (2·TP + FP + FN).

    ``classification_macro_f1`` is the mean of the classes' F1, ``classification_weighted_f1`` their mean weighted by
    the number of instances of each class, and ``classification_micro_f1`` the F1 of the summed counts.
    ``classification_f1@yes`` is that of the class "yes", if there are at most 50 classes.
    ``classification_balanced_accuracy`` is the mean over the classes of TP / (TP + FN). All lie between 0 and 1.

    ``classification_matthews`` is the correlation of predicted and right classes, R_K for more than two classes: with s
    predictions, c of them right, t instances and p predictions of each class, (c·s − Σtp) / √((s² − Σp²)(s² − Σt²)).
    It lies between −1 and 1, is 0 for predictions that say nothing about the class or are all the same, and is
    undefined for instances with several classes. Of everything here, higher is better.

    The standard error is the jackknife's over instances; the interval is Jeffreys's for a proportion with this
    standard error. It needs 50 instances, and for measures that average over classes or are about one also 10 of each
    class.

    A class that no instance has and that is never predicted is left out of the macro mean: its F1 is 0/0, which HELM
    counts as 0. HELM computes F1 within sub-splits of a single class; here a group contains all its classes.

    Args:
        labels: The classes (default: those of the correct references).
        delimiter: Separates the classes of a prediction, if instances have several.
    """

    def __init__(self, *, labels: tuple[str, ...] | None = None, delimiter: str | None = None) -> None:
        self._labels = None if labels is None else frozenset(map(_class, labels))
        self._delimiter = delimiter
        self._numbers: dict[Outcome, int] = {}
        self._trials: dict[str, tuple[int, ...]] = {}

    def add(self, example: Example) -> None:
        """Count the example with the others of its instance.

        Raises:
            MetricError: The instance has no class, a class that is not a label, or several without a delimiter.
        """
        golds = {_class(reference.text) for reference in example.correct}
        if self._delimiter is None and len(golds) != 1:
            raise MetricError(
                f"classification needs one correct class, and there are {len(golds)}. "
                "If instances have several classes, set the delimiter that separates them in a prediction."
            )
        if self._labels is not None and not golds <= self._labels:
            raise MetricError(f"the correct class {min(golds - self._labels)!r} is not one of the labels.")
        given = example.prediction.split(self._delimiter) if self._delimiter else [example.prediction]
        predicted = {label for label in map(_class, given) if label}
        outcome = (tuple(sorted(golds)), tuple(sorted(predicted)))
        number = self._numbers.setdefault(outcome, len(self._numbers))
        self._trials[example.instance.id] = (*self._trials.get(example.instance.id, ()), number)

    def estimates(self) -> Mapping[str, Estimate]:
        import numpy as np

        labels = self._labels or {label for golds, _ in self._numbers for label in golds}
        column = {label: index for index, label in enumerate(sorted(labels))}
        known = [(golds, tuple(label for label in guesses if label in column)) for golds, guesses in self._numbers]
        kinds = Counter(tuple(sorted(known[number] for number in trials)) for trials in self._trials.values())
        if not column or not kinds:
            return {}
        gold, predicted, both = np.zeros((3, len(kinds), len(column)))
        for row, outcomes in enumerate(kinds):
            for golds, guesses in outcomes:
                hits = set(golds) & set(guesses)
                for matrix, classes in ((gold, golds), (predicted, guesses), (both, hits)):
                    matrix[row, [column[label] for label in classes]] += 1.0
        tables = _Tables(gold, predicted, both, np.array(list(map(len, kinds)), dtype=np.float64))
        counts = np.array(list(kinds.values()), dtype=np.float64)
        references = counts @ (gold > 0.0)
        fewest = int(references.min())
        found = {
            _MACRO: _guarded(jackknife_estimate(tables.macro_f1, counts), fewest),
            _WEIGHTED: _guarded(jackknife_estimate(tables.weighted_f1, counts), fewest),
            _MICRO: jackknife_estimate(tables.micro_f1, counts),
            _BALANCED: _guarded(jackknife_estimate(tables.balanced_accuracy, counts), fewest),
        }
        if self._delimiter is None:
            found[_MATTHEWS] = jackknife_estimate(tables.matthews, counts, (-1.0, 1.0))
        if len(column) <= MOST_CLASSES:
            for label, index in column.items():
                if references[index] or (counts @ predicted)[index]:
                    alone = partial(tables.class_f1, index)
                    found[f"{_CLASS}{label}"] = _guarded(jackknife_estimate(alone, counts), int(references[index]))
        return found


@dataclass(frozen=True, slots=True)
class _Tables:
    """The numbers of each kind of instance; measures are functions of how often each kind occurs, (samples, kinds)."""

    gold: Floats
    """Instances of each class, (kinds, classes)."""
    predicted: Floats
    """Predictions of each class."""
    both: Floats
    """Right predictions of each class."""
    trials: Floats
    """Predictions of any class or none, (kinds,)."""

    def class_f1(self, index: int, counts: Floats) -> Floats:
        return _mean_f1(
            2.0 * counts @ self.both[:, [index]], counts @ (self.gold[:, [index]] + self.predicted[:, [index]])
        )

    def macro_f1(self, counts: Floats) -> Floats:
        return _mean_f1(2.0 * counts @ self.both, counts @ (self.gold + self.predicted))

    def micro_f1(self, counts: Floats) -> Floats:
        sizes = (self.gold + self.predicted).sum(axis=1)
        return _mean_f1(2.0 * (counts @ self.both.sum(axis=1))[:, None], (counts @ sizes)[:, None])

    def weighted_f1(self, counts: Floats) -> Floats:
        import numpy as np

        present = counts @ self.gold
        scores = _shares(2.0 * counts @ self.both, counts @ (self.gold + self.predicted))
        mean: Floats = (scores * present).sum(axis=1) / np.maximum(present.sum(axis=1), 1.0)
        return mean

    def balanced_accuracy(self, counts: Floats) -> Floats:
        import numpy as np

        present = counts @ self.gold
        recalls = _shares(counts @ self.both, present)
        mean: Floats = recalls.sum(axis=1) / np.maximum((present > 0.0).sum(axis=1), 1)
        return mean

    def matthews(self, counts: Floats) -> Floats:
        import numpy as np

        present, given, right = counts @ self.gold, counts @ self.predicted, counts @ self.both.sum(axis=1)
        whole = counts @ self.trials
        none = whole - given.sum(axis=1)
        spread = (whole**2 - (given**2).sum(axis=1) - none**2) * (whole**2 - (present**2).sum(axis=1))
        covariance = right * whole - (present * given).sum(axis=1)
        return np.clip(_shares(covariance, np.sqrt(np.maximum(spread, 0.0))), -1.0, 1.0)


def _guarded(estimate: Estimate, fewest: int) -> Estimate:
    """Return a measure by class, without an interval if a class has too few instances."""
    if estimate.low is None or fewest >= CLASS_MINIMUM:
        return estimate
    note = f"a class has fewer than {CLASS_MINIMUM} instances: too few for an interval"
    return replace(estimate, low=None, high=None, note=note)


def _mean_f1(doubled_hits: Floats, sizes: Floats) -> Floats:
    """Return the mean of 2·TP / (TP + FN + TP + FP) over the classes that occur (size above 0); 0 if none does."""
    import numpy as np

    mean: Floats = _shares(doubled_hits, sizes).sum(axis=1) / np.maximum((sizes > 0.0).sum(axis=1), 1)
    return mean


def _shares(parts: Floats, wholes: Floats) -> Floats:
    """Return parts / wholes, 0 where the whole is 0."""
    import numpy as np

    return np.divide(parts, wholes, out=np.zeros_like(wholes), where=wholes > 0.0)


def _class(text: str) -> str:
    return normalise(text, articles=True)
