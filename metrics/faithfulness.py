"""Faithfulness: does a summary follow from its text, according to a model of natural language inference?"""

from __future__ import annotations

import re

from harness import Example, MetricError, Scale, metric
from metrics._text.encoders import checkpoints, load_encoder

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|\n+")


@metric(
    "faithfulness",
    title="Faithfulness (SummaC)",
    short="SummaC",
    category="accuracy",
    scale=Scale("bounded", -1.0, 1.0),
    source="Laban et al. 2022 (SummaC, zero-shot)",
    checkpoints=checkpoints,
)
def faithfulness(example: Example, *, model: str, revision: str | None = None) -> float | None:
    """SummaC-ZS: how well the sentences of a summary follow from sentences of the text, on average.

    Each sentence of the summary (the prediction) scores the largest P(entailment) − P(contradiction) over the sentences
    of the text (the instance's input); the result is the mean over the summary's sentences. Between −1 and 1, and
    higher is better. Undefined for an empty summary or text. A sentence ends at a full stop, an exclamation mark or a
    question mark before a space, or at a line break.

    Args:
        example: Its input is the text, its prediction the summary.
        model: A folder with a Hugging Face classifier of text pairs whose labels are called entailment and
            contradiction, or its name on the Hub (in the paper: tals/albert-xlarge-vitaminc-mnli).
        revision: The Hub's commit.

    Raises:
        MetricError: The model cannot be loaded, or lacks these labels.
    """
    text, summary = _sentences(example.instance.input), _sentences(example.prediction)
    if not text or not summary:
        return None
    pairs = [(premise, hypothesis) for hypothesis in summary for premise in text]
    judged = load_encoder(model, revision, "classes").probabilities(pairs)
    support = [_probability(labels, "entail") - _probability(labels, "contra") for labels in judged]
    best = [max(support[start : start + len(text)]) for start in range(0, len(support), len(text))]
    return sum(best) / len(best)


def _sentences(text: str) -> list[str]:
    return [stripped for sentence in _SENTENCE_END.split(text) if (stripped := sentence.strip())]


def _probability(labels: dict[str, float], prefix: str) -> float:
    for name, probability in labels.items():
        if name.startswith(prefix):
            return probability
    raise MetricError(f"the model's labels are {', '.join(labels)}; faithfulness needs entailment and contradiction.")
