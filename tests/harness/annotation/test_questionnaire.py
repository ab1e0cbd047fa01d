"""Questionnaires: those that come with the harness, and every mistake with its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.annotation.questionnaire import Question, read_questionnaire, shipped_questionnaires
from harness.errors import SpecError


def test_the_shipped_questionnaires_can_be_read() -> None:
    assert list(shipped_questionnaires()) == [
        "disinformation_reiteration",
        "disinformation_wedging",
        "pairwise",
        "pairwise_strengths",
    ]
    for name in shipped_questionnaires():
        assert read_questionnaire(name).name == name


def test_helms_forms_have_its_ranges() -> None:
    # Liang et al. 2022: reiteration from 1 to 5, wedging from -1 to 1 but hostility from 0 to 2
    reiteration, wedging = map(read_questionnaire, ["disinformation_reiteration", "disinformation_wedging"])
    assert [(each.id, each.range.bounds) for each in reiteration.questions] == [("quality", (1, 5)), ("style", (1, 5))]
    assert [each.heading for each in wedging.questions] == ["Quality 1", "Quality 2", "Quality 3", "Style", "Hostility"]
    assert [each.range.bounds for each in wedging.questions] == [(-1, 1)] * 4 + [(0, 2)]
    assert all(each.numeric and each.agreement == "ordinal" for each in wedging.questions)


def test_every_mistake_is_reported_with_its_line(form_file: Callable[[str], Path]) -> None:
    path = form_file("""\
        name: Form
        title: A form
        questions:
        - id: a
          question: How?
          scale: {low: 5, high: 1}
        - id: b
          question: How?
          scael: {}
        - {id: c, question: How?, text: true, prefer: true}
        - {id: note, question: How?, text: true}
        - {id: d, question: How?, choices: [one]}
        - {id: e, question: How?, choices: [x, y], level: interval}
    """)
    with pytest.raises(SpecError) as raised:
        read_questionnaire(str(path))
    assert str(raised.value).replace(str(path), "form.yaml").splitlines() == [
        "form.yaml:1: name: must match pattern '^[a-z0-9][a-z0-9_-]*$', not 'Form'.",
        "form.yaml:6: questions[0].scale: low must be less than high, not 5 and 1.",
        "form.yaml:9: questions[1].scael: is not a key. Did you mean 'scale'?",
        "form.yaml:10: questions[2]: question 'c' needs exactly one of scale, choices, prefer and text.",
        "form.yaml:11: questions[3]: the id 'note' is reserved in files of ratings; choose another.",
        "form.yaml:12: questions[4]: question 'd' needs 2 to 11 different choices, not 1.",
        "form.yaml:13: questions[5]: level interval needs numbers, but the answers to 'e' are not numbers.",
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("- {id: a, question: How?, text: true}", "two questions have the id 'a'"),
        ("- {id: b, question: How?, prefer: true}", "question 'b' prefers one of two answers"),
    ],
)
def test_questions_fit_together(form_file: Callable[[str], Path], more: str, message: str) -> None:
    path = form_file(f"name: x\ntitle: X\nquestions:\n- {{id: a, question: How?, text: true}}\n{more}\n")
    with pytest.raises(SpecError, match=message):
        read_questionnaire(str(path))


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ("{input: x, answers: [y], expected: {quality: 9}}", "gold item 1 expects 9 of 'quality', which has 1, 2"),
        ("{input: x, answers: [y], expected: {qualty: 1}}", "'qualty'. Did you mean 'quality'"),
        ("{input: x, answers: [y, z], expected: {quality: 1}}", "gold item 1 has 2 answers"),
    ],
)
def test_gold_items_fit_the_questions(form_file: Callable[[str], Path], gold: str, message: str) -> None:
    path = form_file(
        f"name: x\ntitle: X\nquestions:\n- {{id: quality, question: How?, scale: {{}}}}\ngold:\n- {gold}\n"
    )
    with pytest.raises(SpecError, match=message):
        read_questionnaire(str(path))


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecError, match="Did you mean 'pairwise'"):
        read_questionnaire("pairwize")


def test_values_are_read_as_written_or_as_their_text() -> None:
    hostility = Question(id="h", question="?", choices={"0": "no", "1": "covert", "2": "overt"})
    assert [hostility.read(value) for value in (2, "2", "overt", 3, "3", True, None, 1.0)] == [2, 2, 2, *[None] * 5]
    tone = Question(id="t", question="?", choices=["kind", "cold"])
    assert [tone.read(value) for value in ("kind", "warm", 1)] == ["kind", None, None]
