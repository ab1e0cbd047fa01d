"""Membership scores, their threshold and their area under the curve."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.statistics.baselines import (
    auroc,
    mean_logprob,
    min_k,
    min_k_plus_plus,
    share_flagged,
    threshold,
    zlib_ratio,
)

LOGPROBS = [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, -9.0, -10.0]


def test_by_hand() -> None:
    assert mean_logprob(LOGPROBS) == -5.5
    assert min_k(LOGPROBS) == -9.5
    assert min_k(LOGPROBS, k=0.35) == -9.0  # 3.5 tokens are 3
    assert min_k([-1.0, -2.0]) == -2.0  # at least one
    assert min_k(LOGPROBS, k=1.0) == -5.5
    assert zlib_ratio(LOGPROBS, "text") == -55.0 / len(zlib.compress(b"text"))


def test_min_k_plus_plus_standardizes_each_token() -> None:
    moments = [(-3.0, 1.0), (-1.0, 0.5), (-2.0, 2.0)]
    # (-1 + 3)/1 = 2, (-2 + 1)/0.5 = -2, (-3 + 2)/2 = -0.5
    assert min_k_plus_plus([-1.0, -2.0, -3.0], moments, k=0.34) == -2.0
    assert min_k_plus_plus([-1.0, -2.0, -3.0], moments, k=0.7) == pytest.approx(-1.25)
    assert min_k_plus_plus([-2.0], [(-2.0, 0.0)]) == 0.0  # all tokens alike: no spread
    with pytest.raises(ValueError, match=r"shorter|longer"):
        min_k_plus_plus([-1.0, -2.0], [(-3.0, 1.0)])


@given(st.lists(st.integers(0, 50), min_size=20, max_size=200), st.sampled_from([0.05, 0.1, 0.3]))
def test_a_threshold_keeps_its_rate(clean: list[int], rate: float) -> None:
    scores = [float(score) for score in clean]
    above = threshold(scores, rate)
    assert share_flagged(scores, above) <= rate
    lower = max((score for score in scores if score < above), default=None)
    if lower is not None:
        assert share_flagged(scores, lower) > rate  # and no lower score would


def test_too_few_for_a_threshold() -> None:
    with pytest.raises(ValueError, match=r"19 clean scores .* 20 are needed"):
        threshold([0.0] * 19)
    with pytest.raises(ValueError, match="between 0 and 1"):
        threshold([0.0] * 100, rate=1.0)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=15), st.lists(st.integers(0, 9), min_size=1, max_size=15))
def test_auroc_is_the_share_of_pairs(members: list[int], others: list[int]) -> None:
    pairs = [(one > other) + (one == other) / 2 for one in members for other in others]
    assert auroc(members, others) == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize(
    "score", [mean_logprob, min_k, lambda values: zlib_ratio(values, "x"), lambda v: share_flagged(v, 0)]
)
def test_nothing_to_score(score: object) -> None:
    assert callable(score)
    with pytest.raises(ValueError, match="no value"):
        score([])


@pytest.mark.parametrize("k", [0.0, -0.2, 1.1])
def test_what_is_no_share(k: float) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        min_k(LOGPROBS, k=k)
