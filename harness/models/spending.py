"""A budget in tokens and in money, and what of it is spent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from harness import Price


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of prompt and of completion that a call takes, or may take at most."""

    prompt: int = 0
    completion: int = 0

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.prompt + self.completion

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.prompt + other.prompt, self.completion + other.completion)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.prompt - other.prompt, self.completion - other.completion)


class Room(Enum):
    """Whether a call may be made: yes; not before others have ended, which may take less than was thought; or never."""

    YES = auto()
    WAIT = auto()
    NO = auto()


class Spending:
    """What a model's calls have spent, and what those under way may spend yet.

    Args:
        tokens: Most tokens, of prompts and completions together; None for no limit.
        money: Most money, in the price's currency; None for no limit.
        price: What tokens cost; needed for a limit in money.

    Attributes:
        spent: By all calls that were answered.
        reserved: By those under way, as was thought when they began.
    """

    def __init__(self, tokens: int | None = None, money: float | None = None, price: Price | None = None) -> None:
        self.spent = Cost()
        self.reserved = Cost()
        self._tokens, self._money, self._price = tokens, money, price

    def room(self, cost: Cost) -> Room:
        """Return whether a call that may cost so much fits."""
        if self._fits(self.spent + self.reserved + cost):
            return Room.YES
        return Room.WAIT if self.reserved.tokens else Room.NO

    def begin(self, cost: Cost) -> None:
        """Reserve what a call may cost."""
        self.reserved += cost

    def end(self, cost: Cost, spent: Cost) -> None:
        """Turn a call's reservation into what it did cost."""
        self.reserved -= cost
        self.spent += spent

    def __str__(self) -> str:
        parts = []
        if self._tokens is not None:
            parts.append(f"{self.spent.tokens:,} of {self._tokens:,} tokens")
        if self._money is not None and self._price is not None:
            money = self._price.of(self.spent.prompt, self.spent.completion)
            parts.append(f"{money:.4f} of {self._money:g} {self._price.currency}")
        return " and ".join(parts) + " are spent"

    def _fits(self, cost: Cost) -> bool:
        if self._tokens is not None and cost.tokens > self._tokens:
            return False
        if self._money is None or self._price is None:
            return True
        return self._price.of(cost.prompt, cost.completion) <= self._money
