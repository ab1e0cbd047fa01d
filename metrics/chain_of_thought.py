"""The answer that a chain of thought comes to: the option or the number that it states last."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache

from harness import Example, GenerateRequest, MetricError, metric
from metrics.number_reading import final_number, first_number
from metrics.references import Score, best_over_references

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_STATEMENT = (
    r"\b(?i:answer|option|choice)\b(?:\s+(?i:choice|option|letter))?[*_]*\s*(?:(?i:is|would\s+be|should\s+be)\b|[:=])"
    r"(?:\s+(?i:(?:most\s+)?likely|probably|definitely|clearly|therefore|thus))?"
    r"[\s:*_\"'`$]*(?:(?i:(?:the\s+)?(?:option|choice|letter))\b)?[\s:*_\"'`$]*"
)
_ENGLISH_WORDS = frozenset("AI")
"""Letters that are words as well: "the answer is A good one", "the answer is, I think, B"."""

_AFTER_A_LETTER = r"(?!\w|['’-]\w)"
_AFTER_A_WORD = (
    r"(?=\s*(?:\Z|[.,;:!?)*_\"'`$\n]|(?i:because|since|as|for|and|but|or|which|given|due|based|not|with|rather)\b))"
)
_NUMBER_STATEMENT = re.compile(r"####|\\boxed\b|\b(?i:answer)\b[*_]*\s*(?:(?i:is)\b|[:=])")
_CLAUSE = re.compile(r"(?:(?![,;.]\s|\n|\b(?i:since|because)\b).)*")


@metric(
    "chain_of_thought_option",
    category="accuracy",
    gives=("chain_of_thought_option", "chain_of_thought_option@*"),
    source="HELM, gpqa_chain_of_thought_metric.py, 2024",
)
def chain_of_thought_option(example: Example) -> Score:
    r"""1 if the option that a chain of thought states last is correct; else 0.

    A statement is "answer is", "answer:", "option is" and the like, or ``\boxed{}``, followed by an option's letter,
    with or without brackets and emphasis. Without a statement, a last line that is nothing but a letter counts. Letters
    are those that the adapter showed, or A, B, C … in the references' order. A text that names no option scores 0. The
    mean lies between 0 and 1, and higher is better. Undefined without a correct option. With k > 1 completions,
    ``chain_of_thought_option@k`` is 1 if any of them is right.

    Other than in HELM, the last statement counts and not the first ("The answer is A … no, the answer is B"), the
    article is no option ("The answer is A good one"), "Answer: B" is understood (HELM's pattern for it looks for the
    literal text "[aA]nswer"), and an option has to be one that was shown.

    Raises:
        MetricError: There are no options, or more than 26 without letters of their own.
    """
    labels = example.labels or tuple(_LETTERS[: len(example.references)])
    if len(labels) < len(example.references) or len(labels) < 2:
        raise MetricError(f"chain_of_thought_option needs 2 to 26 options, and there are {len(example.references)}.")
    if not example.correct:
        return None
    right = {label for label, reference in zip(labels, example.references, strict=False) if reference.correct}
    scores = [float(stated_option(text, labels) in right) for text in _written(example)]
    if len(scores) < 2:
        return scores[0] if scores else 0.0
    return {"chain_of_thought_option": scores[0], f"chain_of_thought_option@{len(scores)}": max(scores)}


@metric(
    "chain_of_thought_number",
    category="accuracy",
    gives=("chain_of_thought_number", "chain_of_thought_number@*"),
    source="Cobbe et al. 2021 (GSM8K), section 3",
)
def chain_of_thought_number(example: Example) -> Score:
    r"""1 if the number that a chain of thought states last equals that of a correct reference; else 0.

    It is the first number after the last "answer is", "answer:", ``####`` or ``\boxed``, and without one the last
    number of the text: "The answer is 7, since 5 + 2 = 7 and not 8" states 7; of "5 + 2 = 7" the right side is meant.
    Numbers are read and compared as for final_number_exact_match. The mean lies between 0 and 1, and higher is better.
    A text without a number scores 0.
    """
    return best_over_references(example, "chain_of_thought_number", _same_number)


def stated_option(text: str, labels: tuple[str, ...]) -> str | None:
    """Return the label of the option that a text states last; None where it states none."""
    statement, alone = _patterns(labels)
    stated = [match[match.lastindex or 0] for match in statement.finditer(text)]
    if stated:
        return stated[-1]
    lines = text.strip().splitlines()
    match = alone.fullmatch(lines[-1].strip()) if lines else None
    return match[1] if match else None


def stated_number(text: str) -> Decimal | None:
    """Return the number that a text states last, else the last one in it; None where there is none."""
    statements = list(_NUMBER_STATEMENT.finditer(text))
    if statements:
        clause = _CLAUSE.match(text, statements[-1].end())
        stated = None if clause is None else first_number(clause[0].rpartition("=")[2])
        if stated is not None:
            return stated
    return final_number(text)


@cache
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what a statement of one of these labels looks like, and a line that is nothing but a label."""
    any_of = "|".join(map(re.escape, labels))
    words = "|".join(re.escape(label) for label in labels if label in _ENGLISH_WORDS) or r"(?!)"
    others = "|".join(re.escape(label) for label in labels if label not in _ENGLISH_WORDS) or r"(?!)"
    bracketed = rf"[(\[{{]\s*({any_of})\s*[)\]}}]"
    bare = rf"({others}){_AFTER_A_LETTER}|({words}){_AFTER_A_LETTER}{_AFTER_A_WORD}"
    boxed = rf"\\boxed\s*\{{\s*(?:\\(?:text|mathrm|textbf)\s*\{{\s*)?\(?({any_of})\)?\s*\}}"
    return (
        re.compile(rf"{_STATEMENT}(?:{bracketed}|{bare})|{boxed}"),
        re.compile(rf"[*_(\[\s]*({any_of})[)\].*_\s]*"),
    )


def _written(example: Example) -> list[str]:
    """Return the completions as the model wrote them, before an adapter mapped them to options."""
    return [
        completion.text
        for request, response in zip(example.requests, example.responses, strict=True)
        if isinstance(request, GenerateRequest) and (request.origin is None or request.origin.role == "original")
        for completion in response.completions
    ] or list(example.predictions or (example.prediction,))


def _same_number(gold: str, prediction: str) -> float:
    number = stated_number(gold)
    return float(number is not None and number == stated_number(prediction))
