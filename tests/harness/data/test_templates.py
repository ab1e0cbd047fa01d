"""Templates: text stays text, one expression keeps its type, and data are never templates."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import TemplateSyntaxError

from harness.data.template_limits import Budget
from harness.data.templates import FAILURES, GLOBALS, compile_expression, compile_template

VALUES: dict[str, Any] = {
    **GLOBALS,
    "question": "why",
    "answer": True,
    "choices": [{"text": "a", "label": "A"}, {"text": "b", "label": "B"}],
    "evil": "{{ 1 + 1 }}{% for x in y %}",
    "html": "<a> & 'b'",
}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("plain", "plain"),
        ("", ""),
        ("{{ question }}?", "why?"),
        ("{{ question }}\n", "why\n"),
        ("{{ question }}", "why"),
        ("{{ answer }}", True),
        (" {{ answer }}", " True"),
        ("{{ 'Yes' if answer else 'No' }}", "Yes"),
        ("{{ choices | map(attribute='text') | list }}", ["a", "b"]),
        ("{{ (choices | map(attribute='label') | list).index('B') }}", 1),
        ("{{ range(3) | list }}", [0, 1, 2]),
        ("{{ [[1, 2], [], 3, [[4]]] | flatten }}", [1, 2, 3, [4]]),
        (
            "{{ ['(A) 4', 'b)  4', 'C. 4', '3: 4', ' D) A) x', '12) 4'] | map('without_label') | list }}",
            ["4", "4", "4", "4", "A) x", "4"],
        ),
        (
            "{{ ['A 4', '4', 'Dr. No', '', '1.5 km', '3:30', 'A)'] | map('without_label') | list }}",
            ["A 4", "4", "Dr. No", "", "1.5 km", "3:30", ""],
        ),
        ("{{ missing | default('none') }}", "none"),
        ("{% if answer %}a{% else %}b{% endif %}", "a"),
        ("{% set x = 2 %}{{ x }}", "2"),
        ("{{ question }}{{ question }}", "whywhy"),
        ("{# a comment #}", ""),
        ("{{ evil }}", VALUES["evil"]),
        ("<{{ evil }}>", "<{{ 1 + 1 }}{% for x in y %}>"),
        ("{{ html }}!", "<a> & 'b'!"),
        ("{{ 'ab' * 3 }}", "ababab"),
        ("{{ 2 ** 10 }}", 1024),
    ],
)
def test_values(source: str, value: Any) -> None:
    assert compile_template(source)(VALUES) == value
    assert type(compile_template(source)(VALUES)) is type(value)


@pytest.mark.parametrize("source", ["answer == true", "{{ answer == true }}", "  {{ answer }}  ", "'x' in 'xyz'"])
def test_expressions_stand_with_or_without_braces(source: str) -> None:
    assert compile_expression(source)(VALUES) is True


@pytest.mark.parametrize("source", ["a b", "{{ a }} {{ b }}", "", "{% if a %}b{% endif %}", "{{ a", "a }}{{ b"])
def test_what_is_no_expression(source: str) -> None:
    with pytest.raises(TemplateSyntaxError):
        compile_expression(source)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("{{ a", 1),
        ("a\n{% for %}", 2),
        ("{% endif %}", 1),
        ("\n\n{{ a | no_such_filter }}", 3),
        ("{{ " + "(" * 3000, 1),
    ],
)
def test_syntax_errors_have_a_line(source: str, line: int) -> None:
    with pytest.raises(TemplateSyntaxError) as caught:
        compile_template(source)
    assert caught.value.lineno == line


@pytest.mark.parametrize(
    "source",
    [
        "{{ missing }}",
        "{{ missing }}!",
        "{{ question.nothing }}",
        "{{ [missing] | join }}",
        "{{ 1 / 0 }}",
        "{{ 'abc'.index('x') }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ question.__init__.__globals__ }}",
        "{{ ().__class__.__bases__[0].__subclasses__() }}",
        "{{ range.__self__ }}",
        "{{ range(10 ** 7) }}",
        "{{ 9 ** (9 ** 9) }}",
        "{{ 'x' * 10 ** 9 }}",
        "{{ [1] * (10 ** 9) }}",
        "{% for i in question %}{{ i.append(1) }}{% endfor %}",
        "{{ lipsum() }}",
    ],
)
def test_what_a_template_cannot_do(source: str) -> None:
    template = compile_template(source)
    with pytest.raises(FAILURES):
        template(VALUES)


def test_names_are_those_needed_from_outside() -> None:
    template = compile_template("{% set x = a %}{{ x }}{{ b.c }}{% for i in d %}{{ i }}{% endfor %}")
    assert template.names == {"a", "b", "d"}
    assert compile_template("{{ a + b }}").names == {"a", "b"}


LEAVES = st.text(max_size=5) | st.integers() | st.none()


@given(st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner)))
def test_a_value_s_size_is_its_characters_and_items(value: Any) -> None:
    assert Budget().size(value) == plain_size(value)


def plain_size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return 1 + sum(plain_size(part) for part in parts)
