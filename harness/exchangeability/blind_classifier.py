"""How far do two sets of texts differ without any model? What a membership score has to beat."""

from __future__ import annotations

from collections.abc import Sequence


def blind_classifier(first: Sequence[str], second: Sequence[str], folds: int = 5, seed: int = 0) -> float:
    """Return the cross-validated AUROC of telling two sets of texts apart by their words alone.

    Args:
        first: Texts that are suspected.
        second: Texts that are known to be clean.
        folds: Parts that are left out in turn.
        seed: Seeds the parts.
    """
    raise NotImplementedError
