"""Every metric is found, described and fast."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness import Example
from harness.contracts.plugins import Kind
from harness.plugins.registry import Registry, default_registry

Build = Callable[..., Example]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry()


def test_the_sets_hold_metrics_that_exist(registry: Registry) -> None:
    assert registry.expand(Kind.METRIC, "accuracy") == [
        "exact_match",
        "quasi_exact_match",
        "prefix_exact_match",
        "quasi_prefix_exact_match",
    ]
    for name in ("open_ended", "language_modeling"):
        assert all(registry.get(Kind.METRIC, member).target for member in registry.expand(Kind.METRIC, name))


def test_every_metric_says_its_range_direction_and_source(registry: Registry) -> None:
    for name in registry.names(Kind.METRIC):
        plugin = registry.get(Kind.METRIC, name)
        if plugin.target is None or not plugin.origin.startswith("metrics."):
            continue
        assert "etter" in plugin.doc, f"{name} does not say which way is better"
        assert any(char.isdigit() for char in plugin.source), f"{name} gives no dated source"
