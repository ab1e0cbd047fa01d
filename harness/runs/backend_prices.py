"""Prices that backends know of models for which the price tables have none."""

from __future__ import annotations

from collections.abc import Iterable

from harness.contracts.plugins import BackendDetails, Kind
from harness.costs.prices import Price, PriceTable
from harness.errors import HarnessError
from harness.plugins.registry import Registry


def with_backend_prices(table: PriceTable, models: Iterable[str], registry: Registry) -> PriceTable:
    """Return a price table that also has what backends know of models.

    Args:
        table: The prices that take precedence.
        models: The models' names, ``backend:identifier``.
        registry: Knows the backends.
    """
    found: dict[str, Price] = {}
    for name in dict.fromkeys(models):
        if table.price(name) is not None:
            continue
        backend, _, identifier = name.partition(":")
        try:
            details = registry.get(Kind.BACKEND, backend).details
        except HarnessError:  # reported where the model is opened
            continue
        price = details.price(identifier) if isinstance(details, BackendDetails) and details.price else None
        if isinstance(price, Price):
            found[name] = price
    return table.and_then(found)
