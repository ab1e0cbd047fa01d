"""What planned runs ask of each model, and what that costs at most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.contracts.specs import RunSpec
from harness.costs.prices import Price, PriceTable
from harness.runs.plan import Size


@dataclass(frozen=True, slots=True)
class ModelTotal:
    """All planned runs of one model together."""

    label: str
    """The model's display name, else its label."""
    runs: int
    """Number of its runs."""
    size: Size
    """Their requests and tokens."""
    price: Price | None
    """The price of its tokens; None if it is not known."""

    @property
    def cost(self) -> float | None:
        """The price of all tokens, generated ones at their maximum; None if the price is not known."""
        if self.price is None:
            return None
        return self.price.of(round(self.size.prompt_tokens), round(self.size.max_completion_tokens))


def model_totals(sized: Iterable[tuple[RunSpec, Size]], prices: PriceTable | None) -> list[ModelTotal]:
    """Return the totals of each model, in the order of the runs.

    Args:
        sized: Runs with their sizes.
        prices: Prices of tokens; None for none.
    """
    totals: dict[str, ModelTotal] = {}
    for spec, size in sized:
        label = spec.model_label
        known = totals.get(label)
        if known is None:
            totals[label] = ModelTotal(label, 1, size, _price(spec, prices))
        else:
            totals[label] = ModelTotal(label, known.runs + 1, known.size + size, known.price)
    return list(totals.values())


def _price(spec: RunSpec, prices: PriceTable | None) -> Price | None:
    price = None if prices is None else prices.price(spec.model.name)
    return price.of_batches() if price is not None and spec.configured_model.arguments.get("batch") is True else price
