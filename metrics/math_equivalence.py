"""Mathematical equivalence: are two answers the same apart from notation?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from harness import Example, ExampleMetric, metric
from harness.answers import boxed_answer
from metrics._math.verifier import Verifier
from metrics._text.math_notation import canonical
from metrics._text.references import Score, best_over_references

_SOURCE = "Hendrycks et al. 2021 (MATH), math_equivalence.py"


@metric(
    "math_equiv",
    title="Equivalent answer",
    short="Equiv.",
    category="accuracy",
    scale="proportion",
    same_as="helm:math_equiv",
    source=_SOURCE,
    votes=lambda example: canonical(example.prediction) or None,
)
def math_equiv(example: Example) -> Score:
    r"""1 if the prediction equals a correct reference after both are brought into one notation; else 0.

    Spaces, units, degree, percent and dollar signs, ``\left`` and ``\right``, ``dfrac``, missing braces and a short
    left-hand side (``x =``) are ignored; ``0.5``, ``1/2`` and ``\frac12`` are the same answer. The rules compare text,
    not values: ``2x`` and ``x+x`` differ. The mean lies between 0 and 1, and higher is better. An empty prediction
    scores 0.
    """
    return best_over_references(example, _same)


@metric(
    "math_equiv_chain_of_thought",
    title="Equivalent answer (after reasoning)",
    short="Equiv. (CoT)",
    category="accuracy",
    scale="proportion",
    source=_SOURCE,
    votes=lambda example: _vote(boxed_answer(example.prediction)),
)
def math_equiv_chain_of_thought(example: Example) -> Score:
    r"""1 if the last ``\boxed{}`` of the prediction holds the same answer as that of a correct reference; else 0.

    Answers are compared as for math_equiv. The mean lies between 0 and 1, and higher is better. A text without a box
    has no answer and is never right; HELM gives 1 if neither text has one.
    """
    return best_over_references(example, _same_boxed)


def _last_box(text: str) -> str:
    """Return the last box of a text alone, as the library would take several for a set; other texts unchanged."""
    answer = boxed_answer(text)
    return text if answer is None else rf"\boxed{{{answer}}}"


def _same(gold: str, prediction: str) -> float:
    return float(canonical(gold) == canonical(prediction))


def _vote(boxed: str | None) -> str | None:
    return None if boxed is None else canonical(boxed)


def _same_boxed(gold: str, prediction: str) -> float:
    expected, given = boxed_answer(gold), boxed_answer(prediction)
    return 0.0 if expected is None or given is None else _same(expected, given)


@metric(
    "math_verify",
    title="Equivalent expression",
    short="Math-Verify",
    category="accuracy",
    scale="proportion",
    gives=("math_verify", "math_verify@*"),
    source="Kydlíček 2025 (Math-Verify)",
    votes=lambda example: _vote(boxed_answer(example.prediction)) or canonical(example.prediction) or None,
)
class MathVerify(ExampleMetric):
    r"""1 if the prediction is mathematically equal to a correct reference, as the library math-verify decides; else 0.

    Unlike ``math_equiv``, which compares notation, it compares values with sympy: ``0.5`` and ``\frac{1}{2}``,
    ``(x+1)^2`` and ``x^2+2x+1``, ``\{2, 1\}`` and ``\{1, 2\}`` are equal. The prediction may be a whole solution: the
    answer is the formula in its last ``\boxed{}``, else the formula or number that the library finds. References are
    formulas, with or without dollar signs, or solutions with a box. Equal texts are equal even where they are not
    formulas. The mean lies between 0 and 1, and higher is better. An empty prediction scores 0.

    Comparisons run in a process of their own. One that takes longer than the time limit, or too much memory, scores 0
    and is counted; the details in run.json give their number and the library's version.

    Args:
        time_limit: Most seconds for one comparison.

    Raises:
        MetricError: math-verify is not installed.
    """

    def __init__(self, *, time_limit: Annotated[float, Field(gt=0.0)] = 10.0) -> None:
        self._verifier = Verifier(time_limit)

    def __call__(self, example: Example) -> Score:
        return best_over_references(example, self._same)

    def details(self) -> Mapping[str, Any]:
        return {"math-verify": self._verifier.version, "undecided": self._verifier.undecided}

    def _same(self, gold: str, prediction: str) -> float:
        if not prediction or gold.strip() == prediction:
            return float(prediction != "")
        return float(self._verifier.same(_last_box(gold), _last_box(prediction)))
