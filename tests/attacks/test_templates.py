"""Templates that would fill the memory or never end; and honest ones, which must stay fast."""

from __future__ import annotations

import time
from typing import Any

import pytest
from jinja2 import TemplateSyntaxError
from jinja2.exceptions import SecurityError

from harness.data.templates import GLOBALS, compile_template

VALUES: dict[str, Any] = {**GLOBALS, "text": "x" * 100_000, "lines": "a\n" * 50_000, "items": list(range(1000))}

BOMBS = [
    "{{ '1'.zfill(3 * 10 ** 9) }}",
    "{{ '1'.ljust(3 * 10 ** 9) }}",
    "{{ '1'.rjust(width) }}",
    "{{ '1'.center(3 * 10 ** 9) }}",
    "{{ ('1' | attr('center'))(3 * 10 ** 9) }}",
    "{{ '\t'.expandtabs(3 * 10 ** 9) }}",
    "{{ '\t\t'.expandtabs(tabsize=10 ** 8) }}",
    "{{ (5).to_bytes(3 * 10 ** 9, 'big') }}",
    "{{ '{:3000000000}'.format(1) }}",
    "{{ '{:>{w}}'.format(1, w=3 * 10 ** 9) }}",
    "{{ '{:>{}}'.format(1, '3000000000') }}",
    "{{ '{0:3000000000}'.format_map({'0': 1}) }}",
    "{{ ('{0}' * 1000000).format(text) }}",
    "{{ '%3000000000d' % 1 }}",
    "{{ '%.3000000000f' % 1.0 }}",
    "{{ '%*d' % (3 * 10 ** 9, 1) }}",
    "{{ ('%s' * 1000000) % ((text,) * 1000000) }}",
    "{{ '%3000000000d' | format(1) }}",
    "{{ '%*d' | format(3 * 10 ** 9, 1) }}",
    "{{ '1' | center(3 * 10 ** 9) }}",
    "{{ ['1'] | map('center', 3 * 10 ** 9) | list }}",
    "{{ lines | indent(10 ** 9) }}",
    "{{ lines | indent(width=text) }}",
    "{{ items | tojson(indent=10 ** 9) }}",
    "{{ items | tojson(10 ** 8) }}",
    "{{ items | batch(3 * 10 ** 9, 'x') | list }}",
    "{{ items | batch(1000000, text) | list | string }}",
    "{{ items | slice(3 * 10 ** 9) | list }}",
    "{{ text | replace('x', text) }}",
    "{{ text.replace('', text) }}",
    "{{ text.join(text) }}",
    "{{ range(99999) | join(text) }}",
    "{{ range(99999) | map('string') | join(d=text) }}",
    "{{ text.translate({120: text}) }}",
    "{{ text | wordwrap(1, wrapstring=text) }}",
    "{{ 1 | round(-999999999) }}",
    "{{ {}.fromkeys(range(99999), [text] * 99) | string }}",
    "{{ ([[0] * 9999] * 999) | sum(start=[]) }}",
    "{{ 'x' * 10 ** 9 }}",
    "{{ 9 ** (9 ** 9) }}",
    "{% set a = 10 ** 3000 %}{% set b = a * a %}{% set c = b * b %}{{ c * c }}",
    "".join(f"{{% set a{n + 1} = a{n} + a{n} %}}" for n in range(40)).replace("a0", "text") + "{{ a40 }}",
    "".join(f"{{% set a{n + 1} = a{n} ~ a{n} %}}" for n in range(40)).replace("a0", "text") + "{{ a40 }}",
    "".join(f"{{% set a{n + 1} = [a{n}, a{n}] %}}" for n in range(60)).replace("a0", "text") + "{{ a60 }}",
    "".join(f"{{% set a{n + 1} = {{'a': a{n}, 'b': a{n}}} %}}" for n in range(60)).replace("a0", "text") + "{{ a60 }}",
    "{{ " + " ~ ".join(["text"] * 2000) + " }}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) if false %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{{ text }}{% endfor %}",
    "{% set x %}{% for a in range(99999) %}{{ text }}{% endfor %}{% endset %}{{ x | length }}",
    "{% set x %}{% for a in range(99999) %}" + "y" * 9999 + "{% endfor %}{% endset %}{{ x | length }}",
    "{% macro m(n) %}" + "y" * 9999 + "{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "{% for a in range(99999) %}{{ range(99999) | select('in', range(99999) | list) | list | length }}{% endfor %}",
    "{% for a in range(99999) %}{{ text.count('xy') }}{{ text.upper() }}{% endfor %}",
    "{% filter center(3000000000) %}x{% endfilter %}",
]


