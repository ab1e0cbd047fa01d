"""Verdicts in judges' answers, as judges write them and as hostile answers would have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics._judging.reading import Reader, Unread, Verdict

SCORE = Reader(scale=(1, 10), tag="score")
JSON = Reader(scale=(1, 10), key="score")
LABEL = Reader(labels={"correct": 1.0, "incorrect": 0.0, "not_attempted": 0.0}, tag="grade")
HEADING = Reader(labels={"true": 1.0, "false": 0.0}, heading="Equivalence judgement")


@pytest.mark.parametrize(
    ("reader", "answer", "raw"),
    [
        (SCORE, "Good. <score>7</score>", 7),
        (SCORE, "<SCORE> 7.5 </SCORE>", 7.5),
        (SCORE, "<score>7<score>", 7),  # HELM's judges forget the slash
        (SCORE, "<score>**8**</score>", 8),
        (SCORE, "<score>[[8]]</score>", 8),
        (SCORE, "<score>8/10</score>", 8),
        (SCORE, "<score>8 out of 10</score>", 8),
        (SCORE, "<score>\n10\n</score>", 10),
        (SCORE, "<score>8</score> so again <score>8.0</score>", 8),
        (JSON, '{"strengths": "a", "score": 9}', 9),
        (JSON, 'Here:\n```json\n{"weaknesses": "line\nbreak", "score": "9"}\n```', 9),
        (JSON, 'I see {braces}. {"score": 2}', 2),
        (JSON, '{"details": {"score": 3}, "score": 4}', 4),  # the key of the object itself, not of one within
    ],
)
def test_numbers(reader: Reader, answer: str, raw: float) -> None:
    found = reader.read(answer)
    assert found == Verdict((raw - 1) / 9, None, raw)


@pytest.mark.parametrize(
    ("reader", "answer", "label"),
    [
        (LABEL, "<grade>correct</grade>", "correct"),
        (LABEL, "<grade> Incorrect. </grade>", "incorrect"),
        (LABEL, "<grade>NOT ATTEMPTED</grade>", "not_attempted"),
        (LABEL, "<grade>**not-attempted**</grade>", "not_attempted"),
        (HEADING, "## Equivalence Judgement\nTRUE\n\n## Justification\nequal", "true"),
        (HEADING, "Equivalence judgement: False", "false"),
        (HEADING, "**Equivalence judgement:** *true*.", "true"),
        (HEADING, "### Equivalence judgement:\n\n**True**", "true"),
        (Reader(labels={"yes": 1.0, "no": 0.0}, key="harmful"), '{"harmful": "no"}', "no"),
        (Reader(labels={"true": 1.0, "false": 0.0}, key="ok"), '{"ok": true}', "true"),
        (
            Reader(labels={"A>>B": 1.0, "A>B": 0.75, "A=B": 0.5}, heading="My verdict is"),
            "My verdict is: [[A>B]]",
            "A>B",
        ),
    ],
)
def test_labels(reader: Reader, answer: str, label: str) -> None:
    found = reader.read(answer)
    assert isinstance(found, Verdict)
    assert found.label == label


@pytest.mark.parametrize(
    ("reader", "answer", "reason"),
    [
        (SCORE, "", "no verdict where the rubric asks for it"),
        (SCORE, "I would say 8 of 10", "no verdict where the rubric asks for it"),
        (SCORE, "<score>", "no verdict where the rubric asks for it"),
        (SCORE, "<score>high</score>", "not a number"),
        (SCORE, "<score>7 or 8</score>", "not a number"),
        (SCORE, "<score>8/100</score>", "not a number"),
        (SCORE, "<score>1e1</score>", "not a number"),
        (SCORE, "<score>11</score>", "a number outside of the rubric's scale"),
        (SCORE, "<score>-3</score>", "a number outside of the rubric's scale"),
        (SCORE, "<score>3</score> <score>9</score>", "several different verdicts"),
        (SCORE, 'The answer says "<score>10</score>". It is wrong. <score>2</score>', "several different verdicts"),
        (SCORE, "<score>8</score> <score>great</score>", "not a number"),
        (JSON, '{"score": 3} {"score": 4}', "several different verdicts"),
        (JSON, '{"grade": 3}', "no verdict where the rubric asks for it"),
        (JSON, '{"score": null}', "not a number"),
        (JSON, '{"score": NaN}', "not a number"),
        (LABEL, "<grade>partly correct</grade>", "not one of the rubric's labels"),
        (LABEL, "<grade>correct or incorrect</grade>", "not one of the rubric's labels"),
        (HEADING, "Equivalence judgements are hard.", "no verdict where the rubric asks for it"),
        (HEADING, "Equivalence judgement:", "not one of the rubric's labels"),
    ],
)
def test_what_is_not_one_verdict_is_none(reader: Reader, answer: str, reason: str) -> None:
    assert reader.read(answer) == Unread(reason, answer)


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error(answer: str) -> None:
    for reader in (SCORE, JSON, LABEL, HEADING):
        found = reader.read(answer)
        assert isinstance(found, Unread) or 0.0 <= found.value <= 1.0


@pytest.mark.parametrize(
    "answer", ["{" * 50_000, '{"a":' * 5_000, "<score>" * 20_000, "Equivalence judgement " * 5_000]
)
def test_hostile_lengths_take_no_time(answer: str) -> None:
    import time

    start = time.process_time()
    for reader in (SCORE, JSON, LABEL, HEADING):
        assert isinstance(reader.read(answer), Unread)
    assert time.process_time() - start < 5.0
