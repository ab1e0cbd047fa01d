"""How many of the expected texts occur in a prediction."""

from __future__ import annotations

import unicodedata

from harness import Example, metric


@metric(
    "reference_in_prediction",
    title={
        "reference_in_prediction": "References in the prediction",
        "reference_in_prediction_all": "References in the prediction",
        "reference_in_prediction_part": "Any reference in the prediction",
    },
    short={"reference_in_prediction_all": "Refs found", "reference_in_prediction_part": "Any ref found"},
    category="accuracy",
    scale="bounded",
    gives=("reference_in_prediction_all", "reference_in_prediction_part"),
    source="Hsieh et al. 2024 (RULER, arXiv:2404.06654), section 3",
)
def reference_in_prediction(example: Example) -> dict[str, float] | None:
    """The share of the correct references that occur in the prediction (``_all``), and 1 if any does (``_part``).

    ``reference_in_prediction_all`` is for questions with several answers that are all asked for, such as needles in a
    long text; ``reference_in_prediction_part`` for questions with one answer in several spellings. Case is ignored,
    and so is the form in which Unicode writes a letter with its marks; a reference may occur within a word ("7" in
    "17"). Surrounding whitespace of a reference is ignored. Both lie between 0 and 1, and higher is better. Undefined
    if every correct reference is empty.
    """
    references = [text for reference in example.correct if (text := _plain(reference.text).strip())]
    if not references:
        return None
    prediction = _plain(example.prediction)
    found = sum(reference in prediction for reference in references)
    return {
        "reference_in_prediction_all": found / len(references),
        "reference_in_prediction_part": float(found > 0),
    }


def _plain(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.lower())
