"""Does the text alone show that a data set's order is not a random one? A battery of permutation tests, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One test of the battery.

    Attributes:
        name: What it looks for.
        statistic: What the published order has of it.
        z: How many standard deviations that is above the mean of shuffled orders; 0 where they do not vary.
        p: The permutation p-value.
        p_holm: Holm's adjustment over the battery.
    """

    name: str
    statistic: float
    z: float
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """What the battery found.

    Attributes:
        tests: Every test that applies to these texts.
        examples: How many examples were looked at, from the first.
        alpha: The level of the whole battery.
    """

    tests: tuple[Diagnostic, ...]
    examples: int
    alpha: float

    @property
    def exchangeable(self) -> bool:
        """Whether no test of the battery rejects, after Holm."""
        return all(test.p_holm > self.alpha for test in self.tests)


def diagnose(
    texts: Sequence[str],
    labels: Sequence[str] | None = None,
    permutations: int = 999,
    seed: int = 0,
    alpha: float = 0.05,
) -> Diagnostics:
    """Test whether texts stand in an order that looks random.

    Args:
        texts: The examples as published, in published order.
        labels: Each example's label, where there are labels.
        permutations: How many random orders the published one is compared with.
        seed: Seeds them.
        alpha: The level of the whole battery.
    """
    raise NotImplementedError
