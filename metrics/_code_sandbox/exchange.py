"""Calls between two processes that exchange only plain data, so that neither must trust the other's objects.

The tests run in one process and the program in another. Numbers, text and the built-in containers are sent as values
of exactly these types. Functions, generators and objects of other classes stay in their process; the other side gets a
:class:`Remote`, which is compared on that side. Only a few modules of the standard library are used.
"""

from __future__ import annotations

import builtins
import importlib
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

MAX_MESSAGE = 64 << 20
"""Size of the longest message, in bytes."""

_NUMBERS: tuple[type[Any], ...] = (bool, int, float, complex)
_CONTAINERS: tuple[type[Any], ...] = (str, bytes, bytearray, list, tuple, dict, set, frozenset, range)
_TYPES: dict[str, Any] = {kind.__name__: kind for kind in (*_NUMBERS, *_CONTAINERS, type, object)}
_ITERABLES: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
_KEYS: Any = type({}.keys())
_SMALL = 1 << 63
_CALLABLE = (FunctionType, BuiltinFunctionType, MethodType, type)
_ASKS = frozenset({"call", "attribute", "item", "length", "iterate", "next"})


class OtherSideEndedError(BaseException):
    """The other process ended, or sent something that is not a message; tests cannot catch it as an Exception."""


class RemoteError(Exception):
    """An exception of a class that only the other process knows."""


