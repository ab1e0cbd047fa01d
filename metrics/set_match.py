"""The agreement between the set of items that a prediction names and the reference's set."""

from __future__ import annotations

from harness import Example, metric
from metrics._text.references import Score, best_over_references

_SOURCE = "Liang et al. 2022, appendix C.1; HELM, evaluate_reference_metrics.py"


@metric(
    "exact_set_match",
    title="Exact match (set)",
    short="EM (set)",
    category="accuracy",
    scale="proportion",
    source=_SOURCE,
)
def exact_set_match(example: Example) -> Score:
    """1 if the prediction names exactly the elements of a correct reference, in any order; else 0.

    The set is read from the text after the last " is ", split at " and ", without full stops: "It is red and round."
    names {red, round}. "Nothing." names the empty set. Only the first line of the prediction counts. The mean lies
    between 0 and 1, and higher is better. An empty prediction scores 0.

    Unlike HELM, this ignores whitespace around an element and the full stop of "Nothing.".
    """
    return best_over_references(example, lambda gold, text: float(_set(gold) == _prediction(text)))


@metric(
    "iou_set_match",
    title="Intersection over union (set)",
    short="IoU",
    category="accuracy",
    scale="bounded",
    source=_SOURCE,
)
def iou_set_match(example: Example) -> Score:
    """Number of elements in both sets divided by the number in either (intersection over union).

    Sets are read as for exact_set_match. Between 0 and 1, and higher is better; the largest over correct references.
    Two empty sets agree (1).
    """
    return best_over_references(example, _intersection_over_union)


@metric("f1_set_match", title="F1 of sets", short="F1 (set)", category="accuracy", scale="bounded", source=_SOURCE)
def f1_set_match(example: Example) -> Score:
    """F1 of the predicted elements: 2 · shared / (elements of the prediction + elements of the reference).

    Sets are read as for exact_set_match. Between 0 and 1, and higher is better; the largest over correct references.
    Two empty sets agree (1).
    """
    return best_over_references(example, _f1)


def _intersection_over_union(gold: str, prediction: str) -> float:
    expected, given = _set(gold), _prediction(prediction)
    union = expected | given
    return len(expected & given) / len(union) if union else 1.0


def _f1(gold: str, prediction: str) -> float:
    expected, given = _set(gold), _prediction(prediction)
    size = len(expected) + len(given)
    return 2.0 * len(expected & given) / size if size else 1.0


def _prediction(text: str) -> frozenset[str]:
    return _set(text.split("\n", 1)[0])


def _set(text: str) -> frozenset[str]:
    bare = text.replace(".", "").strip()
    if bare == "Nothing":
        return frozenset()
    elements = (element.strip() for element in bare.split(" is ")[-1].split(" and "))
    return frozenset(element for element in elements if element)
