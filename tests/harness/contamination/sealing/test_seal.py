"""Sealing: what is published holds every row once, and the key says what was drawn."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.sealing.key import DyeQuestion, SealedChoice
from harness.contamination.sealing.seal import (
    CANARY_COLUMN,
    CANARY_WORDS,
    DyeColumns,
    Sealed,
    SealSettings,
    canary_words,
    seal,
)
from harness.errors import DataError

COLUMNS = DyeColumns("q", "options", "answer")


def rows(number: int) -> list[dict[str, Any]]:
    return [
        {"id": place, "q": f"Is {place} even?", "options": [f"yes {place}", f"no {place}"], "answer": place % 2}
        for place in range(number)
    ]


def sealed(
    records: list[dict[str, Any]],
    settings: SealSettings,
    seed: int = 0,
    twins: list[list[dict[str, Any]]] | None = None,
) -> Sealed:
    others = [[] for _ in records] if twins is None else twins
    names = {"source": "a.jsonl", "source_sha256": "0", "published": "b.jsonl"}
    return seal(records, others, settings, Random(seed), **names)


@given(st.integers(2, 30), st.integers(0, 2**32 - 1), st.booleans())
def test_every_row_is_published_once(number: int, seed: int, shuffle: bool) -> None:
    made = sealed(
        rows(number), SealSettings(shuffle, canaries=number // 2, alternatives=4, dye=3, dye_columns=COLUMNS), seed
    )
    published = [json.loads(line) for line in made.lines]
    dyed = {item.row for item in made.key.items if item.kind == "dye"}
    plain = [row for place, row in enumerate(published, 1) if place not in dyed]
    for row in plain:
        row.pop(CANARY_COLUMN, None)
    assert sorted(row["id"] for row in plain) == list(range(number))
    assert all(row == rows(number)[row["id"]] for row in plain)
    if not shuffle:
        assert [row["id"] for row in plain] == list(range(number))
    assert len({row["id"] for row in published}) == len(published) == number + 3
    assert made.key.header.rows == number + 3
    assert made.key.header.published_sha256 == hashlib.sha256(made.content).hexdigest()


@given(st.integers(0, 2**32 - 1))
def test_the_published_line_is_prefix_and_published_text(seed: int) -> None:
    records = rows(8)
    twins = [[{**row, "q": f"Is the number {row['id']} even?"}] if row["id"] % 2 else [] for row in records]
    settings = SealSettings(canaries=4, alternatives=6, dye=2, dye_columns=COLUMNS)
    made = sealed(records, settings, seed, twins)
    kinds = Counter(item.kind for item in made.key.items)
    assert kinds == {"twin": 4, "canary": 4, "dye": 2}
    for item in made.key.items:
        line = made.lines[item.row - 1]
        if isinstance(item, SealedChoice):
            assert item.prefix + item.texts[item.published] == line
            assert len(set(item.texts)) == len(item.texts) == {"twin": 2, "canary": 7}[item.kind]
            assert all(json.loads(item.prefix + text) for text in item.texts)
        else:
            record = json.loads(line)
            assert (record["q"], tuple(record["options"])) == (item.question, item.options)
            assert record["answer"] == item.target


def test_the_coins_are_fair() -> None:
    records = rows(2)
    twins = [[{**row, "q": "another"}] for row in records]
    chosen = Counter(
        item.published
        for seed in range(500)
        for item in sealed(records, SealSettings(), seed, twins).key.items
        if isinstance(item, SealedChoice)
    )
    assert 420 <= chosen[0] <= 580
    targets = Counter(
        item.target
        for seed in range(500)
        for item in sealed(records, SealSettings(dye=1, dye_columns=COLUMNS), seed).key.items
        if isinstance(item, DyeQuestion)
    )
    assert 200 <= targets[0] <= 300


def test_canaries_are_words_of_the_list() -> None:
    words = canary_words()
    assert len(words) == len(set(words)) == 256
    [item] = sealed(rows(3), SealSettings(canaries=1, alternatives=99)).key.items
    assert isinstance(item, SealedChoice)
    assert len(item.texts) == 100
    canary = json.loads(item.prefix + item.texts[0])[CANARY_COLUMN].split()
    assert len(canary) == CANARY_WORDS
    assert set(canary) <= set(words)


@pytest.mark.parametrize(
    ("answers", "form"),
    [([0, 1, 0], "index"), (["A", "B", "A"], "letter"), (["yes 0", "no 1", "yes 2"], "text")],
)
def test_dye_has_the_data_sets_form_of_answers(answers: list[Any], form: str) -> None:
    records = [{**row, "answer": answer} for row, answer in zip(rows(3), answers, strict=True)]
    made = sealed(records, SealSettings(dye=1, dye_columns=COLUMNS))
    [item] = made.key.items
    assert isinstance(item, DyeQuestion)
    expected = {"index": item.target, "letter": "AB"[item.target], "text": item.options[item.target]}[form]
    assert json.loads(made.lines[item.row - 1])["answer"] == expected


@pytest.mark.parametrize(
    ("settings", "records", "message"),
    [
        (SealSettings(canaries=4), rows(3), "canaries is 4, but there are 3 rows"),
        (SealSettings(canaries=1), [{"canary": "x"}], "already have a column 'canary'"),
        (SealSettings(dye=1), rows(3), "names of the columns"),
        (SealSettings(dye=1, dye_columns=DyeColumns("question", "options", "answer")), rows(3), "no column 'question'"),
        (SealSettings(dye=1, dye_columns=DyeColumns("q", "id", "answer")), rows(3), "not a list"),
        (SealSettings(dye=1, dye_columns=DyeColumns("q", "options", "id")), rows(3), "row 3: 'id' is 2"),
    ],
)
def test_mistakes(settings: SealSettings, records: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        sealed(records, settings)
