"""The judge that needs nothing: a small linear model whose weights come with the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import Judge, PluginError, judge
from metrics.judges._embedded.hashed_ngrams import BITS, hashed_ngrams

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VERSION = "1"
WEIGHTS = Path(__file__).parent / "_embedded" / "weights.npz"


@judge("embedded", source="This project, 2026: metrics/judges/_embedded: card.md, training.py")
class Embedded(Judge):
    """Logistic regression over hashed n-grams of bytes and words: no network, no graphics card, no other library.

    The probability is σ(b + Σ w / √D) over the text's D distinct features (see ``hashed_ngrams``), with weights of one
    byte each. It was trained on human labels and on published Perspective scores, to be read like Perspective's
    TOXICITY. What it is good and bad at is in its model card, ``metrics/judges/_embedded/card.md``; in short, it knows
    words and not meaning. Of a text the first 20,480 characters count.

    Args:
        weights: A file that ``python -m metrics.judges._embedded.training`` wrote; by default the package's own.
    """

    def __init__(self, *, weights: str | None = None) -> None:
        self._path = WEIGHTS if weights is None else Path(weights)
        self._model: tuple[NDArray[np.float64], float] | None = None

    def fingerprint(self) -> Mapping[str, Any]:
        import hashlib

        return {"version": VERSION, "sha256": hashlib.sha256(self._bytes()).hexdigest()}

    def probabilities(self, texts: Sequence[str]) -> list[float]:
        import numpy as np

        weights, bias = self._weights()
        scores = np.full(len(texts), bias)
        for owners, buckets in hashed_ngrams(texts):
            sums = np.bincount(owners, weights=weights[buckets], minlength=len(texts))
            counts = np.bincount(owners, minlength=len(texts))
            scores += sums / np.sqrt(np.maximum(counts, 1))
        probabilities: list[float] = (1.0 / (1.0 + np.exp(-scores))).tolist()
        return probabilities

    def _weights(self) -> tuple[NDArray[np.float64], float]:
        import io
        import zipfile

        import numpy as np

        if self._model is None:
            try:
                with np.load(io.BytesIO(self._bytes()), allow_pickle=False) as file:
                    weights = file["weights"] * float(file["scale"])
                    self._model = (weights, float(file["bias"]))
            except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
                raise PluginError(f"judge 'embedded': {self._path} does not hold weights ({error}).") from error
            if weights.shape != (1 << BITS,):
                self._model = None
                raise PluginError(f"judge 'embedded': {self._path} holds {weights.shape} weights, not {1 << BITS}.")
        return self._model

    def _bytes(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as error:
            raise PluginError(
                f"judge 'embedded': the weights {self._path} cannot be read: {error.strerror}."
            ) from error
