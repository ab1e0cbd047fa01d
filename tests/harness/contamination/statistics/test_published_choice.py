"""Published texts against private ones: exact over the coins, whatever the texts are."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.statistics.published_choice import Choice, published_choice_test


def test_the_worked_example() -> None:
    found = published_choice_test([Choice((-20, -27), 0), Choice((-31, -33), 1), Choice((-18, -17), 1)])
    assert 10**found.log10_p == pytest.approx(2 / 8)
    assert (found.items, found.preferred_by_chance) == (3, 0.5)
    assert found.preferred == pytest.approx(2 / 3)


@given(st.integers(0, 2**32 - 1))
def test_p_is_the_share_of_the_coins_that_do_as_well(seed: int) -> None:
    """Four items with 2, 2, 3 and 3 texts: under the null the scores are fixed, and 36 draws are alike."""
    rng = np.random.default_rng(seed)
    scores = [tuple(rng.normal(size=size).tolist()) for size in (2, 2, 3, 3)]
    p_values = [
        10 ** published_choice_test([Choice(s, place) for s, place in zip(scores, places, strict=True)]).log10_p
        for places in product(range(2), range(2), range(3), range(3))
    ]
    for p in p_values:
        assert p == pytest.approx(sum(other <= p + 1e-9 for other in p_values) / 36)


def test_its_size_where_all_originals_are_likelier() -> None:
    rng = np.random.default_rng(0)
    texts = rng.normal(size=(60, 2)) - [0.0, 3.0]
    rejected = sum(
        published_choice_test([Choice(tuple(row), int(coin)) for row, coin in zip(texts, coins, strict=True)]).log10_p
        <= math.log10(0.05)
        for coins in rng.integers(0, 2, size=(1000, 60))
    )
    assert 0.032 <= rejected / 1000 <= 0.068


def test_a_model_that_learnt_the_published_texts_is_found_although_originals_are_likelier() -> None:
    rng = np.random.default_rng(1)
    coins = rng.integers(0, 2, size=200)
    texts = rng.normal(size=(200, 2)) - [0.0, 3.0]
    texts[np.arange(200), coins] += 0.5
    found = published_choice_test([Choice(tuple(row), int(coin)) for row, coin in zip(texts, coins, strict=True)])
    assert found.log10_p < -3
    assert found.log10_p <= found.log10_certified < 0
    assert found.preferred < 0.6  # which of the two is likelier hardly tells


def test_one_item_and_equal_texts() -> None:
    assert 10 ** published_choice_test([Choice((-1.0, -2.0, -3.0), 0)]).log10_p == pytest.approx(1 / 3)
    assert published_choice_test([Choice((-1.0, -1.0), 0)] * 9).log10_p == 0.0


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ([], "no item"),
        ([Choice((-1.0,), 0)], "needs 2 texts"),
        ([Choice((-1.0, -2.0), 2)], "needs 2 texts"),
        ([Choice((-1.0, math.nan), 0)], "not finite"),
    ],
)
def test_mistakes(choices: list[Choice], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        published_choice_test(choices)
