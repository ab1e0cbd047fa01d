"""Answers that are made to be slow or impossible to read: each takes a time in proportion to its length."""

from __future__ import annotations

import subprocess
import sys

import pytest

from harness.answers.numbers import final_number, stated_number
from harness.answers.options import read_options
from harness.answers.reasoning import split_reasoning
from harness.answers.statements import final_answer

SLOW = {
    "abbreviations": ("statements", "final_answer", "'the answer is ' + 'e.g. ' * 60_000"),
    "spaces in a formula": ("statements", "final_answer", r"'the answer is \\(' + ' ' * 100_000 + 'x'"),
    "formulas in each other": ("statements", "final_answer", r"'<answer>' + '\\(' * 50_000 + '\\)' * 50_000"),
    "full stops": ("statements", "final_answer", "'<answer>a' + '. ' * 100_000 + '</answer>'"),
    "spaces after an option": ("options", "read_options", "'The answer is A' + ' ' * 100_000 + 'x', 'ABCD'"),
    "groups of two digits": ("numbers", "final_number", "'1' + ',22' * 60_000"),
    "groups in LaTeX": ("numbers", "final_number", "'1' + '{,}222' * 30_000 + '2'"),
    "many thoughts": ("reasoning", "split_reasoning", "'<think></think>' * 60_000"),
}
JUDGED = {
    "headings": "Reader(labels={'a': 1, 'b': 0}, heading='Verdict').read('Verdict:\\n' * 60_000)",
    "objects in each other": "Reader(labels={'a': 1, 'b': 0}, key='x').read('{\"a\":[' * 900 + '1,' * 400_000)",
    "objects that are open": "Reader(labels={'a': 1, 'b': 0}, key='x').read('{' * 400_000)",
}


def ends(program: str) -> None:
    """Run a program in a process of its own: nothing else can stop a regular expression."""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=200)


@pytest.mark.parametrize("name", SLOW)
def test_no_answer_takes_long_to_read(name: str) -> None:
    module, function, text = SLOW[name]
    ends(f"from harness.answers.{module} import {function} as read; read({text})")


@pytest.mark.parametrize("name", JUDGED)
def test_no_judgement_takes_long_to_read(name: str) -> None:
    ends(f"from metrics._judging.reading import Reader; {JUDGED[name]}")


def test_an_answer_is_put_into_a_rubric_in_no_time() -> None:
    ends(
        "from metrics._judging.rubric import load_rubric\n"
        "rubric = load_rubric('mt_bench', asks=['score'])\n"
        "rubric._fenced('answer', '<' + ' ' * 200_000)\n"
    )


def test_numbers_of_any_length_are_numbers() -> None:
    assert final_number("1 " + "1" * 5000 + "/" + "2" * 5000) is not None
    assert stated_number("the answer is 2 " + "3" * 5000 + "/" + "2" * 5000) == 2
    assert final_number("9" * 1_000_005 + "/7") is None
    assert final_number("12," + "345," * 9 + "678") == int("12" + "345" * 9 + "678")


def test_what_is_read_did_not_change() -> None:
    assert final_answer(r"The answer is **\(\text{ Paris }\)**.") == "Paris"
    assert final_answer("The answer is St. John, e.g. him. Not her.") == "St. John, e.g. him"
    assert read_options("The answer is A and C , because of D.", "ABCD") == (0, 2)
    found = split_reasoning(" <think> a </think>\n<think>b</think> \n c ")
    assert found is not None
    assert (found.reasoning, found.answer) == ("a\n\nb", "c ")
