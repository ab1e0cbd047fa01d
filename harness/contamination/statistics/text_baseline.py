"""How well words alone tell two sets of texts apart, without any model: the baseline for membership scores.

scikit-learn's HashingVectorizer and LogisticRegression would replace forty lines here, but they do not centre sparse
features by class, which this classifier does instead of fitting a constant: their results differ.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from harness.contamination.statistics.baselines import auroc

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

    Floats = NDArray[np.float64]

_WORD = re.compile(r"\w+|[^\w\s]")
_FEATURES = 2**14
_PENALTY = 1e-3
"""Weight of the squared weights, added to the mean loss; suits a few hundred texts of unit length."""


def text_baseline(first: Sequence[str], second: Sequence[str], folds: int = 5, seed: int = 0) -> float:
    """Return the cross-validated AUROC of telling two sets of texts apart by their words alone.

    Logistic regression with a ridge penalty on hashed words and pairs of words; every text is scored by a classifier
    that did not see it, and the folds' AUROCs are averaged. At 1/2, words do not tell the sets apart. If it is high, a
    membership score that tells the sets apart may only reflect their subjects or dates (Das et al. 2024, "Blind
    baselines beat membership inference attacks", arXiv 2406.16201).

    Args:
        first: Suspected texts, the positive class of the AUROC.
        second: Texts that are known to be clean.
        folds: Number of parts that are left out in turn.
        seed: Seeds the split into parts.

    Raises:
        ValueError: A set has fewer texts than there are folds, or there are fewer than 2 folds.
    """
    import numpy as np

    if folds < 2 or min(len(first), len(second)) < folds:
        raise ValueError(f"{folds} folds of {len(first)} and {len(second)} texts: each fold needs a text of either set")
    features = _features([*first, *second])
    truth = np.repeat([1.0, 0.0], [len(first), len(second)])
    rng = Random(seed)  # noqa: S311 - reproducible parts, not secrets
    dealt = [place % folds for size in (len(first), len(second)) for place in rng.sample(range(size), size)]
    parts = np.array(dealt)
    areas = []
    for part in range(folds):
        left_out = parts == part
        weights = _fitted(features[~left_out], truth[~left_out])
        scores, told = features[left_out] @ weights, truth[left_out]
        areas.append(auroc(scores[told == 1.0], scores[told == 0.0]))
    return float(np.mean(areas))


def _features(texts: Sequence[str]) -> csr_matrix:
    """Return one row of unit length per text, of the logarithms of how often hashed words and pairs occur."""
    import numpy as np
    from scipy.sparse import csr_matrix

    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for row, text in enumerate(texts):
        words = _WORD.findall(text.casefold())
        grams = Counter([*words, *(f"{one} {other}" for one, other in pairwise(words))])
        weights = np.log1p(np.array(list(grams.values()), dtype=np.float64))
        rows.extend([row] * len(grams))
        columns.extend(zlib.crc32(gram.encode("utf-8", "surrogatepass")) % _FEATURES for gram in grams)
        values.extend(weights / max(float(np.sqrt(weights @ weights)), 1e-12))
    return csr_matrix((values, (rows, columns)), shape=(len(texts), _FEATURES))


def _fitted(features: csr_matrix, truth: Floats) -> Floats:
    """Return the weights of a logistic regression, the two sets weighing alike, with no constant: ranks need none."""
    import numpy as np
    from scipy.optimize import minimize
    from scipy.special import expit

    balance = np.where(truth == 1.0, 0.5 / truth.sum(), 0.5 / (1.0 - truth).sum())
    centre = np.asarray(features.T @ balance).ravel()
    signs = 2.0 * truth - 1.0

    def loss(weights: Floats) -> tuple[float, Floats]:
        margins = signs * (features @ weights - centre @ weights)
        value = float(balance @ np.logaddexp(0.0, -margins)) + _PENALTY * float(weights @ weights)
        pull = -balance * signs * expit(-margins)
        return value, features.T @ pull - centre * pull.sum() + 2 * _PENALTY * weights

    found: Floats = minimize(loss, np.zeros(features.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
    return found
