"""The prices of a model's tokens, from a YAML table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from glob import escape
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from harness.yaml_lines import load_as

BUILT_IN = Path(__file__).with_name("prices.yaml")


@dataclass(frozen=True, slots=True)
class Price:
    """The price of tokens."""

    currency: str
    """ISO 4217, for example ``USD``."""
    prompt: float
    """For a million tokens of prompt."""
    completion: float
    """For a million tokens generated or scored."""
    reasoning: float | None = None
    """For a million tokens of reasoning; None for the price of other generated tokens."""
    batch: float = 1.0
    """Share of these prices that requests in batches cost: 0.5 for half price."""

    def of_batches(self) -> Price:
        """Return the price of tokens of requests in batches."""
        reasoning = None if self.reasoning is None else self.reasoning * self.batch
        return Price(self.currency, self.prompt * self.batch, self.completion * self.batch, reasoning)

    def of(self, prompt_tokens: int, completion_tokens: int, reasoning_tokens: int = 0) -> float:
        """Return the price of tokens of prompts, of answers and of reasoning, in units of the currency."""
        thinking = self.completion if self.reasoning is None else self.reasoning
        parts = ((prompt_tokens, self.prompt), (completion_tokens, self.completion), (reasoning_tokens, thinking))
        return sum(tokens * price for tokens, price in parts) / 1_000_000


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by pattern of the model's name; the first that matches counts."""

    prices: tuple[tuple[str, Price], ...]

    def and_then(self, others: Mapping[str, Price]) -> PriceTable:
        """Return the table with prices for models that it has none for, by the models' names in full."""
        known = {escape(name): price for name, price in others.items() if self.price(name) is None}
        return PriceTable((*self.prices, *known.items()))

    def price(self, model: str) -> Price | None:
        """Return the price of a model, ``backend:identifier``; None if the table has none."""
        return next((price for pattern, price in self.prices if fnmatchcase(model, pattern)), None)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    prompt: float = Field(ge=0.0, allow_inf_nan=False)
    completion: float = Field(ge=0.0, allow_inf_nan=False)
    reasoning: float | None = Field(None, ge=0.0, allow_inf_nan=False)
    batch: float | None = Field(None, ge=0.0, le=1.0)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    currency: str = Field(pattern="^[A-Z]{3}$")
    batch: float = Field(1.0, ge=0.0, le=1.0)
    models: dict[str, _Entry]


@cache
def load_prices(file: Path | None = None) -> PriceTable:
    """Return the table that comes with the harness, with a user's own before it.

    Raises:
        SpecError: The user's file has errors; all of them are reported.
    """
    tables = [load_as(path, _File) for path in (file, BUILT_IN) if path is not None]
    return PriceTable(
        tuple(
            (
                name,
                Price(
                    *(table.currency, entry.prompt, entry.completion, entry.reasoning),
                    table.batch if entry.batch is None else entry.batch,
                ),
            )
            for table in tables
            for name, entry in table.models.items()
        )
    )
