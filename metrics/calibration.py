"""Calibration: does a model's probability of its prediction match how often it is right?"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness import Estimate, Example, MetricError, RunMetric, derive_seed, metric
from harness.statistics import (
    BOUNDED,
    InstanceTable,
    absolute_mean_estimates,
    effective_size_interval,
    influence_estimate,
    mean_estimate,
    midp_interval,
)
from metrics._calibration.platt import cross_fitted, fit_platt, scaled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

BINS = 10
FOLDS = 10
FEWEST = 5
"""Fewest right and fewest wrong instances for a Platt curve: a rule of thumb."""
SELECTED_SHARE = 0.1
"""Share of the most confident predictions in selective_acc@10."""


class _Calibration(RunMetric):
    """Collects the probability and the correctness of each prediction."""

    def __init__(self) -> None:
        self._instances: dict[str, int] = {}
        self._clusters = array("q")
        self._probabilities, self._correct = array("d"), array("d")
        self._undefined = 0

    def add(self, example: Example) -> None:
        """Note a prediction; without a probability or a correct reference, it is undefined and only counted.

        Raises:
            MetricError: The probability is not one.
        """
        found = _probability_and_correct(example)
        if found is None:
            self._undefined += 1
            return
        self._probabilities.append(found[0])
        self._correct.append(found[1])
        self._clusters.append(self._instances.setdefault(example.instance.id, len(self._instances)))

    def estimates(self) -> Mapping[str, Estimate]:
        found = self._estimates(*self._arrays()) if self._correct else {}
        return {name: replace(estimate, missing=self._undefined) for name, estimate in found.items()}

    @abstractmethod
    def _estimates(self, probabilities: Floats, correct: Floats, clusters: Ints) -> Mapping[str, Estimate]:
        """Return the estimates from at least one prediction (see :meth:`_arrays`)."""

    def _arrays(self) -> tuple[Floats, Floats, Ints]:
        """Return probability, correctness and instance of each prediction, the least confident first."""
        import numpy as np

        probabilities = np.array(self._probabilities, dtype=np.float64)
        correct = np.array(self._correct, dtype=np.float64)
        clusters = np.array(self._clusters, dtype=np.int64)
        order = np.lexsort((correct, probabilities))
        return probabilities[order], correct[order], clusters[order]


@metric(
    "ece_10_bin",
    title={
        "ece_10_bin": "Calibration error (10 bins)",
        "ece_10_bin_debiased": "Calibration error (10 bins, debiased)",
        "ece_10_bin_equal_width": "Calibration error (10 bins of equal width)",
        "ece_10_bin_equal_width_debiased": "Calibration error (10 bins of equal width, debiased)",
    },
    short={"ece_10_bin": "ECE-10", "ece_10_bin_debiased": "ECE-10 (debiased)"},
    category="calibration",
    needs_probabilities=True,
    scale="bounded",
    higher_is_better=False,
    represents="ece_10_bin",
    gives=(
        "ece_10_bin",
        "ece_10_bin_debiased",
        "ece_10_bin_equal_width",
        "ece_10_bin_equal_width_debiased",
    ),
    source="Liang et al. 2022, appendix C.2; Kumar, Liang and Ma 2019 (arXiv:1909.10155); Naeini et al. 2015",
)
class CalibrationError(_Calibration):
    """Expected calibration error: how far confidence is from accuracy, in 10 bins of equally many predictions.

    The sum over bins of (share of predictions) · |mean probability − share that is right|. It lies between 0 and 1, and
    lower is better. The probability is the one that the model gives its prediction; a prediction is right if the chosen
    option is correct or, without options, if it is an exact match. With few predictions the value is biased upwards;
    the interval takes this into account, and ``ece_10_bin_debiased`` is the value without the bias due to chance.
    run.json has the bins, for a reliability diagram.

    Bins are formed as in HELM (uncertainty-calibration): the sorted probabilities are split into 10 parts, the larger
    parts first; an edge lies halfway between the neighbours of two parts; a probability at an edge belongs to the bin
    below; equal edges make one bin. With ``equal_width``, [0, 1] is cut into ten bins of the same width instead (Guo et
    al. 2017), and the stat is called ``ece_10_bin_equal_width``.

    The predictions of all trials are pooled; HELM averages the errors of the trials, each of which is more biased. An
    empty prediction has no probability: it is undefined and counted as missing, while HELM counts it as certain. So is
    any other prediction to which the model gives no probability; HELM leaves it out.

    Args:
        equal_width: Use bins of equal width instead of equally many predictions.
    """

    def __init__(self, *, equal_width: bool = False) -> None:
        super().__init__()
        self._equal_width = equal_width

    def _estimates(self, probabilities: Floats, correct: Floats, clusters: Ints) -> Mapping[str, Estimate]:
        name = "ece_10_bin_equal_width" if self._equal_width else "ece_10_bin"
        bins = bin_numbers(probabilities, self._edges(probabilities))
        return _errors(name, probabilities - correct, bins, clusters)

    def details(self) -> Mapping[str, Any]:
        """Return the reliability diagram: each bin's ends, count, mean probability, and accuracy with its interval."""
        import numpy as np

        if not self._correct:
            return {}
        probabilities, correct, _ = self._arrays()
        edges = self._edges(probabilities)
        bins = bin_numbers(probabilities, edges)
        found = []
        for number, (low, high) in enumerate(zip((0.0, *edges[:-1]), edges, strict=True)):
            inside = bins == number
            size = int(inside.sum())
            row: dict[str, Any] = {"low": float(low), "high": float(high), "count": size}
            if size:
                accuracy = float(np.mean(correct[inside]))
                row |= {"probability": float(np.mean(probabilities[inside])), "accuracy": accuracy}
                row["accuracy_ci95"] = list(midp_interval(round(accuracy * size), size))
            found.append(row)
        return {"bins": found, "predictions": len(correct), "undefined": self._undefined}

    def _edges(self, probabilities: Floats) -> list[float]:
        if self._equal_width:
            return [(number + 1) / BINS for number in range(BINS)]
        return equal_mass_edges(probabilities, BINS)


