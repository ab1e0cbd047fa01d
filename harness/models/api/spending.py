"""A budget in tokens or money, and how much of it is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.backends import Ledger, Price, most_tokens


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of prompt and completion that a call takes, or may take at most."""

    prompt: int = 0
    completion: int = 0

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.prompt + other.prompt, self.completion + other.completion)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.prompt - other.prompt, self.completion - other.completion)

    def __mul__(self, times: int) -> Cost:
        return Cost(self.prompt * times, self.completion * times)

    def scaled(self, prompt: float) -> Cost:
        """Return the cost with its prompt times a factor."""
        return Cost(math.ceil(self.prompt * prompt), self.completion)


_Tokens = Annotated[int, Field(ge=0)]


class _Usage(BaseModel):
    """Tokens under the names of OpenAI's and Anthropic's API."""

    model_config = ConfigDict(strict=True)

    prompt_tokens: _Tokens | None = None
    completion_tokens: _Tokens | None = None
    input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None
    cache_creation_input_tokens: _Tokens | None = None
    cache_read_input_tokens: _Tokens | None = None


class _Billed(BaseModel):
    usage: Any = None


@dataclass(frozen=True, slots=True)
class Bill:
    """The usage in an answer, read before the answer itself."""

    cost: Cost
    """Tokens to charge: the server's count if it is plausible, else the expected cost."""
    known: bool = False
    """True if the server counted."""
    problem: str | None = None
    """Why the server's count is not plausible; None if it is, or if there is none."""


def read_bill(body: bytes, expected: Cost) -> Bill:
    """Return the charge for an answer with status 200, usable or not."""
    try:
        usage = _Billed.model_validate_json(body).usage
        counted = None if usage is None else _Usage.model_validate(usage)
    except ValidationError:
        return Bill(expected)
    if counted is None:
        return Bill(expected)
    prompt = counted.prompt_tokens if counted.input_tokens is None else counted.input_tokens
    completion = counted.completion_tokens if counted.output_tokens is None else counted.output_tokens
    if prompt is None:
        return Bill(expected)
    prompt += (counted.cache_creation_input_tokens or 0) + (counted.cache_read_input_tokens or 0)
    # An estimated token is four characters, each of at most four bytes.
    most = Cost(*most_tokens(16 * expected.prompt, expected.completion))
    for what, given, limit in (("prompt", prompt, most.prompt), ("completion", completion or 0, most.completion)):
        if given > limit:
            shown = f"{given:,}" if given < 10**15 else f"about 2 to the power of {given.bit_length()}"
            problem = f"its usage says {shown} tokens of {what}; at most {limit:,} are plausible for this request"
            return Bill(expected, problem=problem)
    return Bill(Cost(prompt, completion or 0), known=True)


class Room(Enum):
    """When the budget allows a call: now, after others have ended, or never."""

    YES = auto()
    WAIT = auto()
    NO = auto()


class Spending:
    """What a model's calls have spent, and what the calls under way may still spend.

    With a budget, calls go out one at a time at first: the number under way is at most one more than the number of
    calls whose size is known. Each counts as its estimate plus the largest excess over an estimate so far; if nothing
    else is under way, as its estimate alone. So the budget is exceeded by at most what one call takes beyond its
    estimate.

    Args:
        account: The account in the ledger.
        tokens: Most tokens, of prompts and completions together; None for no limit.
        money: Most money, in the price's currency; None for no limit.
        price: The price of tokens; needed for a limit in money.

    Attributes:
        reserved: The estimated cost of the calls under way in this process.
    """

    def __init__(
        self,
        tokens: int | None = None,
        money: float | None = None,
        price: Price | None = None,
        *,
        account: str = "",
    ) -> None:
        self.reserved = Cost()
        self._total = Cost()
        self._account = account
        if price is not None and (price.reasoning or 0.0) > price.completion:
            price = replace(price, completion=price.reasoning or 0.0)  # tokens of reasoning are not counted apart here
        self._tokens, self._money, self._price = tokens, money, price
        self._excess = Cost()
        self._under_way = 0
        self._known = 0
        self._ledger: Ledger = _Memory()
        self._loaded = False

    @property
    def spent(self) -> Cost:
        """The cost of all ended calls, also of earlier processes, and of calls under way in other processes."""
        return self._total - self.reserved

    def keep(self, ledger: Ledger) -> None:
        """Continue from a ledger's totals, and record in it what is spent from now on."""
        self._ledger, self._loaded = ledger, False

    def room(self, cost: Cost) -> Room:
        """Return whether the budget has room for a call of an expected cost."""
        if (self._tokens is None and self._money is None) or not cost.tokens:
            return Room.YES
        self._load()
        if not self._under_way:
            return Room.YES if self._fits(self.spent + cost) else Room.NO
        ahead = self.reserved + cost + self._excess * (self._under_way + 1)
        return Room.YES if self._under_way <= self._known and self._fits(self.spent + ahead) else Room.WAIT

    def begin(self, cost: Cost) -> None:
        """Reserve the expected cost of a call, in the ledger too, so that it counts even if this process is killed."""
        if cost.tokens:
            self._under_way += 1
            self.reserved += cost
            self._charge(cost)

    def end(self, cost: Cost, spent: Cost, *, known: bool = True) -> None:
        """Replace a call's reservation by its cost.

        Args:
            cost: The reservation.
            spent: The cost.
            known: True if the call was answered, so that its size is known.
        """
        if cost.tokens:
            self._under_way -= 1
            self.reserved -= cost
            self._known += known
        over = spent - cost
        self._excess = Cost(max(self._excess.prompt, over.prompt), max(self._excess.completion, over.completion))
        if over != Cost():
            self._charge(over)

    def fits(self, cost: Cost) -> bool:
        """Return whether the budget allows that cost in addition to all that is spent or reserved."""
        self._load()
        return self._fits(self._total + cost)

    def charge(self, cost: Cost) -> None:
        """Count a cost, or take a part of one back, for requests that outlive this process."""
        if cost != Cost():
            self._charge(cost)

    def close(self) -> None:
        """Close the ledger, in the thread that used it."""
        self._ledger.close()

    def _charge(self, cost: Cost) -> None:
        """Add to the ledger's total, which includes the reservations of calls under way."""
        self._total = Cost(*self._ledger.add(self._account, cost.prompt, cost.completion))
        self._loaded = True

    def _load(self) -> None:
        if not self._loaded:
            self._charge(Cost())

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


class _Memory:
    """A ledger that is not kept after the process."""

    def __init__(self) -> None:
        self._total = Cost()

    def add(self, account: str, prompt: int, completion: int) -> tuple[int, int]:
        self._total += Cost(prompt, completion)
        return self._total.prompt, self._total.completion

    def close(self) -> None:
        """Nothing is open."""