class Remote:
    """An object of the other process, which can be called, iterated over, indexed, and asked for attributes.

    It equals only itself and is always true, since the other side must not decide comparisons.
    """

    __slots__ = ("_number", "_peer")

    def __init__(self, peer: Peer, number: int) -> None:
        self._peer, self._number = peer, number

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._peer.ask("call", self._number, args, keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._peer.ask("attribute", self._number, name)

    def __getitem__(self, key: Any) -> Any:
        return self._peer.ask("item", self._number, key)

    def __len__(self) -> int:
        return int(self._peer.ask("length", self._number))

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        iterator: Remote = self._peer.ask("iterate", self._number)
        return iterator

    def __next__(self) -> Any:
        return self._peer.ask("next", self._number)


class Peer:
    """One end of a pair of pipes.

    Args:
        incoming: The file descriptor to read from.
        outgoing: The file descriptor to write to.
        trusting: Let the other side do everything with the objects that it got, instead of only calling functions that
            were passed to it.
        special: Further requests that it may make, by name.
    """

    def __init__(
        self,
        incoming: int,
        outgoing: int,
        *,
        trusting: bool,
        special: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self.ended = False
        self._incoming, self._outgoing, self._trusting = incoming, outgoing, trusting
        self._special = dict(special or {})
        self._exported: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._remotes: dict[int, Remote] = {}

    def ask(self, what: str, *arguments: Any) -> Any:
        """Send a request, answer the other side's requests meanwhile, and return its answer.

        Lists, dictionaries, sets and byte arrays that the other side changed in place are changed here too.

        Raises:
            OtherSideEndedError: The other side has ended.
            Exception: The exception of the other side: a built-in one, or a RemoteError.
        """
        self._send([what, self._encode(arguments)])
        while True:
            message = self._receive()
            if message[0] == "value":
                passed = arguments[1] if what == "call" else ()
                for position, changed in message[2]:
                    _replace(passed[position], self._decode(changed))
                return self._decode(message[1])
            if message[0] == "error":
                raise _exception(message[1], message[2])
            self._answer(message)

    def serve(self) -> None:
        """Answer until the other side ends."""
        while True:
            self._answer(self._receive())

    def _answer(self, message: Any) -> None:
        try:
            name, arguments = message[0], self._decode(message[1])
            value = self._special[name](*arguments) if name in self._special else self._perform(name, *arguments)
            changes = []
            if name == "call":
                # What was passed is compared with what it became, both as it is sent.
                sent = message[1][1][1][1]
                now = [self._encode(argument) if _mutable(argument) else None for argument in arguments[1]]
                changes = [
                    [position, after]
                    for position, (before, after) in enumerate(zip(sent, now, strict=True))
                    if after is not None and after != before
                ]
            reply = ["value", self._encode(value), changes]
        except OtherSideEndedError:
            raise
        except BaseException as error:  # an answer like any other, SystemExit included
            reply = ["error", type(error).__name__, str(error)[:1000]]
        self._send(reply)

    def _perform(self, name: str, target: Any, *arguments: Any) -> Any:
        if name not in _ASKS or not (self._trusting or name == "call"):
            raise TypeError(f"{name!r} cannot be asked for")
        found = self._exported[int(target)]
        match name:
            case "call":
                return found(*arguments[0], **arguments[1])
            case "attribute":
                return getattr(found, arguments[0])
            case "item":
                return found[arguments[0]]
            case "length":
                return len(found)
            case "iterate":
                return _Iterator(iter(found))
        return next(found)

    # -----------------------------------------------------------------------------------------------------------
    # Values

    def _encode(self, value: Any) -> Any:
        """Return a value as JSON; anything but plain data is represented by a number."""
        if value is None or isinstance(value, bool | str | float):
            return value
        if isinstance(value, int):
            return value if -_SMALL < value < _SMALL else ["int", hex(value)]
        for tag, container in _ITERABLES.items():
            if isinstance(value, container):
                return [tag, [self._encode(item) for item in value]]
        if isinstance(value, dict):
            return ["dict", [[self._encode(key), self._encode(item)] for key, item in value.items()]]
        return self._encode_rare(value)

    def _encode_rare(self, value: Any) -> Any:
        match value:
            case Remote() if value._peer is self:
                return ["yours", value._number]
            case bytes():
                return ["bytes", value.hex()]
            case bytearray():
                return ["bytearray", value.hex()]
            case complex():
                return ["complex", repr(value.real), repr(value.imag)]
            case range():
                return ["range", *(self._encode(part) for part in (value.start, value.stop, value.step))]
            case deque():
                return ["deque", [self._encode(item) for item in value], value.maxlen]
            case ModuleType() if value.__name__ in sys.stdlib_module_names:
                return ["module", value.__name__]
            case type() if value in _TYPES.values():
                return ["type", value.__name__]
        for module, name in (("decimal", "Decimal"), ("fractions", "Fraction")):
            if type(value) is getattr(sys.modules.get(module), name, None):
                return [name, str(value)]
        if type(value) is _KEYS:
            return ["keys", [self._encode(key) for key in value]]
        if not (self._trusting or isinstance(value, _CALLABLE)):
            raise TypeError(f"{type(value).__name__} objects cannot be passed to the program")
        return ["mine", self._export(value)]

    def _export(self, value: Any) -> int:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._exported)
            self._exported.append(value)  # kept, so that its id stays its own
        return number

    def _decode(self, data: Any) -> Any:
        if not isinstance(data, list):
            return data
        tag, *rest = data
        match tag:
            case "list" | "tuple" | "set" | "frozenset":
                return _ITERABLES[tag](self._decode(item) for item in rest[0])
            case "dict":
                return {self._decode(key): self._decode(item) for key, item in rest[0]}
            case "int":
                return int(rest[0], 16)
            case "mine":
                return self._remotes.setdefault(rest[0], Remote(self, int(rest[0])))
            case "yours":
                return self._exported[int(rest[0])]
        return self._decode_rare(tag, rest)

    def _decode_rare(self, tag: str, rest: list[Any]) -> Any:
        match tag:
            case "bytes" | "bytearray":
                return _TYPES[tag].fromhex(rest[0])
            case "complex":
                return complex(float(rest[0]), float(rest[1]))
            case "range":
                return range(*(self._decode(part) for part in rest))
            case "deque":
                return deque([self._decode(item) for item in rest[0]], rest[1])
            case "keys":
                return dict.fromkeys(self._decode(key) for key in rest[0]).keys()
            case "module" if rest[0] in sys.stdlib_module_names:
                return importlib.import_module(rest[0])
            case "type":
                return _TYPES[rest[0]]
            case "Decimal" | "Fraction":
                return getattr(importlib.import_module(f"{tag.lower()}{'s' * (tag == 'Fraction')}"), tag)(rest[0])
        raise ValueError(f"{tag!r} is not a kind of value")

    # -----------------------------------------------------------------------------------------------------------
    # Messages

    def _send(self, message: Any) -> None:
        content = json.dumps(message, check_circular=False, separators=(",", ":")).encode("ascii")
        if len(content) > MAX_MESSAGE:
            raise ValueError("a value is too large to be passed between the program and its tests")
        view = memoryview(len(content).to_bytes(4, "big") + content)
        try:
            while view:
                view = view[os.write(self._outgoing, view) :]
        except OSError:
            self._end()

    def _receive(self) -> Any:
        length = int.from_bytes(self._read(4), "big")
        if length > MAX_MESSAGE:
            self._end()
        try:
            message = json.loads(self._read(length))
        except (ValueError, RecursionError):
            message = None
        if not (isinstance(message, list) and len(message) >= 2 and isinstance(message[0], str)):
            self._end()
        return message

    def _read(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            try:
                part = os.read(self._incoming, min(count - len(parts), 1 << 20))
            except OSError:
                part = b""
            if not part:
                self._end()
            parts += part
        return bytes(parts)

    def _end(self) -> None:
        self.ended = True
        raise OtherSideEndedError


class _Iterator:
    """An iterator with a class of its own, so that it is passed as an object and not as its content."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._items)


def _mutable(value: Any) -> bool:
    return type(value) in {list, dict, set, bytearray}


def _replace(mine: Any, changed: Any) -> None:
    """Give a container the content of its copy in the other process."""
    if type(mine) is not type(changed) or not _mutable(mine):
        return
    if isinstance(mine, list | bytearray):
        mine[:] = changed
    else:
        mine.clear()
        mine.update(changed)


def _exception(name: Any, text: Any) -> Exception:
    kind = getattr(builtins, name, None) if isinstance(name, str) else None
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(str(text))
        except TypeError:  # UnicodeDecodeError takes more than a text
            pass
    return RemoteError(f"{name}: {text}")
