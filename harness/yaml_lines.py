"""Read YAML as plain data with the line of every key, and with every error of the YAML itself.

Scalars follow YAML 1.2's core schema: ``yes``, ``no``, ``on``, dates and ``1:30`` are strings, ``1e-3`` is a number.
Keys are always strings. The result is valid as JSON.

The tree is built from the parser's events, so that depth and aliases are limited before they cost anything.
``yaml.compose`` recurses in C instead: a file of 1 MB of opening brackets crashes the process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.errors import Diagnostic, SpecError

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")

Keys = Sequence[str | int]

MAX_BYTES = 1_000_000
MAX_NODES = 100_000  # with aliases written out
MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Located:
    """A YAML file that has been read."""

    file: str
    """The file's name, as the user gave it."""
    data: Any
    """Its content as dict, list, str, int, float, bool and None; None for an empty file."""
    diagnostics: tuple[Diagnostic, ...]
    """Errors that leave the rest readable: duplicate keys, tags, values that JSON does not have. Of a duplicate key,
    ``data`` has the first value.
    """
    _root: _Node

    def line(self, path: Keys = ()) -> int:
        """Return the line, from 1, of the key or list item at a path; of its nearest ancestor if it does not exist."""
        return self._walk(path)[0]

    def value_line(self, path: Keys = ()) -> int:
        """Return the line on which the value's own text begins; for a block scalar (``|``), its first line of text."""
        return self._walk(path)[1].text_line

    def diagnostic(self, path: Keys, message: str, hint: str = "", *, line: int | None = None) -> Diagnostic:
        """Return an error at a path, with its line."""
        return Diagnostic(tuple(path), message, hint, self.file, line or self.line(path))

    def _walk(self, path: Keys) -> tuple[int, _Node]:
        node, line = self._root, self._root.line
        for step in path:
            children = node.children
            if isinstance(children, dict) and step in children:
                line, node = children[str(step)]
            elif isinstance(children, list) and isinstance(step, int) and 0 <= step < len(children):
                node = children[step]
                line = node.line
            else:
                break
        return line, node


def load(path: Path) -> Located:
    """Read a YAML file.

    Raises:
        SpecError: It cannot be read, is not UTF-8, is too large, is not YAML, or holds more than one document.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SpecError([Diagnostic((), f"cannot be read: {_reason(error)}.", file=str(path))]) from None
    return loads(content, file=str(path))


def load_as(path: Path, kind: type[M]) -> M:
    """Read a YAML file as a pydantic model.

    Raises:
        SpecError: It cannot be read (see :func:`load`), or is not as the model says; it holds all errors.
    """
    from pydantic import ValidationError

    from harness.validation import explain

    located = load(path)
    diagnostics = list(located.diagnostics)
    try:
        found = kind.model_validate(located.data)
    except ValidationError as error:
        diagnostics += [
            located.diagnostic(found.keys, found.message, found.hint) for found in explain(error, kind, located.data)
        ]
    if diagnostics:
        raise SpecError(diagnostics)
    return found


def loads(content: bytes | str, *, file: str) -> Located:
    """Read YAML that is in memory; the file's name is for messages. Raises like :func:`load`."""
    if len(content) > MAX_BYTES:
        raise SpecError(
            [
                Diagnostic(
                    (), f"is larger than {MAX_BYTES:,} bytes, which is too large for a file written by hand.", file=file
                )
            ]
        )
    if isinstance(content, bytes):
        content = _decode(content, file)
    return _Builder(file).read(content)


@dataclass(slots=True)
class _Node:
    line: int
    text_line: int
    value: Any = None
    children: dict[str, tuple[int, _Node]] | list[_Node] | None = None
    size: int = 1