@metric(
    "ece_1_bin",
    title="Calibration error (1 bin)",
    short="ECE-1",
    category="calibration",
    needs_probabilities=True,
    scale="bounded",
    higher_is_better=False,
    gives=("ece_1_bin",),
    source="Liang et al. 2022, appendix C.2; Kumar, Liang and Ma 2019 (arXiv:1909.10155)",
)
class ConfidenceGap(_Calibration):
    """How far mean confidence is from accuracy: |mean probability − share that is right|.

    This is the calibration error with a single bin (see ece_10_bin). It lies between 0 and 1, and lower is better.
    """

    def _estimates(self, probabilities: Floats, correct: Floats, clusters: Ints) -> Mapping[str, Estimate]:
        import numpy as np

        one_bin = np.zeros(len(correct), dtype=np.int64)
        return {"ece_1_bin": _errors("", probabilities - correct, one_bin, clusters)[""]}


@metric(
    "platt_ece_10_bin",
    title={
        "platt_ece_10_bin": "Calibration error after Platt scaling",
        "platt_ece_10_bin_debiased": "Calibration error after Platt scaling (debiased)",
        "platt_ece_10_bin_in_sample": "Calibration error after Platt scaling (in sample)",
    },
    short={"platt_ece_10_bin": "Platt ECE"},
    category="calibration",
    needs_probabilities=True,
    scale="bounded",
    higher_is_better=False,
    gives=("platt_ece_10_bin", "platt_ece_10_bin_debiased", "platt_ece_10_bin_in_sample"),
    source="Platt 1999; Liang et al. 2022, appendix C.2; HELM, basic_metrics.py",
)
class PlattCalibrationError(_Calibration):
    """Calibration error that remains after Platt scaling, in 10 bins of equally many predictions (see ece_10_bin).

    The instances are divided into ten folds by their ids, and each fold is scaled with the logistic curve that was
    fitted to the others. It lies between 0 and 1, and lower is better; ``platt_ece_10_bin_debiased`` is the value
    without the bias due to chance. The interval treats the curves as fixed. Undefined with fewer than 5 right or 5
    wrong instances (trials count as fractions of an instance), which are too few for a curve.

    Bins are those of the stated probabilities, not of the scaled ones: the curves of different folds scale equal
    probabilities differently, and bins of the scaled ones would separate the folds.

    HELM fits the curve to the same predictions that it then measures, which flatters the model; that value is
    ``platt_ece_10_bin_in_sample``. run.json has the curve of all predictions.
    """

    def _estimates(self, probabilities: Floats, correct: Floats, clusters: Ints) -> Mapping[str, Estimate]:
        if not _enough(correct, clusters):
            return {}
        fitted = cross_fitted(probabilities, correct, self._folds()[clusters])
        in_sample = scaled(probabilities, *fit_platt(probabilities, correct))
        bins = bin_numbers(probabilities, equal_mass_edges(probabilities, BINS))
        name = "platt_ece_10_bin_in_sample"
        found = _errors("platt_ece_10_bin", fitted - correct, bins, clusters)
        return {**found, name: _errors(name, in_sample - correct, bins, clusters)[name]}

    def details(self) -> Mapping[str, Any]:
        """Return the curve of all predictions."""
        probabilities, correct, clusters = self._arrays()
        if not _enough(correct, clusters):
            return {}
        slope, intercept = fit_platt(probabilities, correct)
        return {"slope": slope, "intercept": intercept}

    def _folds(self) -> Ints:
        """Return the fold of each instance, drawn by its id; sizes differ by one at most."""
        import numpy as np

        order = sorted(self._instances, key=lambda instance: (derive_seed(0, f"platt/{instance}"), instance))
        folds = np.empty(len(order), dtype=np.int64)
        for place, instance in enumerate(order):
            folds[self._instances[instance]] = place % FOLDS
        return folds


