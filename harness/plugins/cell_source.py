"""The source of what a notebook's cell defines: it has no file whose digest would say that it has changed.

An object's source is followed by that of the functions, classes and values of the same module that it uses, and of
what these use::

    THRESHOLD = 3                       <- used by close
    def close(a, b): ...                <- used by near
    @metric("near", …)
    def near(example): ...
"""

from __future__ import annotations

import copyreg
import dis
import hashlib
import inspect
import re
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

MOST_PARTS = 100_000
"""Maximum number of parts of a value that are read, so that a large table does not delay each run."""

LONGEST_BYTES = 100_000_000
"""Maximum number of bytes of a value that are read at a time."""

_NOT_OF_THE_SOURCE = ("__firstlineno__", "__slotnames__")
"""Class members that do not affect behaviour; the second appears when an object is read."""

_PLAIN = (str, bytes, int, float, complex, bool, type(None))


def cell_source(target: Any) -> str:
    """Return the source of a function or class, and of what it uses of its own module."""
    return _Source(target).text()


def unnoticed(target: Any) -> list[str]:
    """Return the names of what a function or class uses whose changes :func:`cell_source` does not show, sorted."""
    return sorted(_Source(target).unnoticed)


def plain(value: Any) -> str | None:
    """Return a number, a text or a collection of these as text that two processes agree on; None for other values."""
    try:
        return _Written()(value)
    except (_NotPlainError, RecursionError):  # the second if it contains itself
        return None


class _NotPlainError(Exception):
    """A value cannot be written as text."""


class _Written:
    """Writes a value as text; a part that is neither a number, a text nor a collection is refused."""

    def __call__(self, value: Any) -> str:
        if isinstance(value, re.Pattern):  # whose repr is cut
            return f"re.compile({value.pattern!r}, {value.flags})"
        if isinstance(value, _PLAIN):
            return repr(value)
        if isinstance(value, list | tuple | set | frozenset):
            parts = map(self, value)
            ordered = sorted(parts) if isinstance(value, set | frozenset) else parts
            return f"{type(value).__name__}({', '.join(ordered)})"
        if isinstance(value, dict):
            return f"dict({self([part for item in value.items() for part in item])})"
        return self.other(value)

    def other(self, value: Any) -> str:
        raise _NotPlainError


class _WrittenDeeply(_Written):
    """Writes also functions, classes, and objects that can be pickled, such as arrays, by what pickle would keep."""

    def __init__(self, source: _Source) -> None:
        self._source, self._parts = source, 0

    def __call__(self, value: Any) -> str:
        self._parts += 1
        if self._parts > MOST_PARTS or (isinstance(value, bytes) and len(value) > LONGEST_BYTES):
            raise _NotPlainError
        if isinstance(value, bytes):
            return hashlib.sha256(value).hexdigest()
        return super().__call__(value)

    def other(self, value: Any) -> str:
        if isinstance(value, ModuleType):
            return value.__name__
        if isinstance(value, FunctionType | type):
            self._source.add(value)
            return f"{value.__module__}.{value.__qualname__}"
        if any(base.__module__.partition(".")[0] == "torch" for base in type(value).__mro__):
            raise _NotPlainError  # its weights may be large, and what pickle keeps of them has their address
        if isinstance(inner := getattr(value, "__wrapped__", None), FunctionType):  # by functools.cache
            return f"{type(value).__qualname__}({self(inner)})"
        reduce = copyreg.dispatch_table.get(type(value))
        kept = reduce(value) if reduce else value.__reduce_ex__(4)
        if isinstance(kept, str):
            return f"{getattr(value, '__module__', '')}.{kept}"
        made, arguments, state, items, entries = (*kept, None, None, None)[:5]
        parts = [made, arguments, state, list(items or ()), list(entries or ())]
        return f"object({', '.join(map(self, parts))})"


class _Source:
    """What defines a function or class.

    Attributes:
        unnoticed: The names of values that cannot be written as text.
    """

    def __init__(self, target: Any) -> None:
        self.unnoticed: set[str] = set()
        self._module = str(getattr(target, "__module__", ""))
        self._visited: list[Any] = []
        self._found: set[str] = set()
        self.add(target)

    def text(self) -> str:
        return "\n".join(sorted(self._found))

    def add(self, value: Any) -> None:
        """Add a function or class, and what it uses, if it is of the same module."""
        if not isinstance(value, FunctionType | type) or value.__module__ != self._module:
            return
        if any(value is known for known in self._visited):
            return
        self._visited.append(value)
        if isinstance(value, type):
            self._add_class(value)
        else:
            self._add_function(value)

    def _add_class(self, value: type) -> None:
        bases = [base.__qualname__ for base in value.__bases__]
        self._found.add(f"{value.__qualname__}\n{bases}")
        for base in value.__bases__:
            self.add(base)
        for name, member in vars(value).items():
            parts = [getattr(member, inner, None) for inner in ("__func__", "fget", "fset", "func")]
            functions = [part for part in (member, *parts) if isinstance(part, FunctionType | type)]
            for part in functions:
                self.add(part)
            if functions or name in _NOT_OF_THE_SOURCE:
                continue
            if not name.startswith("_"):
                self._add_value(f"{value.__qualname__}.{name}", member)
            elif (text := plain(member)) is not None:
                self._found.add(f"{value.__qualname__}.{name} = {text}")

    def _add_function(self, value: FunctionType) -> None:
        self._found.add(f"{value.__qualname__}\n{_text(value)}")
        self.add(inspect.unwrap(value))
        given = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        for number, held in enumerate(given):
            self._add_value(f"default {number + 1} of {value.__qualname__}", held)
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                held = cell.cell_contents
            except ValueError:  # not filled yet
                continue
            self._add_value(name, held)
        for name in sorted(_globals(value.__code__)):
            if name in value.__globals__:
                self._add_value(name, value.__globals__[name])

    def _add_value(self, name: str, value: Any) -> None:
        """Add a value that a function or class uses, or note that it cannot be written."""
        try:
            text = _WrittenDeeply(self)(value)
        except Exception:  # whatever an object raises that cannot be pickled
            self.unnoticed.add(name)
        else:
            self._found.add(f"{name} = {text}")


def _text(function: FunctionType) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into an interpreter that keeps no source
        return repr([(code.co_code, _constants(code)) for code in _codes(function)])


def _constants(code: CodeType) -> Sequence[str | None]:
    return [plain(constant) for constant in code.co_consts]


def _codes(function: FunctionType) -> Iterator[CodeType]:
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _globals(code: CodeType) -> set[str]:
    """Return the names that code reads of its module; names of attributes are not among them."""
    inner = (_globals(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    own = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*inner)
