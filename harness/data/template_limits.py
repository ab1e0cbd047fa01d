"""A Jinja sandbox that limits the time and memory of a template.

Jinja's own sandbox limits what a template can reach; this one also limits what it costs. Loops, calls, filters, tests,
operators and pieces of output count against a budget for each rendering, and sizes are computed before memory is taken.
"""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from types import BuiltinMethodType
from typing import Any, cast

from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MAX_SIZE = 10_000_000
"""Characters and items of one value, those within it included."""

MAX_TOTAL = 200_000_000
"""Characters and items of all values of one rendering."""

MAX_STEPS = 1_000_000
"""Iterations, calls and operations of one rendering."""

MAX_SECONDS = 10.0
"""How long one rendering may take."""

_MAX_BITS = 10_000
_MAX_WIDTH = 1_000_000
_REMOVED = ("filesizeformat", "random", "urlize", "xmlattr")
_LOOP, _CONCATENATE, _KEEP = "harness_loop", "harness_concatenate", "harness_keep"
_WIDTH = {"center", "ljust", "rjust", "zfill"}
_LABEL = re.compile(r"\s*(?:\((?:[A-Za-z]|\d{1,2})\)|(?:[A-Za-z]|\d{1,2})(?:\)|[.:](?!\S)))\s*")
_DIGITS = re.compile(r"\d+")


class Budget:
    """The steps, characters and seconds that one rendering has left.

    Args:
        text: The length of the template's own text, which each call of a macro can repeat.
    """

    def __init__(self, text: int = 0) -> None:
        self.text = text
        self._steps = self._total = 0
        self._end = time.monotonic() + MAX_SECONDS
        self._sizes: dict[int, tuple[Any, int]] = {}

    def step(self, count: int = 1) -> None:
        """Count steps.

        Raises:
            SecurityError: There have been too many, or they took too long.
        """
        self._steps += count
        if self._steps > MAX_STEPS:
            raise SecurityError(f"the template takes more than {MAX_STEPS:,} steps")
        if self._steps & 15 < count and time.monotonic() > self._end:
            raise SecurityError(f"the template takes longer than {MAX_SECONDS:g} s")

    def charge(self, size: int) -> None:
        """Count characters or items of a value that is about to be made.

        Raises:
            SecurityError: The value, or all together, would be too large.
        """
        if size > MAX_SIZE:
            raise SecurityError(f"the template makes a value of more than {MAX_SIZE:,} characters or items")
        self._total += size
        if self._total > MAX_TOTAL:
            raise SecurityError(f"the template makes values of more than {MAX_TOTAL:,} characters or items in all")

    def size(self, value: Any) -> int:
        """Return the number of characters and items in a value; what it contains twice counts twice."""
        if isinstance(value, str | bytes | bytearray):
            return len(value)
        if not isinstance(value, Mapping | Sequence | Set) or isinstance(value, range):
            return 1
        known = self._sizes.get(id(value))
        if known is not None:
            return known[1]
        self._sizes[id(value)] = value, 1  # where it holds itself
        parts = [*value.keys(), *value.values()] if isinstance(value, Mapping) else value
        # A text that is split has thousands of words, and counting them one call each would be most of the work.
        only_text = set(map(type, parts)) == {str}
        size = 1 + sum(map(len if only_text else self.size, parts))
        self._sizes[id(value)] = value, size
        return size

    def keep(self, value: Any) -> Any:
        """Count a value that has been made, and return it; of an iterator, each item when it comes."""
        if isinstance(value, str | bytes | list | tuple | dict | set | frozenset):
            self.charge(self.size(value))
        elif isinstance(value, Iterator):
            return self._counted(value, 0)
        return value

    def loop(self, items: Any, text: int) -> Any:
        """Count the iterations of a loop over some items, each with some text of the template's own."""
        try:
            count = len(items)
        except TypeError:
            return self._counted(items, text) if isinstance(items, Iterator) else items
        self.step(count)
        self._repeat(text, count)
        return items

    def _repeat(self, text: int, count: int) -> None:
        if text * count > MAX_TOTAL:
            raise SecurityError(f"the template repeats more than {MAX_TOTAL:,} characters of its text")
        self._total += text * count
        self.charge(0)

    def _counted(self, items: Iterator[Any], text: int) -> Iterator[Any]:
        for item in items:
            self.step()
            self.charge(text)
            yield self.keep(item)


_local = threading.local()


def current() -> Budget:
    """Return the budget of the rendering that this thread is at; outside of one, a fresh one."""
    return getattr(_local, "budget", None) or Budget()


