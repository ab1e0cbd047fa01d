"""The simple permutation test, which compares the published order with a sample of others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class BesagClifford:
    """A permutation test that stops once enough shuffled orders are as likely as the published one.

    It stops at the h-th such order, with p = h/l after l orders, or after the largest allowed number m of orders, with
    the simple test's p = (1 + #{shuffled ≥ published}) / (m + 1) (Oren et al. 2023, section 3.1; Besag and Clifford
    1991, "Sequential Monte Carlo p-values"). The p-value is exact at either stop; ties count against contamination.
    """

    h: int = 10
    """Number of shuffled orders at least as likely as the published one that end the test."""
    most: int = 999
    """Maximum number of shuffled orders."""
    drawn: int = 0
    """Number of shuffled orders so far."""
    better: int = 0
    """Number of those that were at least as likely as the published one."""

    def __post_init__(self) -> None:
        if self.h < 1 or self.most < 1:
            raise ValueError("h and most are at least 1")

    def add(self, better: bool) -> bool:
        """Count one shuffled order; return whether the test is done.

        Args:
            better: True if it is at least as likely as the published order.

        Raises:
            ValueError: The test was done before.
        """
        if self.done:
            raise ValueError("the test has stopped")
        self.drawn += 1
        self.better += better
        return self.done

    @property
    def done(self) -> bool:
        """True once the test has stopped."""
        return self.better >= self.h or self.drawn >= self.most

    @property
    def p(self) -> float:
        """The p-value; exact once the test is done, and before that the simple test's on the orders so far."""
        return self.h / self.drawn if self.better >= self.h else (1 + self.better) / (self.drawn + 1)
