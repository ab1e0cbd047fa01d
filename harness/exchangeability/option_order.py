"""The option-order test of multiple choice: does the model prefer each question's options in their published order?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class OptionOrder:
    """What the ranks of the published option orders say.

    Attributes:
        items: Questions.
        top1_rate: Share of the questions whose published order is the likeliest, ties shared.
        mean_percentile: Mean share of the other orders that the published one beats, ties counting one half; 1/2 by
            chance.
        log10_p: Log10 of the exact p-value over all questions.
        log10_certified: Log10 of the Chernoff bound.
    """

    items: int
    top1_rate: float
    mean_percentile: float
    log10_p: float
    log10_certified: float


def option_orders(options: int, most: int, rng: Random) -> list[tuple[int, ...]]:
    """Return orders of a question's options to compare: the published one first, then others, all different.

    Args:
        options: How many options the question has.
        most: The most orders, the published one included.
        rng: Draws the others where they are not all asked.
    """
    raise NotImplementedError


def option_order_test(items: Sequence[Sequence[float]]) -> OptionOrder:
    """Test whether published option orders rank higher than chance.

    Args:
        items: Per question the log-likelihood of each order, nats, the published one first.
    """
    raise NotImplementedError
