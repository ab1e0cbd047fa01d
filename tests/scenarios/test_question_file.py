"""Files of multiple-choice questions: columns found by name, the forms of options and answers, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness import DataError, Instance
from harness.runs.evaluation import prepare
from harness.sweeps.load import sweep_from_mapping

WORDS = ["red", "green", "blue"]


def read(path: Path, **columns: Any) -> list[Instance]:
    scenario = {"name": "question_file", "path": str(path), **columns}
    sweep, registry = sweep_from_mapping({"suite": "s", "models": ["fake:0"], "runs": [{"scenario": scenario}]})
    return list(prepare(sweep.runs[0], registry, None).instances())


def write(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "quiz.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def answers(instances: list[Instance]) -> list[str | None]:
    return [next((one.text for one in instance.references if one.correct), None) for instance in instances]


LABELLED = [{"label": letter, "text": text} for letter, text in zip("ABC", WORDS, strict=True)]


@pytest.mark.parametrize(
    "record",
    [
        {"question": "Sky?", "choices": WORDS, "answer": "C"},
        {"question": "Sky?", "options": WORDS, "answer": "blue"},
        {"Question": "Sky?", "options": {"A": "red", "B": "green", "C": "blue"}, "correct": "c"},
        {"stem": "Sky?", "choices": {"text": WORDS, "label": ["1", "2", "3"]}, "answerKey": "3"},
        {"question": {"stem": "Sky?", "choices": LABELLED}, "answerKey": "C", "id": "7"},
        {"prompt": "Sky?", "A": "red", "B": "green", "C": "blue", "D?": "no", "correct_answer": "C"},
        {"question": "Sky?", "Option 1": "red", "Option 2": "green", "Option 3": "blue", "label": 3},
        {"question": "Sky?", "opa": "red", "opb": "green", "opc": "blue", "answer": "Blue", "topic": "sky"},
        {"ctx": "Sky?", "ctx_a": "Sk", "endings": json.dumps(WORDS), "label": "C"},
    ],
)
def test_columns_are_found_by_common_names(tmp_path: Path, record: dict[str, Any]) -> None:
    (found,) = read(write(tmp_path, record))
    assert found.input == "Sky?"
    assert [one.text for one in found.references] == WORDS
    assert answers([found]) == ["blue"]


def test_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "quiz.csv").write_text('Question,A,B,Correct Answer\n"Is it red, or not?",yes,no,B\nWhy?,a,b,A\n')
    found = read(tmp_path / "quiz.csv")
    assert [one.input for one in found] == ["Is it red, or not?", "Why?"]
    assert answers(found) == ["no", "a"]


def test_questions_with_fewer_options_leave_the_last_columns_empty(tmp_path: Path) -> None:
    (tmp_path / "quiz.csv").write_text("question,A,B,C,D,answer\nSky?,red,green,blue,,C\nSea?,red,green,blue,grey,D\n")
    found = read(tmp_path / "quiz.csv")
    assert [len(one.references) for one in found] == [3, 4]
    assert answers(found) == ["blue", "grey"]
    rows: list[dict[str, Any]] = [
        {"question": "Sky?", **dict(zip("ABC", WORDS, strict=True)), "D": None, "answer": "blue"},
        {"question": "Sea?", **dict(zip("ABCD", [*WORDS, "grey"], strict=True)), "answer": "D"},
    ]
    assert answers(read(write(tmp_path, *rows))) == ["blue", "grey"]
    (tmp_path / "quiz.csv").write_text("question,A,B,C,D,answer\nSky?,red,,blue,grey,C\n")
    with pytest.raises(DataError, match="must be two or more texts"):
        read(tmp_path / "quiz.csv")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0, 1, 1], ["red", "green", "green"]),  # 0 occurs
        ([1, 3, 1], ["red", "blue", "red"]),  # the number of options occurs
        (["1", "2", "0"], ["green", "blue", "red"]),
        (["green", "red", "C"], ["green", "red", "blue"]),
    ],
)
def test_numbers_count_from_0_or_1_by_all_answers(tmp_path: Path, given: list[Any], expected: list[str]) -> None:
    path = write(tmp_path, *({"question": "?", "options": WORDS, "answer": one} for one in given))
    assert answers(read(path)) == expected


@pytest.mark.parametrize(("first", "expected"), [(0, "green"), (1, "red")])
def test_numbers_that_could_count_from_either_need_a_word(tmp_path: Path, first: int, expected: str) -> None:
    path = write(tmp_path, {"question": "?", "options": WORDS, "answer": 1})
    with pytest.raises(DataError, match=r"neither 0 nor the number of options occurs.*0 or --numbered-from 1"):
        read(path)
    assert answers(read(path, numbered_from=first)) == [expected]


def test_options_that_are_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, *({"question": "?", "options": [2, 3, 4], "answer": one} for one in (2, 3, 2)))
    assert answers(read(path)) == ["2", "3", "2"]


def test_named_columns_win_over_guesses(tmp_path: Path) -> None:
    record = {"question": "x", "q": {"text": "Sky?"}, "options": ["x", "y"], "r": "red", "b": "blue", "answer": "A"}
    (found,) = read(write(tmp_path, {**record, "key": "blue"}), question="q.text", options="r, b", answer="key")
    assert (found.input, answers([found])) == ("Sky?", ["blue"])


def test_a_file_without_answers(tmp_path: Path) -> None:
    path = write(tmp_path, {"goal": "Cook", "sol1": "boil", "sol2": "freeze"})
    with pytest.raises(DataError, match=r"no column has a common name for the answer.*--answer \(in a sweep: answer\)"):
        read(path)
    (found,) = read(path, answer="none")
    assert [(one.text, one.correct) for one in found.references] == [("boil", False), ("freeze", False)]


QUIZ = {"question": "Sky?", "options": WORDS, "answer": "A"}


@pytest.mark.parametrize(
    ("records", "columns", "message"),
    [
        ([{**QUIZ, "answer_idx": "A"}], {}, r"columns 'answer' and 'answer_idx' could each hold the answer.*--answer"),
        ([{**QUIZ, "A": "x", "B": "y"}], {}, r"columns 'options' and 'A,B' could each hold the options.*--options"),
        ([{"q": "Sky?", "options": WORDS, "answer": "A"}], {}, r"no column has a common name for the question.*'q'"),
        ([{"question": "Sky?", "answer": "A"}], {}, "no column has a common name for the options, such as"),
        ([QUIZ], {"answer": "key"}, "there is no column 'key'"),
        ([QUIZ], {"options": "A,B"}, "there is no column 'A'"),
        ([QUIZ, {**QUIZ, "answer": "D"}], {}, r"row 2: the answer 'D' in column 'answer' is not one of the options"),
        ([QUIZ, {**QUIZ, "options": ["red"]}], {}, r"row 2: the options in 'options' are .* two or more texts"),
        ([QUIZ, {**QUIZ, "options": "red"}], {}, r"row 2: the options in 'options' are .* two or more texts"),
        ([QUIZ, {**QUIZ, "question": " "}], {}, r"row 2: column 'question' holds ' '"),
        ([QUIZ, {"question": "Sky?", "options": WORDS}], {}, r"row 2: there is no column 'answer'"),
    ],
)
def test_mistakes(tmp_path: Path, records: list[dict[str, Any]], columns: dict[str, str], message: str) -> None:
    path = write(tmp_path, *records)
    with pytest.raises(DataError, match=message) as raised:
        read(path, **columns)
    assert "quiz.jsonl" in str(raised.value)
