"""Every metric is found, described and fast."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from harness import Example
from harness.plugins import Kind
from harness.registry import Registry, default_registry
from harness.scoring import Scorer
from harness.specs import Component

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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "microseconds"), [("exact_match", 50), ("f1_score", 50), ("rouge_l", 1200), ("rouge_2", 1200)]
)
def test_speed(registry: Registry, answered: Build, name: str, microseconds: float) -> None:
    rng = random.Random(0)
    vocabulary = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 9))) for _ in range(3000)]
    texts = [" ".join(rng.choices(vocabulary, k=20)) for _ in range(4000)]
    examples = [answered(f"{text[:60]} and so on", text, id=f"id{index}") for index, text in enumerate(texts)]
    scorer = Scorer([(Component(name=name), registry.get(Kind.METRIC, name))])
    scorer.add(answered("warm up", "warm up"))
    start = time.process_time()
    for example in examples:
        scorer.add(example)
    assert (time.process_time() - start) / len(examples) < microseconds * 1e-6
