"""Features of a text depend on that text alone, and are counted once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metrics.judges._embedded.hashed_ngrams import BITS, hashed_ngrams


def _features(texts: list[str]) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in texts]
    for owners, buckets in hashed_ngrams(texts):
        for owner, bucket in zip(owners.tolist(), buckets.tolist(), strict=True):
            assert 0 <= bucket < 1 << BITS
            assert bucket not in found[owner], "a bucket comes once for each text"
            found[owner].add(bucket)
    return found


@given(st.lists(st.text(max_size=40), max_size=8))
def test_neighbours_change_nothing(texts: list[str]) -> None:
    assert _features(texts) == [_features([text])[0] for text in texts]


def test_many_texts_are_taken_in_chunks() -> None:
    texts = [f"number {index} " + "and so on " * (index % 50) for index in range(3000)]
    assert len(list(hashed_ngrams(texts))) > 1
    found = _features(texts)
    assert found[0] == _features([texts[0]])[0]
    assert found[-1] == _features([texts[-1]])[0]


def test_case_and_white_space_do_not_count() -> None:
    first, second, third = _features(["Hello  World\n", " hello world", "hello worlds"])
    assert first == second != third


def test_how_many_features_there_are() -> None:
    # " ab " has 3 + 2 + 1 runs of 2, 3 and 4 bytes and one word; " a b " has 4 + 3 + 2 + 1, two words and one pair.
    assert [len(features) for features in _features(["ab", "a b", ""])] == [7, 13, 1]


def test_nothing() -> None:
    assert list(hashed_ngrams([])) == []
