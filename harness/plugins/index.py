"""What a file declares, read from its text without importing it, and remembered from one command to the next.

A plugin is declared by a decorator with literal arguments at the top of a module::

    @metric("word_count", category="accuracy")      ->  Listing(METRIC, "word_count", "[accuracy] Words in …", line)
    def word_count(example): \"\"\"Words in …\"\"\"

A module that does anything else with these decorators, or decorates with something that is neither the harness's nor
the standard library's, must be imported to be known. Only names, lines and one-line summaries are taken from here; what
a plugin is and takes is known when its module is imported.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.contracts.plugins import Kind, all_tags
from harness.installation import harness_version, user_cache_folder
from harness.storage.durable import make_folder, write_whole

FORMAT = 3
"""Version of the index file; one of another version is ignored."""

SET_KEYS = {"metric_sets": Kind.METRIC, "perturbation_sets": Kind.PERTURBATION}
"""The keys of a YAML file with sets."""

_DECORATORS = {str(kind): kind for kind in Kind}
_HINT = re.compile(rb"harness|@")
"""A file without either declares nothing."""


@dataclass(frozen=True, slots=True)
class Listing:
    """One plugin that a file declares."""

    kind: Kind
    """Its kind."""
    name: str
    """Its name."""
    summary: str
    """The line that `harness list` shows of it."""
    origin: str
    """The function or class, and its line."""
    tags: tuple[str, ...] = ()
    """The tags by which a scenario is found."""


def summary_line(
    doc: str, *, title: str = "", category: str = "", members: Sequence[str] = (), prompts: Iterable[str] = ()
) -> str:
    """Return the line that `harness list` shows of a plugin."""
    if members:
        return f"= {', '.join(members)}"
    first = " ".join(doc.split("\n\n")[0].split()).replace("``", "")
    others = "".join(f" [prompt: {name}]" for name in prompts)
    return f"{title}. {first}{others}" if title else f"[{category}] {first}" if category else first


class _MustImportError(Exception):
    """Only importing the module tells what it declares."""


def read_python(source: bytes) -> list[Listing] | None:
    """Return the plugins that a Python module declares; None if only importing it can tell.

    Raises:
        SyntaxError: The text is not Python.
    """
    if not _HINT.search(source):
        return []
    tree = ast.parse(source)
    try:
        return list(_Module(tree).listings())
    except _MustImportError:
        return None


class _Module:
    """The syntax tree of a module, with the values of its top-level names."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._imported: dict[str, str] = {}
        self._constants: dict[str, ast.expr] = {}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                package = "." * node.level + (node.module or "")
                self._imported |= {alias.asname or alias.name: f"{package}:{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    self._imported[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self._constants[node.targets[0].id] = node.value

    def listings(self) -> Iterator[Listing]:
        """Yield what is declared."""
        if "*" in self._imported or self._imported.keys() & self._constants.keys():
            raise _MustImportError
        read: set[int] = set()
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                calls = [decorator for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
                declaring = [(kind, call) for call in calls if (kind := self._kind(call.func)) is not None]
                if not declaring:
                    self._refuse_unknown(node.decorator_list)
                for kind, call in declaring:
                    read.add(id(call.func))
                    doc = ast.get_docstring(node)
                    if doc is None and isinstance(node, ast.ClassDef):
                        raise _MustImportError  # it may inherit one
                    yield self._declared(kind, call, node.name, doc or "")
        for used in ast.walk(self._tree):
            if not isinstance(used, ast.Name | ast.Attribute) or isinstance(used.ctx, ast.Store):
                continue
            if self._kind(used) is not None and id(used) not in read:
                raise _MustImportError

    def _kind(self, node: ast.expr) -> Kind | None:
        """Return the kind of plugin that a decorator declares; None if it declares none."""
        if isinstance(node, ast.Name):
            module, _, name = self._imported.get(node.id, "").partition(":")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = self._imported.get(node.value.id, ""), node.attr
        else:
            return None
        return _DECORATORS.get(name) if module in {"harness", "harness.plugins.decorators"} else None

    def _refuse_unknown(self, decorators: Sequence[ast.expr]) -> None:
        """Let those of the standard library pass; any other might declare a plugin."""
        for decorator in decorators:
            while isinstance(decorator, ast.Call | ast.Attribute):
                decorator = decorator.func if isinstance(decorator, ast.Call) else decorator.value
            imported = self._imported.get(decorator.id, "") if isinstance(decorator, ast.Name) else ""
            if imported.partition(":")[0].partition(".")[0] not in sys.stdlib_module_names:
                raise _MustImportError

    def _declared(self, kind: Kind, call: ast.Call, target: str, doc: str) -> Listing:
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        if call.args:
            given["name"] = call.args[0]
        category = "robustness" if kind is Kind.PERTURBATION else ""  # the default of the decorator
        defaults: dict[str, Any] = {"name": None, "title": "", "category": category}
        if kind is not Kind.SCENARIO:  # the line of a scenario alone begins with its title
            given.pop("title", None)
        texts = {key: self._literal(given[key]) if key in given else default for key, default in defaults.items()}
        if not all(isinstance(text, str) for text in texts.values()):
            raise _MustImportError
        summary = summary_line(doc, title=texts["title"], category=texts["category"], prompts=self._prompts(given))
        return Listing(kind, texts["name"], summary, f"{target}:{call.lineno}", self._tags(given))

    def _prompts(self, given: Mapping[str | None, ast.expr]) -> list[str]:
        if "prompts" not in given:
            return []
        if not isinstance(given["prompts"], ast.Dict):
            raise _MustImportError
        return [str(self._literal(name)) for name in given["prompts"].keys if name is not None]

    def _tags(self, given: Mapping[str | None, ast.expr]) -> tuple[str, ...]:
        if "tags" not in given:
            return ()
        tags, taxonomy = self._literal(given["tags"]), self._literal(given.get("taxonomy", ast.Constant(None)))
        if not isinstance(tags, list | tuple) or not isinstance(taxonomy, dict):
            raise _MustImportError
        return all_tags(map(str, tags), str(taxonomy.get("task", "")))

    def _literal(self, node: ast.expr) -> Any:
        """Return the value of an expression of literals, or of a constant of the module."""
        if isinstance(node, ast.Name):
            node = self._constants.get(node.id, node)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            raise _MustImportError from None


def read_yaml(source: bytes) -> list[Listing] | None:
    """Return the scenario or the sets in a YAML file; None if it must be read in full to say what is wrong with it."""
    import yaml

    try:
        value = yaml.load(source, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
        sets = [(kind, value[key]) for key, kind in SET_KEYS.items() if key in value]
        if sets:
            if not all(isinstance(name, str) for _, named in sets for name in named):
                return None
            return [
                Listing(kind, name, summary_line("", members=one["members"]), "")
                for kind, named in sets
                for name, one in named.items()
            ]
        name, title, description = (value[key] for key in ("name", "title", "description"))
        summary = summary_line(inspect.cleandoc(description), title=title, prompts=value.get("prompts") or ())
        tags = all_tags(value.get("tags", ()), (value.get("taxonomy") or {}).get("task", ""))
    except (yaml.YAMLError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return None
    return [Listing(Kind.SCENARIO, name, summary, "", tags)] if isinstance(name, str) else None


class Index:
    """What the files of installed plugins declare, kept in the user's cache folder.

    An entry counts as long as its file has the same size and time of change. An index that cannot be read or written is
    rebuilt or left unwritten, without a warning.
    """

    def __init__(self) -> None:
        folder = user_cache_folder()
        self._file = folder / "plugins.json" if folder else None
        self._entries: dict[str, Any] = {}
        self._changed = False
        self._sign = [FORMAT, harness_version(), sys.version, _packages_changed()]
        if self._file is not None:
            with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
                stored = json.loads(self._file.read_text(encoding="utf-8"))
                if stored["sign"] == self._sign:
                    self._entries = dict(stored["files"])

    def listings(self, file: Path) -> list[Listing] | None:
        """Return the plugins that a Python or YAML file declares; None if only loading it can tell.

        Raises:
            OSError: It cannot be read.
            SyntaxError: It is not Python.
        """
        stamp = _stamp(file)
        with suppress(LookupError, TypeError, ValueError):
            entry = self._entries[str(file)]
            if entry["stamp"] == stamp:
                found = entry["listings"]
                return None if found is None else [_listing(one) for one in found]
        read = read_python if file.suffix == ".py" else read_yaml
        listings = read(file.read_bytes())
        stored = None if listings is None else [asdict(listing) for listing in listings]
        self._entries[str(file)] = {"stamp": stamp, "listings": stored, "loads": False}
        self._changed = True
        return listings

    def loads(self, file: Path) -> bool:
        """Return True if the file, as it is, has been loaded without a problem before."""
        return bool(self._entries.get(str(file), {}).get("loads"))

    def note_loaded(self, file: Path) -> None:
        """Remember that the file, as it is, can be loaded."""
        entry = self._entries.get(str(file))
        if entry is not None and not entry["loads"]:
            entry["loads"] = self._changed = True

    def save(self) -> None:
        """Write the index, if it has changed."""
        if self._file is None or not self._changed:
            return
        self._changed = False
        files = {file: entry for file, entry in self._entries.items() if os.path.exists(file)}
        with suppress(OSError):
            make_folder(self._file.parent)
            write_whole(self._file, json.dumps({"sign": self._sign, "files": files}).encode())


def _listing(stored: Mapping[str, Any]) -> Listing:
    return Listing(**{**stored, "kind": Kind(stored["kind"]), "tags": tuple(stored["tags"])})


def _stamp(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_mtime_ns, status.st_size]


def _packages_changed() -> Mapping[str, int]:
    """Return when packages were last installed or removed, by folder: what loaded before may no longer load."""
    folders = [folder for folder in sys.path if Path(folder).name in {"site-packages", "dist-packages"}]
    changed = {}
    for folder in folders:
        with suppress(OSError):
            changed[folder] = os.stat(folder).st_mtime_ns
    return changed
