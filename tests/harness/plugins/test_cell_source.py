"""The source of what a cell defines changes if, and only if, what the object does may change."""

from __future__ import annotations

import linecache
from itertools import count
from types import ModuleType
from typing import Any

import pytest

from harness.plugins.cell_source import cell_source, plain

CELL = '''\
import re
LIMIT = 3
WORDS = {"a", "b"}
UNUSED = 1

def helper(text, least=1):
    return len(text) > max(LIMIT, least)

class Base:
    bound = 2
    def score(self, text):
        return [word for word in WORDS if helper(text)]

class Metric(Base):
    @property
    def name(self):
        return "x"

def unused():
    return UNUSED

def target(text):
    """Scores a text."""
    return Metric().score(text)
'''

_NUMBERS = count()


def defined(source: str, *, kept: bool = True) -> Any:
    """Return ``target`` of a cell that a kernel has run; unless the source is kept, only its code is there."""
    module = ModuleType("__main__")
    name = f"<cell {next(_NUMBERS)}>"
    if kept:
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), vars(module))  # noqa: S102
    return vars(module)["target"]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ('{"a", "b"}', '{"a", "c"}'),
        ("least=1", "least=2"),
        ("bound = 2", "bound = 3"),
        ("len(text) >", "len(text) >="),
        ('return "x"', 'return "y"'),
        ("Metric().score(text)", "Metric().score(text + text)"),
    ],
)
def test_a_change_of_what_is_used_is_seen(before: str, after: str, kept: bool) -> None:
    assert before in CELL
    same, other = defined(CELL, kept=kept), defined(CELL.replace(before, after), kept=kept)
    assert cell_source(same) == cell_source(defined(CELL, kept=kept))
    assert cell_source(same) != cell_source(other)


@pytest.mark.parametrize(("before", "after"), [("UNUSED = 1", "UNUSED = 2"), ("return UNUSED", "return None")])
def test_a_change_of_something_else_is_not(before: str, after: str) -> None:
    assert cell_source(defined(CELL)) == cell_source(defined(CELL.replace(before, after)))


def test_other_modules_are_not_followed() -> None:
    using = CELL.replace("return Metric()", "re.compile(text); return Metric()")
    assert "def compile" not in cell_source(defined(using))


def test_a_class_that_uses_itself_ends() -> None:
    source = "class Node:\n    def next(self):\n        return Node()\n\ndef target(): return Node()\n"
    assert "Node" in cell_source(defined(source))


def test_a_list_that_contains_itself_is_not_plain() -> None:
    own: list[Any] = [1]
    assert plain([own, {"a": {2}}]) == "list(list(1), dict(list('a', set(2))))"
    own.append(own)
    assert plain(own) is None
