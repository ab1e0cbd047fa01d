"""What counts as an example's own number, and what does not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.statistics.id_prefix import id_prefix, without_ids


@pytest.mark.parametrize(
    ("text", "leading"),
    [
        ("12. Who is it?", "12. "),
        ("12) Who is it?", "12) "),
        ("[12] Who is it?", "[12] "),
        ("(3): Who is it?", "(3): "),
        ("Question 5: Who is it?", "Question 5: "),
        ("Q12. Who is it?", "Q12. "),
        ("id 12 Who is it?", "id 12 "),
        ("#7: Who is it?", "#7: "),
        ("12\tWho is it?", "12\t"),
        ("12 | Who is it?", "12 | "),
        ("1984 was written by whom?", ""),
        ("3.5 million people live where?", ""),
        ("100 - 5 = ?", ""),
        ("In 1820, who was it?", ""),
        ("Question: In 1820, who was it?", ""),
        ("Who is number 5. in line?", ""),
        ("", ""),
        ('{"id": "a-1", "question": "x"}', '{"id": "a-1", '),
        ('{"idx":1,"label":0}', '{"idx":1,'),
        ('{"split": "x", "id": 3}', ""),
        ('{"valid": true, "x": 1}', ""),
        ('{"id": 3}', ""),  # nothing is left
        ('{"id": 3, "x": 1} and more', ""),  # no record
    ],
)
def test_what_stands_before_the_content(text: str, leading: str) -> None:
    assert id_prefix(text) == leading


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("12. Who is it?", "Who is it?"),
        ("1984 was written by whom?", "1984 was written by whom?"),
        ('{"id": "a-1", "question": "x", "n": 3}', '{"question": "x", "n": 3}'),
        ('{"question": "x", "pairID": "7n"}', '{"question": "x"}'),
        ('{"a": 1, "question_id": 7, "b": {"id": 5}}', '{"a": 1, "b": {"id": 5}}'),
        ('{"id":1,"a":2,"uid":"x","b":"{id: 1, \\" }"}', '{"a":2,"b":"{id: 1, \\" }"}'),
        ('{"id": 3}', '{"id": 3}'),
        ('{"broken": 12', '{"broken": 12'),
        ("{}", "{}"),
    ],
)
def test_what_is_left_without(text: str, stripped: str) -> None:
    assert without_ids(text) == stripped


RECORDS = st.dictionaries(
    st.text("abcd_iI", min_size=1, max_size=4) | st.just("id"), st.integers() | st.text(), min_size=1
)


@given(RECORDS, st.sampled_from([(", ", ": "), (",", ":")]))
def test_a_record_stays_a_record(record: dict[str, object], separators: tuple[str, str]) -> None:
    text = json.dumps(record, separators=separators)
    left = json.loads(without_ids(text))
    assert left.items() <= record.items()
    assert "id" not in left or left == {key: record[key] for key in record}
    if not any("i" in key.lower() for key in record):
        assert without_ids(text) == text


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    assert text.startswith(id_prefix(text))
    assert without_ids(text) in text or text.lstrip().startswith("{")