@metric(
    "brier_score",
    title="Brier score",
    short="Brier",
    category="calibration",
    needs_probabilities=True,
    scale="bounded",
    higher_is_better=False,
    gives=("brier_score",),
    source="Brier 1950; Murphy and Winkler 1977, eq. 1",
)
class BrierScore(RunMetric):
    """Mean squared difference between the probability of the prediction and whether it is right (1) or not (0).

    It lies between 0 and 1, and lower is better; a model that always says ½ scores 0.25. Probability and right are
    those of ece_10_bin.
    """

    def __init__(self) -> None:
        self._table = InstanceTable()
        self._undefined = 0

    def add(self, example: Example) -> None:
        found = _probability_and_correct(example)
        if found is None:
            self._undefined += 1
            return
        self._table.add(self._table.row(example.instance.id), "brier_score", (found[0] - found[1]) ** 2)

    def estimates(self) -> Mapping[str, Estimate]:
        if "brier_score" not in self._table:
            return {}
        estimate = mean_estimate(self._table.means("brier_score"), BOUNDED)
        return {"brier_score": replace(estimate, missing=self._undefined)}

    def instance_scores(self) -> Mapping[str, Mapping[str, float]]:
        return {"brier_score": self._table.by_instance("brier_score")}


@metric(
    "selective_accuracy",
    title={
        "selective_accuracy": "Selective accuracy",
        "selective_acc@10": "Accuracy on the most confident 10 %",
        "selective_cov_acc_area": "Area under the coverage–accuracy curve",
    },
    short={"selective_acc@10": "Sel. acc. 10 %", "selective_cov_acc_area": "Coverage–acc. area"},
    category="calibration",
    needs_probabilities=True,
    scale="bounded",
    gives=("selective_acc@10", "selective_cov_acc_area"),
    source="El-Yaniv and Wiener 2010; Liang et al. 2022, appendix C.2; HELM, basic_metrics.py",
)
class SelectiveAccuracy(_Calibration):
    """Accuracy on the predictions that the model is most confident of.

    ``selective_acc@10`` is the accuracy on the 10 % of predictions (rounded up) with the highest probability.
    ``selective_cov_acc_area`` is the mean, over all k, of the accuracy on the k most confident predictions: the area
    under the coverage–accuracy curve. Both lie between 0 and 1, and higher is better. Probability and right are those
    of ece_10_bin.

    Predictions with equal probability get the mean over all their orders; in HELM the order in which they were read
    decides. HELM takes one prediction more than a tenth: 11 of 100.
    """

    def _estimates(self, probabilities: Floats, correct: Floats, clusters: Ints) -> Mapping[str, Estimate]:
        probabilities, correct, clusters = probabilities[::-1], correct[::-1], clusters[::-1]
        expected, starts = _tied(probabilities, correct)
        surest = math.ceil(SELECTED_SHARE * len(correct) - 1e-9)
        accuracy = min(1.0, float(expected[:surest].sum()) / surest)
        # Several trials of an instance are not more evidence than one.
        count = max(1, round(surest * len(self._instances) / len(correct)))
        low, high = effective_size_interval(accuracy, accuracy * (1.0 - accuracy) / count, count)
        stderr = math.sqrt(accuracy * (1.0 - accuracy) / count) if count > 1 else None
        return {
            "selective_acc@10": Estimate(accuracy, count, stderr, low, high),
            "selective_cov_acc_area": _area(expected, starts, correct, clusters),
        }


