"""Reading YAML with lines: what a value becomes, where it stands, and what is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import SpecError, show_path
from harness.yaml_lines import MAX_BYTES, MAX_NODES, load, loads


def read(text: str) -> Any:
    located = loads(text, file="f.yaml")
    assert located.diagnostics == ()
    return located.data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing", None),
        ("Yes", "Yes"),
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("12", 12),
        ("-7", -7),
        ("010", 10),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("1e-3", 0.001),
        ("4.", 4.0),
        (".5", 0.5),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("2024-01-02", "2024-01-02"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("|\n  12\n", "12\n"),
        ("é漢😀", "é漢😀"),
    ],
)
def test_scalars_are_those_of_json(text: str, value: Any) -> None:
    data = read(text)
    assert data == value
    assert type(data) is type(value)


def test_keys_are_text() -> None:
    assert read("{1: a, true: b, null: c, no: d, 1.50: e}") == {
        "1": "a",
        "true": "b",
        "null": "c",
        "no": "d",
        "1.50": "e",
    }


def test_merge_keys_fill_in_what_is_not_set() -> None:
    data = read("base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nall: {<<: [*b, *m], x: 9}\none: {<<: *m}")
    assert data["all"] == {"x": 9, "y": 2, "z": 4}
    assert data["one"] == {"y": 3, "z": 4}


def test_lines_of_keys_values_and_items() -> None:
    text = "a: 1\nruns:\n  - x\n  -\n    scenario:\n      name: y\nblock: |\n  first\n  second\nplain:\n  text\n"
    located = loads(text, file="f.yaml")
    assert located.line() == 1
    assert located.line(["a"]) == 1
    assert located.line(["runs"]) == 2
    assert located.line(["runs", 0]) == 3
    assert located.line(["runs", 1, "scenario", "name"]) == 6
    assert located.line(["runs", 1, "scenario", "absent", "deeper"]) == 5
    assert located.line(["runs", 9]) == 2
    assert located.line(["runs", "name"]) == 2
    assert (located.line(["block"]), located.value_line(["block"])) == (7, 8)
    assert (located.line(["plain"]), located.value_line(["plain"])) == (10, 11)
    assert str(located.diagnostic(["runs", 1, "scenario"], "is odd.", "Be even.")) == (
        "f.yaml:5: runs[1].scenario: is odd. Be even."
    )


def test_every_duplicate_key_is_a_mistake_and_the_first_value_stands() -> None:
    located = loads("a: 1\nb: {x: 1, y: 2,\n  x: 3}\na: 2\na: 3\n", file="f.yaml")
    assert located.data == {"a": 1, "b": {"x": 1, "y": 2}}
    assert [(m.line, m.path) for m in located.diagnostics] == [(3, "b.x"), (4, "a"), (5, "a")]
    assert "already set on line 1" in located.diagnostics[1].message


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "not valid YAML"),
        ("a: b: c", 1, "needs quotes"),
        ("a:\n\t- b", 2, "is indented with a tab"),
        ("a: 1\nb: @c", 2, "needs quotes"),
        ("a: 1\n---\nb: 2", 2, "second document"),
        ("a: *x", 1, "not defined"),
        ("a: &x [1, *x]", 1, "inside its own value"),
        ("a: " + "[" * 900 + "]" * 900, 1, "nested"),
        ("- 1\n" * (MAX_NODES + 1), MAX_NODES, "more than"),
        ("a: 1\n\x01b: 2", None, "not valid YAML"),
        (b"a: 1\nb: \xff", 2, "not UTF-8"),
        (b"a" * (MAX_BYTES + 1), None, "larger than"),
    ],
)
def test_what_cannot_be_read_is_one_clear_mistake(text: str | bytes, line: int | None, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        loads(text, file="f.yaml")
    (mistake,) = caught.value.diagnostics
    assert mistake.line == line
    assert words in str(mistake)


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("a: !!python/object:os.system x", "a", "tag"),
        ("a: !!binary aGk=", "a", "tag"),
        ("a: !thing {b: 1}", "a", "tag"),
        ("a: 1e999", "a", "too large"),
        ("a: " + "9" * 5000, "a", "too long"),
        ("a: {{ question }}", "a", "quotes"),
        ("a: {[1, 2]: 3}", "a", "a key must be text"),
        ("a: {<<: 3}", "a", "merges a mapping"),
    ],
)
def test_values_that_json_lacks_are_mistakes_at_their_key(text: str, path: str, words: str) -> None:
    located = loads(text, file="f.yaml")
    assert words in str(located.diagnostics[0])
    assert located.diagnostics[0].path == path


def test_aliases_cannot_blow_up() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    with pytest.raises(SpecError, match="more than"):
        loads("\n".join(rows), file="f.yaml")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"absent\.yaml: cannot be read: No such file"):
        load(tmp_path / "absent.yaml")
    with pytest.raises(SpecError, match="cannot be read"):
        load(tmp_path)


def test_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert load(tmp_path / "f.yaml").data == {"a": 1}


def test_show_path() -> None:
    assert show_path(()) == ""
    assert show_path(("runs", 2, "scenario", "name")) == "runs[2].scenario.name"
    assert show_path((0, "a")) == "[0].a"


printable = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | printable,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(printable, children, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_json_is_read_as_json(value: Any) -> None:
    assert loads(json.dumps(value, ensure_ascii=False), file="f.yaml").data == value


@given(st.text(alphabet=st.sampled_from(list("ab: -[]{}&*!|>'\"#\n\t,?%@`~<.0e_")), max_size=60) | st.text(max_size=60))
def test_any_text_is_data_or_a_mistake(text: str) -> None:
    with suppress(SpecError):
        json.dumps(loads(text.encode("utf-8", "surrogatepass"), file="f.yaml").data, allow_nan=False).encode()