class rendering:  # noqa: N801 - a context manager, used like a function
    """Give this thread a fresh budget for the time of a ``with`` block."""

    __slots__ = ("_budget", "_outer")

    def __init__(self, text: int = 0) -> None:
        self._budget = Budget(text)

    def __enter__(self) -> Budget:
        self._outer = getattr(_local, "budget", None)
        _local.budget = self._budget
        return self._budget

    def __exit__(self, *_: object) -> None:
        _local.budget = self._outer


class LimitedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which everything that can cost something is counted."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self, **options: Any) -> None:
        super().__init__(finalize=_finalize, **options)
        for name in _REMOVED:
            del self.filters[name]
        self.filters.update({name: _limited(name, cast("Any", function)) for name, function in self.filters.items()})
        self.tests.update({name: _limited(name, cast("Any", function)) for name, function in self.tests.items()})
        self.filters["flatten"] = _flatten
        self.filters["without_label"] = _without_label
        self.filters[_LOOP] = lambda items, text: current().loop(items, text)
        self.filters[_CONCATENATE] = _concatenate
        self.filters[_KEEP] = lambda value: current().keep(value)

    def limited(self, tree: nodes.Template) -> nodes.Template:
        """Return a syntax tree in which loops, joined text and lists are counted as well."""
        changed: nodes.Template = _Counting().visit(tree)
        return changed

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        budget = current()
        budget.step()
        if operator == "**":
            if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > _MAX_BITS:
                raise SecurityError("the power is too large")
        elif operator == "*":
            _check_product(budget, left, right)
        elif operator == "%" and isinstance(left, str):
            _check_format(budget, left, right if isinstance(right, tuple) else (right,), "*")
        elif operator == "+" and isinstance(left, str | list | tuple):
            budget.charge(budget.size(left) + budget.size(right))
        return budget.keep(super().call_binop(context, operator, left, right))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as Jinja's
        budget = current()
        budget.step()
        method = getattr(__obj, "__wrapped__", __obj)
        if isinstance(method, BuiltinMethodType):
            _check_method(budget, method.__self__, method.__name__, args, kwargs)
        else:
            budget.charge(budget.text)
        if args and isinstance(args[0], Iterator):
            args = (list(budget.keep(args[0])), *args[1:])
        return budget.keep(super().call(__context, __obj, *args, **kwargs))


def _finalize(value: Any) -> Any:
    """Count a piece of output."""
    budget = current()
    budget.step()
    budget.charge(budget.size(value))
    return value


def _flatten(value: Sequence[Any]) -> list[Any]:
    """Return the items of a list, and those of the lists in it, one level deep."""
    budget = current()
    budget.step()
    budget.charge(budget.size(value))
    inner = [item if isinstance(item, list | tuple) else [item] for item in value]
    return [one for item in inner for one in item]


def _without_label(value: str) -> str:
    """Return an option without its label: "(A) 4", "A. 4", "b) 4" and "3: 4" become "4"."""
    budget = current()
    budget.step()
    budget.charge(budget.size(value))
    label = _LABEL.match(value)
    return value[label.end() :] if label else value


def _concatenate(values: list[Any]) -> str:
    budget = current()
    budget.step()
    budget.charge(sum(map(budget.size, values)))
    return "".join(map(str, values))


