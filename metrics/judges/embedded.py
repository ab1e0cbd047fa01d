"""A judge that needs no model or service: a small linear model whose weights are part of the package."""

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


@judge("embedded", source="This project, 2026: metrics/judges/_embedded/card.md")
class Embedded(Judge):
    """Logistic regression on hashed n-grams of bytes and words: no network, no GPU, no further library.

    The probability is σ(b + Σ w / √D) over the D distinct features of the text, with weights of one byte each. It was
    trained on human labels and on published Perspective scores, and is meant to be read like Perspective's TOXICITY.
    Its model card, ``metrics/judges/_embedded/card.md``, describes its strengths and weaknesses; in short, it knows
    words, not meaning. Only the first 20,480 characters of a text count.

    Args:
        weights: A file written by ``python -m metrics.judges._embedded.training`` (default: the package's own).
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
