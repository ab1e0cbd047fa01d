"""The source of what a cell defines changes if, and only if, what the object does may change."""

from __future__ import annotations

import linecache
from itertools import count
from types import ModuleType
from typing import Any

import pytest

from harness.plugins.cell_source import cell_source, plain, unnoticed

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


VALUES = """\
import functools, re, threading
from collections import deque
import numpy as np
import pandas as pd

class Settings:
    def __init__(self, k):
        self.k, self.inner = k, {"values": [np.array([k])]}

held = VALUE

def target(example):
    return held
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("np.array([1.0])", "np.array([9.0])"),
        ("np.array([1.0])", "np.array([1.0], dtype=np.float32)"),
        ("np.array(['a'], dtype=object)", "np.array(['b'], dtype=object)"),
        ("{'a': np.zeros(1000)}", "{'a': np.r_[np.zeros(999), 1]}"),
        ("pd.Series([1.0])", "pd.Series([9.0])"),
        ("pd.DataFrame({'a': ['x']})", "pd.DataFrame({'a': ['y']})"),
        ("functools.partial(float, 1)", "functools.partial(float, 9)"),
        ("functools.partial(float, 1)", "functools.partial(int, 1)"),
        ("Settings(1)", "Settings(2)"),
        ("[Settings(1)]", "[Settings(2)]"),
        ("Settings(1).__init__", "Settings(2).__init__"),
        ("deque([1])", "deque([2])"),
        ("(lambda: 1, lambda: 2)", "(lambda: 1, lambda: 3)"),
        ("functools.cache(lambda: 1)", "functools.cache(lambda: 2)"),
        ("re.compile('a' * 300)", "re.compile('a' * 301)"),
        ("len", "max"),
    ],
)
def test_a_change_of_a_value_that_is_used_is_seen(before: str, after: str) -> None:
    one, same, other = (defined(VALUES.replace("VALUE", value), kept=False) for value in (before, before, after))
    assert cell_source(one) == cell_source(same) == cell_source(one) != cell_source(other)
    assert unnoticed(one) == []


@pytest.mark.parametrize(
    "value",
    [
        "threading.Lock()",
        "{'a': Settings(threading.Lock())}",
        "(one for one in [1])",
        "type('Own', (), {'__reduce_ex__': lambda *_: 1 / 0})()",
        "list(range(200_000))",
    ],
)
def test_a_value_whose_changes_cannot_be_seen_is_named(value: str) -> None:
    target = defined(VALUES.replace("VALUE", value))
    assert unnoticed(target) == ["held"]
    assert "held =" not in cell_source(target)


def test_weights_are_not_read() -> None:
    torch = pytest.importorskip("torch")
    target = defined(VALUES.replace("VALUE", "None"))
    target.__globals__["held"] = torch.nn.Linear(1, 1)
    assert unnoticed(target) == ["held"]


def test_attributes_are_not_taken_for_values_of_the_same_name() -> None:
    source = VALUES.replace("VALUE", "threading.Lock()").replace("return held", "return example.held")
    assert unnoticed(defined(source)) == []
