"""BERTScore: how similar two texts are, token by token, in the embeddings of a language model."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from harness import Example, Scale, metric
from metrics._text.encoders import checkpoints, load_encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@metric(
    "bert_score",
    title={
        "bert_score": "BERTScore",
        "bert_score_f1": "BERTScore F1",
        "bert_score_precision": "BERTScore precision",
        "bert_score_recall": "BERTScore recall",
    },
    category="accuracy",
    scale=Scale("smooth", -1.0, 1.0),
    gives=("bert_score_f1", "bert_score_precision", "bert_score_recall"),
    source="Zhang et al. 2020 (BERTScore), section 3",
    checkpoints=checkpoints,
)
def bert_score(
    example: Example, *, model: str, revision: str | None = None, layer: Annotated[int, Field(ge=0)] | None = None
) -> dict[str, float] | None:
    """BERTScore of the prediction and the correct reference that it matches best: ``bert_score_f1`` and its parts.

    Each token of one text is matched with the token of the other whose contextual embedding has the largest cosine
    similarity. ``bert_score_precision`` is the mean over the prediction's tokens, ``bert_score_recall`` the mean over
    the reference's, and ``bert_score_f1`` their harmonic mean. At most 1, and higher is better; in practice most values
    are near 1. An empty prediction scores 0. Undefined if every correct reference is empty. Special tokens are left
    out, and tokens are not weighted. Values of different models or layers cannot be compared.

    HELM uses microsoft/deberta-large-mnli at layer 18, rescaled by a baseline, and only on a GPU. Here you name the
    model, and the score is the cosine itself.

    Args:
        example: Its prediction is compared with its correct references.
        model: A folder with a Hugging Face encoder, or its name on the Hub.
        revision: The Hub's commit.
        layer: The layer whose embeddings are compared (default: the last).

    Raises:
        MetricError: The model cannot be loaded, or has no such layer.
    """
    golds = [text for reference in example.correct if (text := reference.text.strip())]
    prediction = example.prediction.strip()
    if not golds:
        return None
    best = (0.0, 0.0, 0.0)
    if prediction:
        given = _embeddings(prediction, model, revision, layer)
        best = max(greedy_match(given, _embeddings(gold, model, revision, layer)) for gold in golds)
    return dict(zip(("bert_score_f1", "bert_score_precision", "bert_score_recall"), best, strict=True))


def greedy_match(prediction: Floats, reference: Floats) -> tuple[float, float, float]:
    """Return F1, precision and recall of two lists of vectors, shapes (n, width) and (m, width)."""
    import numpy as np

    if not len(prediction) or not len(reference):
        return 0.0, 0.0, 0.0
    unit = [
        vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        for vectors in (prediction, reference)
    ]
    cosines = unit[0] @ unit[1].T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    positive = min(precision, recall) > 0.0  # else the harmonic mean is undefined
    return (2.0 * precision * recall / (precision + recall) if positive else 0.0), precision, recall


@lru_cache(maxsize=256)
def _embeddings(text: str, model: str, revision: str | None, layer: int | None) -> Floats:
    return load_encoder(model, revision, "none").embeddings(text, layer)
