"""Cosines of weighted word frequencies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from harness.contamination.statistics.tfidf import similarity_rows, tfidf


def _similarities(texts: list[str]) -> Any:
    return np.concatenate([rows for _, rows in similarity_rows(tfidf(texts))])


def test_by_hand() -> None:
    # Of 3 texts, "a" is in two: weight log(4/3); "b", "c", "d" in one each: log 2. Counts enter as log(1 + count).
    rare, shared = math.log(2), math.log(4 / 3)
    first = np.array([shared * math.log(2), rare * math.log(3)])  # a b b
    second = np.array([shared * math.log(2), rare * math.log(2)])  # A, c!
    expected = first[0] * second[0] / np.linalg.norm(first) / np.linalg.norm(second)
    found = _similarities(["a b b", "A, c!", "d"])
    assert found[0, 1] == pytest.approx(expected, rel=1e-6)
    assert np.diag(found) == pytest.approx([1, 1, 1])
    assert found[0, 2] == found[1, 2] == 0.0


def test_words_of_every_text_say_nothing() -> None:
    assert _similarities(["the cat", "the dog", "the end"]) == pytest.approx(np.eye(3))
    assert _similarities(["same", "same"]) == pytest.approx(np.zeros((2, 2)))
    assert _similarities(["", "!"]) == pytest.approx(np.zeros((2, 2)))


def test_words_of_more_than_500_texts_are_left_out() -> None:
    texts = [f"common word{place}" for place in range(501)] + [f"other{place}" for place in range(200)]
    assert tfidf(texts)[:501].getnnz(axis=1).tolist() == [1] * 501
    texts = texts[1:]
    assert tfidf(texts)[:500].getnnz(axis=1).tolist() == [2] * 500


def test_slices_are_the_whole() -> None:
    texts = [f"w{place % 7} v{place % 11} u{place}" for place in range(600)]
    matrix = tfidf(texts)
    starts = [start for start, _ in similarity_rows(matrix)]
    assert starts == [0, 256, 512]
    np.testing.assert_allclose(_similarities(texts), (matrix @ matrix.T).toarray(), atol=1e-6)
