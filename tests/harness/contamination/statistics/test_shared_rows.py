"""Rows that data sets have in common: found in every format, in subsets, and only where they are in the same order.

| data sets | share an order |
|---|---|
| the same rows as JSON Lines, text, CSV, with other keys or labels | yes |
| 50 rows of 10,000 | yes |
| a fifth of the smaller one's rows | yes |
| fewer, or two rows | no |
| the same rows shuffled | no |
| other rows | no |
"""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.statistics.shared_rows import (
    MOST_DIGESTS,
    digest_places,
    option_digests,
    row_digests,
    share_options,
    share_rows,
)

_WORDS = [f"{first}{last}" for first in ("ba", "ko", "li", "mun", "ter") for last in ("dal", "fo", "gen", "pi", "ros")]


def questions(start: int, stop: int) -> list[dict[str, str]]:
    """Return different records in a fixed order."""
    found = []
    for number in range(start, stop):
        rng = Random(number)
        question, answer = (" ".join(rng.choices(_WORDS, k=length)) for length in (14, 8))
        found.append({"question": f"{question.capitalize()}?", "answer": f"{answer},\n{rng.choice(_WORDS)}."})
    return found


def lines(start: int, stop: int) -> list[str]:
    return [json.dumps(record) for record in questions(start, stop)]


FORMATS = {
    "text": lambda record: f"{record['question']} {record['answer']}".replace("\n", " "),
    "capitals": lambda record: f"{record['question']}  {record['answer']}".upper(),
    "CSV": lambda record: '"{question}","{answer}"'.format(**record),
    "labels": lambda record: "Question: {question}\nAnswer: {answer}\n".format(**record),
    "other keys": lambda record: json.dumps({"id": 7, "q": record["question"], "a": [record["answer"]]}),
    "a key less": lambda record: record["question"],
    "keys in another order": lambda record: json.dumps(dict(reversed(record.items()))),
    "escapes": lambda record: json.dumps(record).replace("b", "\\u0062"),
}


@pytest.mark.parametrize("written", FORMATS.values(), ids=FORMATS)
def test_the_format_of_a_file_does_not_matter(written: object) -> None:
    assert callable(written)
    assert share_rows(row_digests(lines(0, 60)), row_digests([written(record) for record in questions(0, 60)]))


@pytest.mark.parametrize("start", range(0, 10_000, 1_250))
def test_a_few_of_many_rows_are_found_in_a_small_record(start: int, many: str) -> None:
    assert len(digest_places(many)) == MOST_DIGESTS
    assert len(many) < 22_000
    assert share_rows(row_digests(lines(start, start + 50)), many)
    assert not share_rows(row_digests(lines(20_000 + start, 20_050 + start)), many)


@pytest.fixture(scope="module")
def many() -> str:
    return row_digests(lines(0, 10_000))


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (range(100), range(80, 180), True),
        (range(100), range(85, 185), False),
        (range(1000), range(990, 1040), True),  # of the smaller set
        (range(1000), range(991, 1041), False),
        (range(7), range(4, 11), True),
        (range(7), range(5, 12), False),  # two rows
        (range(100), range(100, 200), False),
        (range(100), sorted(range(100), key=lambda number: Random(number).random()), False),
        (range(100), range(99, -1, -1), False),
        ([*range(50), *range(50)], range(50), True),
    ],
)
def test_how_many_rows_in_which_order(one: list[int], other: list[int], shared: bool) -> None:
    rows = lines(0, 1041)
    assert share_rows(*(row_digests([rows[number] for number in each]) for each in (one, other))) is shared


def test_a_common_instruction_is_not_a_common_row() -> None:
    instruction = "Answer the following question about the passage with one word, and explain your answer in detail. "
    one, other = (
        [f"{instruction * 3}{row}" for row in map(FORMATS["text"], questions(*each))] for each in ((0, 60), (60, 120))
    )
    assert not share_rows(row_digests(one), row_digests(other))
    assert share_rows(row_digests(one), row_digests(one[10:40]))


@pytest.mark.parametrize(
    "rows", [["好的", "不好", "也许"], ["+ -", "* /", "= ="], ["1", "2", "3"], ["[" * 9000] * 3 + ["]", ")"]]
)
def test_rows_without_runs_of_words_have_digests(rows: list[str]) -> None:
    assert len(digest_places(row_digests(rows))) == 3


def test_rows_without_any_text_share_nothing() -> None:
    assert row_digests(["", " ", "{}"]) == ""
    assert not share_rows("", "")


@given(st.lists(st.text(max_size=30), max_size=12))
def test_a_data_set_of_three_rows_shares_its_own(rows: list[str]) -> None:
    digests = row_digests(rows)
    assert share_rows(digests, digests) is (len(digest_places(digests)) >= 3)


@given(st.permutations(range(12)), st.integers(0, 9))
def test_sharing_is_symmetric(order: list[int], start: int) -> None:
    rows = [f"row {number}" for number in range(12)]
    ours, theirs = row_digests(rows[start:]), row_digests([rows[number] for number in order])
    assert share_rows(ours, theirs) is share_rows(theirs, ours)


@pytest.mark.parametrize("wrong", ["x", "é", "AAAA"])
def test_other_texts_are_not_digests(wrong: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        digest_places(wrong)


def options(start: int, stop: int) -> list[list[str]]:
    return [
        [record["question"], record["answer"], f"{number}", "none"]
        for number, record in enumerate(questions(start, stop))
    ]


def test_questions_are_the_same_if_their_options_are_in_the_same_order() -> None:
    ours = option_digests(options(0, 60))
    assert len(digest_places(ours)) == 60
    assert share_options(ours, option_digests(options(0, 60)[::-1]))
    assert share_options(ours, option_digests([[text.upper() for text in one] for one in options(0, 60)[:12]]))
    assert not share_options(ours, option_digests([one[::-1] for one in options(0, 60)]))
    assert not share_options(ours, option_digests(options(60, 120)))
    assert not share_options(ours, option_digests([*options(0, 2), *options(60, 66)]))


def test_options_that_many_questions_have_are_no_common_questions() -> None:
    yes_or_no = option_digests([["yes", "no"], ["no", "yes"]] * 30)
    assert yes_or_no == ""
    assert not share_options(yes_or_no, yes_or_no)
