"""The order of a question's options against its other orders."""

from __future__ import annotations

import math
from itertools import product
from random import Random

import numpy as np
import pytest

from harness.contamination.statistics.option_order import option_order_test, option_orders


def test_all_orders_where_they_are_few() -> None:
    orders = option_orders(4, 24, Random(0))
    assert orders[0] == (0, 1, 2, 3)
    assert len(set(orders)) == 24


def test_a_sample_where_they_are_many() -> None:
    orders = option_orders(5, 10, Random(0))
    assert orders[0] == (0, 1, 2, 3, 4)
    assert len(set(orders)) == 10
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in orders)
    assert option_orders(5, 10, Random(0)) == orders != option_orders(5, 10, Random(1))


def test_every_question_is_a_uniform_choice() -> None:
    """Three questions with 2, 3 and 3 orders: p is the share of the 18 choices that do as well."""
    rng = np.random.default_rng(0)
    items = [rng.normal(size=size).tolist() for size in (2, 3, 3)]
    p_values = []
    for choice in product(range(2), range(3), range(3)):
        chosen = [[item[one], *item[:one], *item[one + 1 :]] for item, one in zip(items, choice, strict=True)]
        p_values.append(10 ** option_order_test(chosen).log10_p)
    for p in p_values:
        assert p == pytest.approx(sum(other <= p + 1e-9 for other in p_values) / 18)


def test_a_model_that_learnt_the_published_orders() -> None:
    rng = np.random.default_rng(1)
    items = rng.normal(size=(40, 24))
    items[:, 0] += 1.0
    found = option_order_test(items.tolist())
    assert found.items == 40
    assert found.log10_p < -5
    assert found.log10_p <= found.log10_certified < 0
    assert found.mean_percentile > 0.65
    always = option_order_test([[1.0] + [0.0] * 23] * 40)
    assert always.log10_p == pytest.approx(-40 * math.log10(24))
    assert (always.top1_rate, always.mean_percentile) == (1.0, 1.0)


def test_orders_that_tie() -> None:
    found = option_order_test([[0.0, 0.0, -1.0, -1.0], [0.0, 0.0, 0.0, 0.0]])
    assert found.top1_rate == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert found.mean_percentile == pytest.approx(((2 + 1 / 2) / 3 + 1 / 2) / 2)
    assert found.log10_p == pytest.approx(math.log10(1 / 2))  # the second question cannot tell


def test_nothing_to_compare() -> None:
    with pytest.raises(ValueError, match="no question"):
        option_order_test([])
    with pytest.raises(ValueError, match="scores have the shape"):
        option_order_test([[1.0]])
    for options, most in ((1, 24), (4, 1)):
        with pytest.raises(ValueError, match="2 orders to compare"):
            option_orders(options, most, Random(0))