# ---------------------------------------------------------------------------------------------------------------
# Bins


def equal_mass_edges(probabilities: Floats, bins: int) -> list[float]:
    """Return the upper ends of bins with equally many predictions, in ascending order; the last is 1.

    Args:
        probabilities: In ascending order.
        bins: Number of bins, at most the number of predictions.
    """
    import numpy as np

    parts = np.array_split(probabilities, min(bins, len(probabilities)))
    edges = [float(part[-1] + after[0]) / 2.0 for part, after in itertools.pairwise(parts)]
    return sorted({*edges, 1.0})


def bin_numbers(probabilities: Floats, edges: Sequence[float]) -> Ints:
    """Return the bin of each probability, from 0; a probability at an edge belongs to the bin below."""
    import numpy as np

    return np.searchsorted(np.asarray(edges), probabilities, side="left").astype(np.int64)


def _errors(name: str, differences: Floats, bins: Ints, clusters: Ints) -> dict[str, Estimate]:
    """Return a calibration error as observed and debiased."""
    observed, debiased = absolute_mean_estimates(differences.tolist(), bins.tolist(), clusters.tolist())
    return {name: observed, f"{name}_debiased": debiased}


def _enough(correct: Floats, clusters: Ints) -> bool:
    """Return True if enough instances are right, and enough wrong, to fit a curve."""
    import numpy as np

    if not len(correct):
        return False
    right = float((np.bincount(clusters, correct) / np.bincount(clusters)).sum())
    return FEWEST - 1e-9 <= right <= int(clusters.max()) + 1 - FEWEST + 1e-9


# ---------------------------------------------------------------------------------------------------------------
# Coverage


def _tied(probabilities: Floats, correct: Floats) -> tuple[Floats, Ints]:
    """Return for each prediction the mean correctness of those with the same probability, and where each tie starts."""
    import numpy as np

    starts = np.flatnonzero(np.r_[True, np.diff(probabilities) != 0.0])
    sizes = np.diff(np.r_[starts, len(correct)])
    means: Floats = np.repeat(np.add.reduceat(correct, starts) / sizes, sizes)
    return means, starts


def _area(expected: Floats, starts: Ints, correct: Floats, clusters: Ints) -> Estimate:
    """Return the area under the coverage–accuracy curve, with each prediction's influence by leaving it out.

    With C the number right among the k surest, the area is (1/n)·Σ C/k; without the prediction at rank r it is
    (1/(n − 1))·(Σ over k < r of C/k + Σ over k > r of (C − correct)/(k − 1)).
    """
    import numpy as np

    count = len(correct)
    ranks = np.arange(1, count + 1, dtype=np.float64)
    right = np.cumsum(expected)
    area = min(1.0, max(0.0, float((right / ranks).mean())))
    if count == 1:
        return influence_estimate(area, [0.0])
    below = np.maximum(ranks - 1.0, 1.0)
    fixed = np.cumsum(right / ranks) - right / ranks + _after(right / below)
    sizes = np.diff(np.r_[starts, count])
    fixed, share = (np.repeat(np.add.reduceat(part, starts) / sizes, sizes) for part in (fixed, _after(1.0 / below)))
    without = (fixed - correct * share) / (count - 1)
    influences = np.bincount(clusters, (count - 1) * (area - without))
    # Per instance: with t predictions of each, an instance weighs t of n·t.
    return influence_estimate(area, (influences * len(influences) / count).tolist())


def _after(values: Floats) -> Floats:
    """Return for each place the sum of the values after it."""
    import numpy as np

    sums: Floats = np.cumsum(values[::-1])[::-1] - values
    return sums


# ---------------------------------------------------------------------------------------------------------------
# Predictions


def _probability_and_correct(example: Example) -> tuple[float, float] | None:
    """Return the prediction's probability, and 1 if it is right or 0.

    None without a correct reference, or without a probability: nothing was written, or the model gives none.
    """
    probability = example.probability
    if not example.correct or probability is None:
        return None
    if not 0.0 <= probability <= 1.0:
        raise MetricError(f"the probability of the prediction is {probability}, which is not a probability.")
    if example.labels or example.choice_scores is not None:
        return probability, float(example.chose_correctly)
    said = example.prediction.strip()
    return probability, float(said != "" and any(said == reference.text.strip() for reference in example.correct))
