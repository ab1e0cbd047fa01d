"""Synthetic reasoning: patterns of symbols that are matched, filled in and induced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from harness import Data, Instance, Reference, Source, Split, scenario

if TYPE_CHECKING:
    from numpy.random import RandomState

Mode = Literal["pattern_match", "variable_substitution", "induction"]

VARIABLES = ("X", "Y", "Z")
OPERATORS = ("+", "-", "*", "=")
WORDS = (
    "zebra", "cobra", "stork", "penguin", "shark", "lion", "buffalo", "whale", "seal", "eagle", "horse", "rat",
    "apple", "peach", "watermelon", "banana", "grape", "kiwi", "pear", "strawberry", "blueberry", "blackberry",
)  # fmt: skip
SIZES = {Split.TRAIN: 1000, Split.VALID: 5000, Split.TEST: 5000}
OTHER_PATTERNS = 3


@scenario(
    "synthetic_reasoning",
    title="Synthetic reasoning (abstract symbols)",
    short="Synthetic · symbols",
    source="Wu et al. 2021 (LIME, arXiv:2101.06223); Liang et al. 2022, section 5.3",
    data=Source(),
    adapter={
        "method": "generation",
        "instructions": "Please solve the following problem.\n",
        "input_noun": None,
        "output_noun": "Target",
        "max_tokens": 50,
    },
    metrics=("token_exact_match", "accuracy", "efficiency"),
    main_metric="token_exact_match",
    taxonomy={
        "task": "reasoning",
        "what": "generated problems",
        "who": "a program",
        "when": "2022",
        "language": "symbols",
    },
    tags=("logic", "helm-classic"),
)
def synthetic_reasoning(data: Data, *, mode: Mode) -> Iterator[Instance]:
    """Find the pattern that gives a result, the result of a pattern, or the pattern of two results; HELM's instances.

    HELM's main metric, ``quasi_exact_match``, ignores the operators, so that a wrong pattern often counts as right.
    Where a variable occurs twice, the wrong patterns have it once: taking the longest pattern solves 57 % of the test
    problems of ``pattern_match``.

    Args:
        data: None are read.
        mode: The kind of problem.
    """
    from numpy.random import RandomState

    rng = RandomState(42)  # HELM's generator and seed
    for split, count in SIZES.items():
        for number in range(1, count + 1):
            question, answer = _problem(rng, mode)
            yield Instance(f"{split}-{number}", question, (Reference(answer, correct=True),), split)


def _problem(rng: RandomState, mode: Mode) -> tuple[str, str]:
    """Return a question with its answer; everything is drawn in HELM's order, whatever the mode."""
    variables = _drawn(rng, VARIABLES)
    different = sorted(set(variables))
    operators = _drawn(rng, OPERATORS)
    pattern = _shuffled(rng, variables + operators)
    words, results = [], []
    for _ in range(2):
        words.append({one: " ".join(rng.choice(WORDS, size=rng.randint(1, 3))) for one in different})
        results.append(" ".join(words[-1].get(symbol, symbol) for symbol in pattern))
    written = " ".join(pattern)
    if mode == "induction":
        return f"Two results: {results[0]} | {results[1]}", f"Rule: {written}"
    if mode == "variable_substitution":
        return f"Rules: {written} | Substitutions: {_substitutions(words[0])}", results[0]
    others = [" ".join(_shuffled(rng, different + operators)) for _ in range(OTHER_PATTERNS)]
    return f"Rules: {' | '.join(_shuffled(rng, [*others, written]))} | Result: {results[0]}", written


def _drawn(rng: RandomState, symbols: Sequence[str]) -> list[str]:
    """Return two or three symbols, which can be equal."""
    return [str(symbol) for symbol in rng.choice(symbols, size=rng.randint(2, 4))]


def _shuffled(rng: RandomState, items: list[str]) -> list[str]:
    shuffled = list(items)
    rng.shuffle(shuffled)
    return shuffled


def _substitutions(words: Mapping[str, str]) -> str:
    return " , ".join(f'{variable} by " {text} "' for variable, text in words.items())