@dataclass(slots=True)
class _Builder:
    """Builds nodes from the parser's events."""

    file: str
    diagnostics: list[Diagnostic] = field(default_factory=list)
    anchors: dict[str, _Node | None] = field(default_factory=dict)
    nodes: int = 0

    def read(self, text: str) -> Located:
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            root = self._document(yaml.parse(text, loader))
        except yaml.YAMLError as error:
            raise SpecError([self._syntax(error, text)]) from None
        return Located(self.file, root.value, tuple(self.diagnostics), root)

    def _document(self, events: Iterator[Any]) -> _Node:
        from yaml import events as kinds

        root = None
        for event in events:
            if isinstance(event, kinds.DocumentStartEvent):
                if root is not None:
                    raise self._fatal(event, (), "a second document begins here; a file holds one.")
                root = self._node(next(events), events, ())
        return root or _Node(1, 1)

    def _node(self, event: Any, events: Iterator[Any], path: tuple[str | int, ...]) -> _Node:
        from yaml import events as kinds

        line = _line(event)
        if isinstance(event, kinds.AliasEvent):
            return self._alias(event, path)
        if len(path) >= MAX_DEPTH:
            raise self._fatal(event, path[:3], f"is nested more than {MAX_DEPTH} levels deep.")
        self._count(event, path, 1)
        node = _Node(line, line)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        if isinstance(event, kinds.ScalarEvent):
            node.text_line += event.style in {"|", ">"}
            node.value = self._scalar(event, path)
        elif isinstance(event, kinds.SequenceStartEvent):
            self._check_tag(event, path, "tag:yaml.org,2002:seq")
            self._sequence(node, events, path)
        else:
            self._check_tag(event, path, "tag:yaml.org,2002:map")
            self._mapping(node, events, path)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, path: tuple[str | int, ...]) -> _Node:
        if event.anchor not in self.anchors:
            raise self._fatal(event, path, f"*{event.anchor} is not defined before this line.")
        node = self.anchors[event.anchor]
        if node is None:
            raise self._fatal(event, path, f"*{event.anchor} is used inside its own value.")
        self._count(event, path, node.size)
        return node

    def _sequence(self, node: _Node, events: Iterator[Any], path: tuple[str | int, ...]) -> None:
        from yaml import events as kinds

        children: list[_Node] = []
        while not isinstance(event := next(events), kinds.SequenceEndEvent):
            children.append(self._node(event, events, (*path, len(children))))
        node.children = children
        node.value = [child.value for child in children]
        node.size += sum(child.size for child in children)

    def _mapping(self, node: _Node, events: Iterator[Any], path: tuple[str | int, ...]) -> None:
        from yaml import events as kinds

        children: dict[str, tuple[int, _Node]] = {}
        merged: dict[str, tuple[int, _Node]] = {}
        while not isinstance(event := next(events), kinds.MappingEndEvent):
            line = _line(event)
            plain_merge = isinstance(event, kinds.ScalarEvent) and event.value == "<<" and not event.style
            key = self._key(event, events, path)
            value = self._node(next(events), events, (*path, key))
            if plain_merge:
                self._merge(merged, value, path, line)
            elif key in children:
                message = f"is already set on line {children[key][0]}."
                self._note(event, (*path, key), message, "Remove one of them.")
            else:
                children[key] = (line, value)
        node.children = {**children, **{key: pair for key, pair in merged.items() if key not in children}}
        node.value = {key: child.value for key, (_, child) in node.children.items()}
        node.size += sum(1 + child.size for _, child in node.children.values())

    def _key(self, event: Any, events: Iterator[Any], path: tuple[str | int, ...]) -> str:
        from yaml import events as kinds

        if isinstance(event, kinds.ScalarEvent):
            self._scalar(event, path)
            if event.anchor is not None:
                self.anchors[event.anchor] = _Node(_line(event), _line(event), event.value)
            return str(event.value)
        node = self._node(event, events, path)
        if isinstance(node.value, str):
            return node.value
        hint = "Put templates that begin with '{{' in quotes." if isinstance(node.value, dict) else ""
        self._note(event, path, "a key must be text.", hint)
        return "?"

    def _merge(self, merged: dict[str, tuple[int, _Node]], value: _Node, path: Keys, line: int) -> None:
        sources = value.children if isinstance(value.children, list) else [value]
        for source in sources:
            if not isinstance(source.children, dict):
                message = "'<<' merges a mapping, or a list of mappings."
                self.diagnostics.append(Diagnostic(tuple(path), message, file=self.file, line=line))
                return
            for key, pair in source.children.items():
                merged.setdefault(key, pair)

    def _scalar(self, event: Any, path: tuple[str | int, ...]) -> Any:
        text: str = event.value
        tag = (event.tag or "").removeprefix("tag:yaml.org,2002:")
        if any("\ud800" <= character <= "\udfff" for character in text):
            self._note(event, path, "contains half of a surrogate pair, which is not a character.")
            return ""
        if tag in {"str", "!"} or (not tag and event.style):
            return text
        if tag and tag not in {"int", "float", "bool", "null"}:
            self._note(event, path, f"has the tag {event.tag!r}; only plain values are read.", "Remove the tag.")
            return text
        try:
            return _plain(text)
        except ValueError as error:
            self._note(event, path, str(error))
            return text

    def _check_tag(self, event: Any, path: tuple[str | int, ...], plain: str) -> None:
        if event.tag not in {None, "!", plain}:
            self._note(event, path, f"has the tag {event.tag!r}; only plain values are read.", "Remove the tag.")

    def _count(self, event: Any, path: tuple[str | int, ...], nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise self._fatal(event, path, f"the file has more than {MAX_NODES:,} values, aliases written out.")

    def _note(self, event: Any, path: Keys, message: str, hint: str = "") -> None:
        self.diagnostics.append(Diagnostic(tuple(path), message, hint, self.file, _line(event)))

    def _fatal(self, event: Any, path: Keys, message: str) -> SpecError:
        self._note(event, path, message)
        return SpecError(self.diagnostics)

    def _syntax(self, error: Any, text: str) -> Diagnostic:
        mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem: str = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        context = getattr(error, "context", None)
        line = mark.line + 1 if mark else None
        column = f" (column {mark.column + 1})" if mark else ""
        if "cannot start any token" in problem and _begins_with_tab(text, mark.line):
            return Diagnostic((), "is indented with a tab.", "Indent YAML with spaces.", self.file, line)
        hint = ""
        if "found character that cannot start any token" in problem:
            hint = "A value that begins with one of %@`{}[]&*!|> needs quotes."
        elif "mapping values are not allowed" in problem:
            hint = "A value that holds ': ' needs quotes."
        detail = f"{context}, {problem}" if context else problem
        return Diagnostic((), f"is not valid YAML: {detail}{column}.", hint, self.file, line)


_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Mapping[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        if len(text) > 30:
            raise ValueError(f"{text[:20]}… is too long for a number; put it in quotes if it is text.")
        return int(text)
    if _FLOAT.fullmatch(text):
        if not math.isfinite(number := float(text)):
            raise ValueError(f"{text} is too large for a number; put it in quotes if it is text.")
        return number
    return text


_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")  # YAML 1.1's, by which the parser counts lines


def _begins_with_tab(text: str, line: int) -> bool:
    """Return whether a line, counted from 0, is indented with a tab."""
    written = _LINE_BREAK.split(text)[line]
    return "\t" in written[: len(written) - len(written.lstrip())]


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _decode(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8 text: byte 0x{content[error.start]:02x} cannot be read."
        raise SpecError([Diagnostic((), message, "Save it as UTF-8.", file, line)]) from None


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
