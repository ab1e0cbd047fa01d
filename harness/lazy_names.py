"""Loads a public name's module when the name is first used: for modules that only list names of others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


def lazy_names(module: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a module whose names are imported for type checkers only.

    The import statements of its block ``if TYPE_CHECKING:`` are the only list; ``__all__`` is made from them.
    """
    namespace = sys.modules[module].__dict__

    @cache
    def origins() -> dict[str, str]:
        import ast

        tree = ast.parse(Path(namespace["__file__"]).read_text(encoding="utf-8"))
        block = next(node for node in tree.body if isinstance(node, ast.If))
        imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
        return {alias.name: str(node.module) for node in imports for alias in node.names}

    def get(name: str) -> object:
        if name == "__all__":
            return sorted(origins())
        if name.startswith("__") or name not in origins():
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        random = sys.modules.get("random")
        state = None if random is None else random.getstate()
        try:
            namespace[name] = value = getattr(import_module(origins()[name]), name)
        finally:
            if random is not None:  # a module that is imported may draw from it, as rich does
                random.setstate(state)
        return value

    def names() -> list[str]:
        return sorted({*namespace, *origins(), "__all__"})

    return get, names
