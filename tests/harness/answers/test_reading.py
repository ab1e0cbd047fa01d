"""The setting ``answer``: what each key reads, and that no setting, text or pattern breaks it."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from harness import ModelError
from harness.answers import AnswerReading, AnswerSetting, final_answer, read_answer, stated_number
from harness.answers.reading import reading_names

SETTING: TypeAdapter[dict[str, AnswerReading]] = TypeAdapter(AnswerSetting)


def read(reading: dict[str, Any], text: str) -> str | None:
    return AnswerReading.model_validate(reading)(text)


@pytest.mark.parametrize(
    ("reading", "text", "expected"),
    [
        # Patterns.
        ({"last": "[0-9]+"}, "1 then 2", "2"),
        ({"first": "[0-9]+"}, "1 then 2", "1"),
        ({"last": "is ([a-z]+)"}, "it is red, no, it is blue", "blue"),
        ({"first": "is (?:x|([a-z]+))"}, "it is blue", "blue"),
        ({"last": "(red)|(blue)"}, "red or blue", "blue"),
        ({"last": "is (x)?"}, "it is y", None),
        ({"last": "(?<=The answer is )(.*)(?=\\.)"}, "The answer is 5.", "5"),
        ({"last": "(?i)ANSWER: (.+)"}, "Answer:  5 ", "5"),
        ({"last": "(?s)<a>(.*?)</a>"}, "<a>1</a><a>2\n3</a>", "2\n3"),
        ({"last": "x"}, "abc", None),
        # Markers.
        ({"after": "####"}, "1\n#### 2", "2"),
        ({"after": "####"}, "#### 1\n#### 2 ", "2"),
        ({"after": "The answer is"}, "the ANSWER is 5", "5"),
        ({"after": "Answer:", "until": "\n"}, "Answer:\n5\nGood luck", "5"),
        ({"after": "<a>", "until": "</a>"}, "<a>5</a> <a>6</a>", "6"),
        ({"after": "<a>", "until": "</a>"}, "<a>5", "5"),
        ({"after": "(.*)"}, "a (.*) b", "b"),
        ({"after": "####"}, "1", None),
        ({"after": "####"}, "####  ", None),
        # JSON.
        ({"json": "a"}, '{"a": "5"}', "5"),
        ({"json": "a"}, '{"a": 5}', "5"),
        ({"json": "a"}, '{"a": 1.50}', "1.5"),
        ({"json": "a"}, '{"a": true}', "true"),
        ({"json": "a"}, '{"a": null}', None),
        ({"json": "a"}, '{"b": 5}', None),
        ({"json": "$.a.b[1]"}, 'So: {"a": {"b": [1, 2]}} is it.', "2"),
        ({"json": "[0].x"}, '[{"x": "y"}]', "y"),
        ({"json": "a[-1]"}, '{"a": [1, 2, 3]}', "3"),
        ({"json": "a[9]"}, '{"a": [1]}', None),
        ({"json": "['a b']"}, '{"a b": "c"}', "c"),
        ({"json": "a"}, '{"a": {"b": ["ü"]}}', '{"b": ["ü"]}'),
        ({"json": "a"}, 'First {"a": 1}, then {"a": 2}.', "2"),
        ({"json": "a"}, 'Text {"a": 1}\n```json\n{"a": 2}\n```\nand {"a": 3}', "2"),
        ({"json": "a"}, 'A set {1, 2} and {"a": 2}', "2"),
        ({"json": "a"}, '{"a": 5', None),
        ({"json": "a"}, "no JSON", None),
        # Then a ready-made reading.
        ({"after": "Answer:", "read": "number"}, "7 apples. Answer: about 8", "8"),
        ({"last": "<a>(.*?)</a>", "read": "letter"}, "(A) <a>I think it's B</a>", "B"),
        ({"json": "answer", "read": "letter"}, '{"answer": "Option C."}', "C"),
        ({"after": "Answer:", "read": "number"}, "7", None),
        # Steps.
        ({"steps": ["lower"]}, " YES ", "yes"),
        ({"steps": "upper"}, "yes", "YES"),
        ({"steps": ["strip_punctuation"]}, "**Yes!**", "Yes"),
        ({"steps": ["remove_commas"]}, "1,234", "1234"),
        ({"steps": ["remove_currency", "remove_commas"]}, "$1,234 or €5", "1234 or 5"),
        ({"steps": ["remove_punctuation"]}, "it's (5).", "its 5"),
        ({"steps": ["remove_markup"]}, "**5** `x`", "5 x"),
        ({"steps": ["strip", "lower", {"map": {"yes": "1", "no": "0"}}]}, " Yes", "1"),
        ({"steps": [{"map": {"yes": "1"}}]}, "perhaps", None),
        ({"steps": ["remove_punctuation"]}, "...", None),
        ({"steps": ["strip"]}, "  ", None),
    ],
)
def test_what_is_read(reading: dict[str, Any], text: str, expected: str | None) -> None:
    assert read(reading, text) == expected


def test_several_readings_are_read_in_their_order() -> None:
    setting = SETTING.validate_python({"strict": {"after": "####"}, "flexible": "number"})
    assert list(read_answer(setting, "5 #### 6").items()) == [("strict", "6"), ("flexible", "6")]
    assert list(read_answer(setting, "5").items()) == [("strict", None), ("flexible", "5")]
    assert read_answer(None, "5") == {}


def test_a_resolved_setting_is_short_and_read_as_itself() -> None:
    for written, short, names in [
        ("letter", "letter", ("answer",)),
        ({"read": "letter"}, "letter", ("answer",)),
        ({"last": "x", "steps": "lower"}, {"last": "x", "steps": ["lower"]}, ("answer",)),
        ({"json": "a"}, {"json": "a"}, ("answer",)),
        (
            {"b": "letter", "a": {"after": "x"}},
            [{"name": "b", "read": "letter"}, {"name": "a", "after": "x"}],
            ("b", "a"),
        ),
    ]:
        resolved = SETTING.dump_python(SETTING.validate_python(written), mode="json")
        assert resolved == short
        assert SETTING.validate_python(resolved) == SETTING.validate_python(written)
        assert reading_names(resolved) == names
    assert reading_names(None) == ()


def test_a_plugin_s_settings_may_have_it() -> None:
    class Params(BaseModel):
        answer: AnswerSetting | None = None

    assert Params.model_validate({}).answer is None
    params = Params.model_validate({"answer": {"after": "####"}})
    assert read_answer(params.answer, "#### 5") == {"answer": "5"}
    assert json.loads(params.model_dump_json()) == {"answer": {"after": "####"}}
    assert "anyOf" in json.dumps(Params.model_json_schema())


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("letter", True),
        ({"last": "x", "steps": "lower"}, True),
        ({"after": "x", "steps": ["lower", {"map": {"a": "b"}}]}, True),
        ({"strict": {"json": "a"}, "flexible": "number"}, True),
        ("leter", False),
        ({"lst": "x"}, False),
        ({"after": "x", "steps": ["lowr"]}, False),
        ({"after": "x", "flexible": "number"}, False),
        ({}, False),
    ],
)
def test_editors_are_told_what_fits(value: Any, fits: bool) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator(SETTING.json_schema())
    assert validator.is_valid(value) == fits
    try:
        SETTING.validate_python(value)
    except ValidationError:
        assert not fits


TEXTS = st.text(max_size=300) | st.text(alphabet="answeri ABC:()*\n#=.5{}[]\"\\boxedI'<>/,$%-", max_size=300)
READINGS = st.sampled_from(
    [
        {"read": name, **more}
        for name in ("letter", "letters", "number", "boxed", "final_answer")
        for more in ({}, {"after": ":"}, {"last": ".+"}, {"json": "a"})
    ]
)


@given(READINGS, TEXTS)
@settings(max_examples=400, deadline=None)
def test_no_text_breaks_a_reading_and_nothing_read_is_blank(reading: dict[str, Any], text: str) -> None:
    found = read(reading, text)
    assert found is None or found == found.strip() != ""


@given(st.sampled_from(["number", "final_answer", "letter", "letters"]), TEXTS)
@settings(max_examples=400, deadline=None)
def test_what_was_read_reads_as_itself(name: str, text: str) -> None:
    found = read({"read": name}, text)
    if found is None or (name == "final_answer" and final_answer(found) != found):
        return  # "The answer is: Answer: 5" states another answer inside
    again = read({"read": name}, found)
    if name == "number":
        assert again is not None
        assert stated_number(again) == stated_number(found)
    else:
        assert again == found


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner)
            | (
                st.dictionaries(
                    st.sampled_from(["last", "first", "after", "until", "json", "read", "steps", "x", ""]), inner
                )
            )
        ),
        max_leaves=6,
    )
)
@settings(max_examples=300, deadline=None)
def test_any_setting_is_taken_or_refused_with_a_reason(value: Any) -> None:
    try:
        setting = SETTING.validate_python(value)
    except ValidationError:
        return
    assert all(isinstance(found, str | None) for found in read_answer(setting, "The answer is 5.").values())
    assert SETTING.validate_python(SETTING.dump_python(setting, mode="json")) == setting


HOSTILE = [
    "a" * 50_000,
    "(" * 50_000,
    "{" * 50_000,
    "[" * 50_000,
    "[1," * 20_000,
    '{"a":' * 20_000,
    "\\boxed{" * 10_000,
    "\\boxed{" * 5_000 + "}" * 5_000,
    "the answer is " * 5_000,
    "answer: " * 5_000,
    "A, B and " * 10_000,
    "<answer>" * 10_000,
    "```json\n" * 10_000,
    "1," * 50_000,
    "$" * 50_000,
    "*" * 50_000,
    "\u202f1" * 20_000,
    "答案是" * 20_000,
    " " * 100_000,
    "\n" * 100_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:9]))
@pytest.mark.parametrize("name", ["letter", "letters", "number", "boxed", "final_answer"])
def test_hostile_texts_take_little_time(name: str, text: str) -> None:
    begun = time.process_time()
    read({"read": name}, text)
    read({"read": name}, f"{text}\nThe answer is (B).")
    read({"json": "a"}, text)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("pattern", ["(a|a|aa)+$", "(.*a){20}b", "^(a?){40}a{40}$"])
def test_a_pattern_that_never_ends_is_stopped(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.answers.reading.SECONDS", 0.2)
    begun = time.monotonic()
    with suppress(ModelError):
        read({"last": pattern}, "a" * 3_000 + "!")
    assert time.monotonic() - begun < 60


def test_a_pattern_without_end_is_an_error_and_not_an_empty_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.answers.reading.SECONDS", 0.2)
    with pytest.raises(ModelError, match=r"the pattern .* takes more than 0.2 s to search one output of 5,001"):
        read({"last": "(a|a|aa)+$"}, "a" * 5_000 + "!")