def _check_product(budget: Budget, left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > _MAX_BITS:
            raise SecurityError("the product is too large")
        return
    for items, times in ((left, right), (right, left)):
        if isinstance(items, str | bytes | list | tuple) and isinstance(times, int):
            budget.charge(budget.size(items) * max(times, 0))


def _check_method(budget: Budget, owner: Any, name: str, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
    """Refuse a call of a built-in type's method whose result would be too large."""
    given = (*args, *keywords.values())
    if name in _WIDTH or name == "to_bytes":
        budget.charge(max([0, *(abs(value) for value in given if isinstance(value, int))]))
    elif name == "expandtabs":
        _charge_widths(budget, owner.count("\t" if isinstance(owner, str) else b"\t"), given or (8,))
    elif name == "replace" and isinstance(owner, str | bytes) and len(args) >= 2:
        _check_replace(budget, owner, args[0], args[1])
    elif name == "join" and isinstance(owner, str | bytes) and args:
        _check_join(budget, len(owner), args[0])
    elif name in {"format", "format_map"} and isinstance(owner, str):
        _check_format(budget, owner, given, "{")
    elif name == "translate" and isinstance(owner, str) and args and isinstance(args[0], Mapping):
        budget.charge(len(owner) * max([1, *map(budget.size, args[0].values())]))
    elif name == "fromkeys" and len(args) == 2:
        budget.charge(budget.size(args[0]) * budget.size(args[1]))


def _check_filter(budget: Budget, name: str, value: Any, given: Sequence[Any]) -> None:
    """Refuse a filter whose result would be too large."""
    match name:
        case "center" | "batch" | "slice":
            size = max([0, *(abs(item) for item in given if isinstance(item, int))])
            budget.charge(size * max([1, *map(budget.size, given)]))
        case "indent":
            _charge_widths(budget, str(value).count("\n") + 1, given)
        case "tojson":
            _charge_widths(budget, budget.size(value), given)
        case "wordwrap":
            breaks = max([1, *(len(item) for item in given if isinstance(item, str))])
            budget.charge((len(str(value)) + 1) * breaks)
        case "round":
            if any(isinstance(item, int) and abs(item) > 1000 for item in given):
                raise SecurityError("the number of decimals is too large")
        case "replace" if len(given) >= 2:
            _check_replace(budget, str(value), str(given[0]), str(given[1]))
        case "join":
            _check_join(budget, max([0, *(len(item) for item in given if isinstance(item, str))]), value)
        case "format":
            _check_format(budget, str(value), given, "*")
        case "sum":
            if any(not isinstance(item, int | float | str | None) for item in given):
                raise SecurityError("sum adds numbers only")


def _charge_widths(budget: Budget, count: int, given: Sequence[Any]) -> None:
    """Count something that is repeated with a width, given as a number or as text."""
    widths = (len(item) if isinstance(item, str) else abs(item) for item in given if isinstance(item, int | str))
    budget.charge(count * max([0, *widths]))


def _check_replace(budget: Budget, text: Any, old: Any, new: Any) -> None:
    if isinstance(old, type(text)) and isinstance(new, type(text)):
        budget.charge(len(text) + (text.count(old) if old else len(text) + 1) * len(new))


def _check_join(budget: Budget, separator: int, items: Any) -> None:
    if hasattr(items, "__len__"):
        budget.charge(budget.size(items) + separator * len(items))


def _check_format(budget: Budget, form: str, given: Sequence[Any], nesting: str) -> None:
    """Refuse a format whose fields are too wide; ``nesting`` is how it takes a width from the values."""
    numbers = [int(digits) if len(digits) < 9 else MAX_SIZE for digits in _DIGITS.findall(form)]
    values = [item for value in given for item in (value.values() if isinstance(value, Mapping) else (value,))]
    if (nesting == "*" and "*" in form) or (nesting == "{" and re.search(r":[^{}]*\{", form)):
        numbers += [abs(item) for item in values if isinstance(item, int)]
        numbers += [int(digits[:9]) for item in values if isinstance(item, str) for digits in _DIGITS.findall(item)]
    if max(numbers, default=0) > _MAX_WIDTH:
        raise SecurityError("the field is too wide")
    fields = form.count("%" if nesting == "*" else "{")
    budget.charge(len(form) + fields * (max(numbers, default=0) + max(map(budget.size, values), default=0)))


def _limited(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter or test that is counted, and that refuses to make too large a value."""
    offset = int(hasattr(function, "jinja_pass_arg"))

    @functools.wraps(function)
    def limited(*args: Any, **keywords: Any) -> Any:
        budget = current()
        budget.step()
        if len(args) > offset and isinstance(args[offset], Iterator) and name in {"join", "tojson", "string", "slice"}:
            args = (*args[:offset], list(args[offset]), *args[offset + 1 :])
        if len(args) > offset:
            _check_filter(budget, name, args[offset], [*args[offset + 1 :], *keywords.values()])
        return budget.keep(function(*args, **keywords))

    return limited


class _Counting(NodeTransformer):
    """Replaces operations that Jinja's compiler does itself by calls of filters, which count."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 - as Jinja's
        if node.recursive:
            raise RecursiveLoopError(node.lineno)
        self.generic_visit(node)
        text = sum(len(data.data) for data in node.find_all(nodes.TemplateData))
        node.iter = _filter(cast("nodes.Expr", node.iter), _LOOP, nodes.Const(text, lineno=node.lineno))
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:  # noqa: N802
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes, lineno=node.lineno), _CONCATENATE)

    def visit_List(self, node: nodes.List) -> nodes.Expr:  # noqa: N802
        return self._kept(node, node.items)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Expr:  # noqa: N802
        return node if node.ctx != "load" else self._kept(node, node.items)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Expr:  # noqa: N802
        return self._kept(node, [pair.value for pair in node.items])

    def _kept(self, node: nodes.Expr, items: Sequence[nodes.Node]) -> nodes.Expr:
        if all(isinstance(item, nodes.Const) for item in items):
            return node
        self.generic_visit(node)
        return _filter(node, _KEEP)


class RecursiveLoopError(Exception):
    """A loop that calls itself."""

    def __init__(self, line: int) -> None:
        super().__init__("a recursive loop is not supported")
        self.line = line


def _filter(node: nodes.Expr, name: str, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)
