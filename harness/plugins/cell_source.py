"""The source of what a notebook's cell defines: it has no file whose digest would say that it has changed.

An object's source is followed by that of the functions, classes and constants of the same module that it uses, and of
what these use::

    THRESHOLD = 3                       <- used by close
    def close(a, b): ...                <- used by near
    @metric("near", …)
    def near(example): ...
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PLAIN = (str, bytes, int, float, complex, bool, type(None), re.Pattern)


def cell_source(target: Any) -> str:
    """Return the source of a function or class, and of what it uses of its own module."""
    found: dict[str, str] = {}
    _collect(target, str(getattr(target, "__module__", "")), found)
    return "\n".join(f"{name}\n{text}" for name, text in sorted(found.items()))


def plain(value: Any) -> str | None:
    """Return a number, a text or a collection of these as text that two processes agree on; None for other values."""
    try:
        return _written(value)
    except RecursionError:  # it contains itself
        return None


def _written(value: Any) -> str | None:
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, list | tuple | set | frozenset):
        parts = [_written(item) for item in value]
        known = [part for part in parts if part is not None]
        ordered = sorted(known) if isinstance(value, set | frozenset) else known
        return f"{type(value).__name__}({', '.join(ordered)})" if len(known) == len(parts) else None
    if isinstance(value, dict):
        items = _written([part for item in value.items() for part in item])
        return None if items is None else f"dict({items})"
    return None


def _collect(value: Any, module: str, found: dict[str, str]) -> None:
    if not isinstance(value, FunctionType | type) or value.__module__ != module or value.__qualname__ in found:
        return
    found[value.__qualname__] = ""
    if isinstance(value, type):
        own = {name: member for name, member in sorted(vars(value).items()) if name not in ("__dict__", "__weakref__")}
        held = {name: text for name, member in own.items() if (text := plain(member)) is not None}
        held.pop("__firstlineno__", None)
        found[value.__qualname__] = repr([[base.__qualname__ for base in value.__bases__], held])
        for base in value.__bases__:
            _collect(base, module, found)
        for member in own.values():
            for part in (member, *(getattr(member, name, None) for name in ("__func__", "fget", "func"))):
                _collect(part, module, found)
        return
    found[value.__qualname__] = _text(value)
    _collect(inspect.unwrap(value), module, found)
    for held_value in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *_cells(value)):
        _note(repr(value.__qualname__), held_value, module, found)
    for name in sorted(_names(value.__code__)):
        if name in value.__globals__:
            _note(name, value.__globals__[name], module, found)


def _note(name: str, value: Any, module: str, found: dict[str, str]) -> None:
    """Add a value that a function uses: a constant, or another function or class."""
    if (text := plain(value)) is not None:
        found.setdefault(f"{name} = {text}", "")
    elif not isinstance(value, ModuleType):
        _collect(value, module, found)


def _text(function: FunctionType) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into an interpreter that keeps no source
        return repr([(code.co_code, [plain(constant) for constant in code.co_consts]) for code in _codes(function)])


def _codes(function: FunctionType) -> Iterator[CodeType]:
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _names(code: CodeType) -> set[str]:
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _cells(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