@pytest.mark.parametrize("source", BOMBS, ids=range(len(BOMBS)))
def test_a_bomb_is_refused_in_time(source: str) -> None:
    start = time.monotonic()
    with pytest.raises(SecurityError):
        compile_template(source)({**VALUES, "width": 3 * 10**9})
    assert time.monotonic() - start < 120  # the limit is 10 s, on a machine that is not busy


@pytest.mark.parametrize(
    "source",
    [
        "{{ " + " + ".join(["1"] * 20_000) + " }}",
        "{{ " + " ~ ".join(["1"] * 3) + " + ".join(["x"] * 20_000) + " }}",
        "{{ x" + " | string" * 20_000 + " }}",
        "{{ x" + ".y" * 20_000 + " }}",
        "{{ " + "[" * 20_000 + "]" * 20_000 + " }}",
        "{{ " + "not " * 20_000 + "x }}",
        "{% if x %}" * 500 + "{% endif %}" * 500,
        "{% for x in y recursive %}{{ loop(x) }}{% endfor %}",
    ],
    ids=range(8),
)
def test_what_is_nested_too_deeply_is_a_mistake_with_a_line(source: str) -> None:
    with pytest.raises(TemplateSyntaxError) as refused:
        compile_template(source)
    assert refused.value.lineno == 1


HONEST: list[tuple[str, object]] = [
    ("{{ '7'.zfill(3) }}|{{ 'a'.ljust(3) }}|{{ 'a'.rjust(3, '.') }}|{{ 'a'.center(3) }}", "007|a  |..a| a "),
    ("{{ '{:>5}'.format(1) }}{{ '%05.1f' % 2.25 }}{{ '%s, %s' % ('a', 'b') }}", "    1002.2a, b"),
    ("{{ '%s-%s' | format('a', 2) }}", "a-2"),
    ("{{ 'a' | center(5) }}.", "  a  ."),
    ("{{ 'a\nb' | indent(2) }}.", "a\n  b."),
    ("{{ {'a': [1, 2]} | tojson(indent=1) }}.", '{\n "a": [\n  1,\n  2\n ]\n}.'),
    ("{{ [1, 2, 3] | batch(2, 0) | list }}", [[1, 2], [3, 0]]),
    ("{{ [1, 2, 3] | slice(2) | list }}", [[1, 2], [3]]),
    ("{{ text | replace('x', 'yy') | length }}", 200_000),
    ("{{ lines.split('\n') | map('trim') | select | join(' ') | length }}", 99_999),
    ("{% for x in items %}{{ loop.index }}/{{ loop.length }}{% if not loop.last %},{% endif %}{% endfor %}", None),
    ("{{ lines | indent(8) | length }}", None),
    ("{{ text | wordwrap(79) | length }}", None),
    ("{{ items | sum }} {{ 2.5 | round(1) }} {{ 2 ** 10 }} {{ 7 * 6 }}", "499500 2.5 1024 42"),
    ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(1) }}{{ m(2) }}", "<1><2>"),
    ("{{ items | map('string') | join }}", "".join(map(str, range(1000)))),
]


@pytest.mark.parametrize(("source", "value"), HONEST, ids=range(len(HONEST)))
def test_an_honest_template_gives_what_it_should(source: str, value: object) -> None:
    given = compile_template(source)(VALUES)
    assert value is None or given == value


def test_thousands_of_rows_a_second() -> None:
    template = compile_template(
        "Question: {{ question | trim }}\n"
        "{% for choice in choices %}{{ 'ABCD'[loop.index0] }}. {{ choice }}\n{% endfor %}"
        "Answer: {{ '%d' % answer }}"
    )
    row = {**GLOBALS, "question": " Why? ", "choices": ["one", "two", "three", "four"], "answer": 2}
    start = time.process_time()
    for _ in range(2000):
        text = template(row)
    assert time.process_time() - start < 1.0
    assert text == "Question: Why?\nA. one\nB. two\nC. three\nD. four\nAnswer: 2"
