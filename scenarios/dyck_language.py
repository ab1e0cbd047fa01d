"""Dyck languages: the brackets that close a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Literal

from harness import Data, Instance, Reference, Source, Split, scenario

if TYPE_CHECKING:
    from numpy.random import RandomState

INSTRUCTIONS = (
    "Please complete the rest of the following Dyck sequences, making sure that the parentheses are closed properly.\n"
)
OPENING, CLOSING = "([{<", ")]}>"
NESTED, JOINED = 0.5, 0.25
"""The probabilities that a sequence is another in brackets, and that it is two in a row; else it is empty."""
DEPTH = 100
LONGEST = 100
LEFT_OPEN = 3
"""Most brackets that are left for the model to close."""
SIZES = {Split.TRAIN: (3, 4, 50), Split.TEST: (500, 52, 100)}
"""For each split the number of instances, and the least and the most symbols of a sequence."""


@scenario(
    "dyck_language",
    title="Dyck languages",
    source="Suzgun et al. 2019 (arXiv:1911.03329); Liang et al. 2022, section 5.3",
    data=Source(),
    adapter={
        "method": "generation",
        "instructions": INSTRUCTIONS,
        "input_prefix": "Input: ",
        "input_suffix": "",
        "output_prefix": "",
        "output_suffix": "",
        "max_train_instances": 3,
        "max_tokens": 5,
    },
    metrics=("token_exact_match", "exact_match_indicator", "efficiency"),
    main_metric="token_exact_match",
    taxonomy={
        "task": "sequence completion",
        "what": "nested brackets",
        "who": "a program",
        "when": "2022",
        "language": "brackets",
    },
    tags=("reasoning", "helm-classic"),
)
def dyck_language(data: Data, *, num_parenthesis_pairs: Literal[2, 3, 4] = 3) -> Iterator[Instance]:
    """Sequences of nested brackets, of which the last one to three are left to close; HELM's instances to the symbol.

    HELM's main metric, ``exact_match_indicator``, compares the last bracket alone; the main metric here compares all.

    Args:
        data: None are read.
        num_parenthesis_pairs: The kinds of brackets.
    """
    from numpy.random import RandomState

    rng, kinds = Random(42), RandomState(42)  # noqa: S311 - HELM's generators and seeds
    seen: set[str] = set()
    for split, (count, shortest, longest) in SIZES.items():
        made = 0
        while made < count:
            shown, rest = _cut(rng, kinds, num_parenthesis_pairs, shortest, longest)
            if shown in seen:
                continue
            seen.add(shown)
            made += 1
            yield Instance(f"{split}-{made}", shown, (Reference(f" {rest}", correct=True),), split)


def _cut(rng: Random, kinds: RandomState, pairs: int, shortest: int, longest: int) -> tuple[str, str]:
    """Return a sequence in two parts: the second closes the brackets that the first leaves open."""
    while True:
        symbols = _sequence(rng, kinds, pairs)
        if not shortest <= len(symbols) <= longest:
            continue
        wanted, open_ = rng.randint(1, LEFT_OPEN), 0
        for position in reversed(range(len(symbols))):
            open_ += 1 if symbols[position] in CLOSING else -1
            if open_ == wanted:
                return " ".join(symbols[:position]), " ".join(_closing(symbols[:position]))


def _sequence(rng: Random, kinds: RandomState, pairs: int, depth: int = 0) -> list[str]:
    if depth > DEPTH:
        return []
    chance = rng.random()
    symbols: list[str] = []
    if chance < NESTED:
        kind = kinds.randint(pairs)
        symbols = [OPENING[kind], *_sequence(rng, kinds, pairs, depth + 1), CLOSING[kind]]
    elif chance < NESTED + JOINED:
        symbols = _sequence(rng, kinds, pairs, depth) + _sequence(rng, kinds, pairs, depth)
    return symbols if len(symbols) <= LONGEST else []


def _closing(symbols: list[str]) -> list[str]:
    """Return the brackets that close a sequence, in order."""
    open_: list[str] = []
    for symbol in symbols:
        if symbol in OPENING:
            open_.append(CLOSING[OPENING.index(symbol)])
        else:
            open_.pop()
    return open_[::-1]
