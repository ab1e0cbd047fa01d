"""The drawing of exceptions in ``harness.errors`` is complete and true."""

from __future__ import annotations

import ast
import builtins
import re
from pathlib import Path

import harness.errors

ROOT = Path(__file__).parents[2]
PACKAGES = ("harness", "scenarios", "adapters", "metrics")


def exceptions() -> dict[str, str]:
    """Return the base of each exception class of ours, by name; those with an underscore are a module's own affair."""
    classes = [
        (node.name, ast.unparse(node.bases[0]).rpartition(".")[2])
        for package in PACKAGES
        for file in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.bases
    ]
    known = {
        name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
    }
    found: dict[str, str] = {}
    while new := {name: base for name, base in classes if base in known and name not in known}:
        found |= new
        known |= new.keys()
    return {name: base for name, base in found.items() if not name.startswith("_")}


def drawn() -> dict[str, str]:
    """Return the parent of each class in the drawing, by name."""
    parents: dict[str, str] = {}
    above: dict[int, str] = {}
    for line in (harness.errors.__doc__ or "").splitlines():
        entry = re.fullmatch(r"    ([│├└─ ]*)(\w+)(?: {2,}.*)?", line)
        if entry is None:
            continue
        depth = len(entry[1]) // 4
        above[depth] = entry[2]
        if depth:
            parents[entry[2]] = above[depth - 1]
    return parents


def test_every_exception_is_drawn_below_its_base() -> None:
    found = exceptions()
    assert len(found) > 10
    assert found.pop("HarnessError") == "Exception"
    assert drawn() == found


def test_what_was_drawn_can_be_read() -> None:
    assert drawn()["CacheError"] == "StorageError"
    assert drawn()["FilteredError"] == "RequestFailedError"
