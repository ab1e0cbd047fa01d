"""Permutation tests of whether the options of multiple-choice questions have an order of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.contamination.statistics.diagnostics import DIAGNOSTICS_LEVEL, OrderDiagnostic, OrderDiagnostics
from harness.statistics.families import holm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*")
_REFERS = re.compile(
    r"\b(all|none|both|neither|any|each|either)\b.{0,20}\b(above|these|options|answers|choices)\b|\bonly [a-e]\b", re.I
)


def diagnose_options(
    questions: Sequence[Sequence[str]],
    answers: Sequence[int | None] = (),
    permutations: int = 999,
    seed: int = 0,
    alpha: float = DIAGNOSTICS_LEVEL,
) -> OrderDiagnostics:
    """Test whether options look as if they had been put in random order, question by question.

    Every test compares the published orders with random ones: p = (1 + #{random ≥ published}) / (permutations + 1),
    exact if every order of a question's options is equally likely. Each statistic but the last is |rises - falls| of
    neighbouring options, added up over all questions:

    - ``numbers``: of the first number in each option, for questions whose options all have one;
    - ``alphabetical order`` and ``lengths`` of the options;
    - ``options that refer to others``: "all of the above" and the like, which belong to the end;
    - ``places of the answers``: Pearson's statistic for how often the answer is at each place, computed for questions
      with the same number of options and added up.

    Args:
        questions: The options of each question, in published order.
        answers: The place of each question's answer, from 0, or None if it is unknown; empty if none is known.
        permutations: Number of random orders to compare with.
        seed: Seeds the random orders.
        alpha: The level of the whole battery, after Holm's correction.
    """
    import numpy as np

    statistics: dict[str, Callable[[Sequence[str]], Sequence[float] | None]] = {
        "numbers": _numbers,
        "alphabetical order": _alphabetical,
        "lengths": lambda options: [float(len(option)) for option in options],
        "options that refer to others": _referring,
    }
    generator = np.random.default_rng(seed)
    found: list[tuple[str, float, float, float]] = []
    for name, values in statistics.items():
        given = [known for options in questions if (known := values(options)) is not None and len(set(known)) > 1]
        rows: list[Floats] = [np.array(row) for row in given]
        if not rows:
            continue
        published = abs(sum(_rises(row[None])[0] for row in rows))
        random = np.zeros(permutations)
        for row in rows:
            random += _rises(generator.permuted(np.tile(row, (permutations, 1)), axis=1))
        random = np.abs(random)
        sd = float(random.std())
        p = float(1 + (random >= published - 1e-9).sum()) / (permutations + 1)
        found.append((name, float(published), float((published - random.mean()) / sd) if sd else 0.0, p))
    if places := _by_options(questions, answers):
        drawn = np.array([_unevenness(number, generator.integers(number, size=(permutations, len(own))))
                          for number, own in places.items()]).sum(axis=0)  # fmt: skip
        uneven = sum(float(_unevenness(number, np.array([own]))[0]) for number, own in places.items())
        sd = float(drawn.std())
        p = float(1 + (drawn >= uneven - 1e-9).sum()) / (permutations + 1)
        found.append(("places of the answers", uneven, float((uneven - drawn.mean()) / sd) if sd else 0.0, p))
    corrected = holm([p for *_, p in found])
    tests = (OrderDiagnostic(*one, p_holm) for one, p_holm in zip(found, corrected, strict=True))
    return OrderDiagnostics(tuple(tests), len(questions), alpha)


def _by_options(questions: Sequence[Sequence[str]], answers: Sequence[int | None]) -> dict[int, list[int]]:
    """Return the places of the known answers, by the number of options."""
    found: dict[int, list[int]] = {}
    for options, place in zip(questions, answers, strict=False):
        if place is not None:
            found.setdefault(len(options), []).append(place)
    return found


def _unevenness(options: int, places: NDArray[np.int64]) -> Floats:
    """Return Pearson's statistic of the counts of places in each row, shape (rows,)."""
    expected = places.shape[1] / options
    found: Floats = sum(((places == place).sum(axis=1) - expected) ** 2 / expected for place in range(options))
    return found


def _rises(values: Floats) -> Floats:
    """Return the number of rises less that of falls in each row, shape (rows,)."""
    import numpy as np

    steps: Floats = np.sign(np.diff(values, axis=1)).sum(axis=1)
    return steps


def _numbers(options: Sequence[str]) -> list[float] | None:
    found = [_NUMBER.search(option) for option in options]
    if not all(found):
        return None
    return [
        float(number[0].replace(",", "").rstrip(".")) if _is_number(number[0]) else 0.0 for number in found if number
    ]


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").rstrip("."))
    except ValueError:
        return False
    return True


def _alphabetical(options: Sequence[str]) -> list[float]:
    folded = [option.strip().casefold() for option in options]
    places = {text: float(place) for place, text in enumerate(sorted(set(folded)))}
    return [places[text] for text in folded]


def _referring(options: Sequence[str]) -> list[float]:
    return [float(_REFERS.search(option) is not None) for option in options]
