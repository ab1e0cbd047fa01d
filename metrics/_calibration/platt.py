"""Platt scaling: a logistic curve through a model's stated probabilities.

The two-parameter fit stays here: scikit-learn would be a dependency of every installation, and stops at a tolerance
that changes the last digits. The other logistic fits of the harness have other losses (sparse features with soft labels
or balanced classes, Firth's penalty), so that they share only the logistic function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

CLIP = 1e-12
"""Probabilities are kept this far from 0 and 1 before their logit is taken, as in HELM."""

_RIDGE = 1e-10
"""Weight of half the squared slope in the loss (scikit-learn's C = 1e10, as in HELM); it keeps the slope finite."""

_STEPS = 100


def fit_platt(probabilities: Floats, correct: Floats) -> tuple[float, float]:
    """Return slope and intercept of P(correct) = logistic(slope·logit(p) + intercept), by maximum likelihood.

    Platt 1999, without his smoothing of the targets, as in HELM. Newton's method with halved steps.

    Args:
        probabilities: Stated probabilities, shape (examples,).
        correct: 0 or 1, shape (examples,); both must occur.
    """
    import numpy as np

    design = np.stack([logit(probabilities), np.ones_like(probabilities)], axis=1)
    weights = np.zeros(2)
    loss = _loss(design, correct, weights)
    for _ in range(_STEPS):
        predicted = _logistic(design @ weights)
        gradient = design.T @ (predicted - correct) + np.array([_RIDGE * weights[0], 0.0])
        curvature = (design * (predicted * (1.0 - predicted))[:, None]).T @ design + np.diag([_RIDGE, 0.0])
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        while (tried := _loss(design, correct, weights - step)) > loss and np.abs(step).max() > 1e-12:
            step = step / 2.0
        if loss - tried <= 1e-12 * len(correct):
            break
        weights, loss = weights - step, tried
    return float(weights[0]), float(weights[1])


def scaled(probabilities: Floats, slope: float, intercept: float) -> Floats:
    """Return the probabilities on the curve, shape (examples,)."""
    return _logistic(slope * logit(probabilities) + intercept)


def cross_fitted(probabilities: Floats, correct: Floats, folds: Ints) -> Floats:
    """Return each example's scaled probability from a curve fitted to the other folds, shape (examples,).

    If the others are all right or all wrong, the curve is constant.
    """
    import numpy as np

    found = np.empty_like(probabilities)
    for fold in np.unique(folds):
        held_out = folds == fold
        outcomes = correct[~held_out]
        if outcomes.min() == outcomes.max():
            found[held_out] = outcomes[0]
        else:
            found[held_out] = scaled(probabilities[held_out], *fit_platt(probabilities[~held_out], outcomes))
    return found


def logit(probabilities: Floats) -> Floats:
    """Return log(p / (1 − p)), with p kept away from 0 and 1."""
    import numpy as np

    clipped = probabilities.clip(CLIP, 1.0 - CLIP)
    odds: Floats = np.log(clipped) - np.log1p(-clipped)
    return odds


def _loss(design: Floats, correct: Floats, weights: Floats) -> float:
    import numpy as np

    logits = design @ weights
    return float((np.logaddexp(0.0, logits) - correct * logits).sum() + 0.5 * _RIDGE * weights[0] ** 2)


def _logistic(logits: Floats) -> Floats:
    from scipy.special import expit

    probabilities: Floats = expit(logits)
    return probabilities
