"""The two processes of an execution: one runs the program, the other the tests, which alone decide."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from metrics._code_sandbox.exchange import Peer

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def run_program(incoming: int, outgoing: int) -> None:
    """Execute the program that the tests' process sends, then serve its requests until it ends."""
    module = ModuleType("__main__")

    def run(source: str) -> None:
        sys.modules["__main__"] = module
        exec(compile(source, "<program>", "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the point of it

    def names(wanted: list[str]) -> dict[str, Any]:
        return {name: module.__dict__[name] for name in wanted if name in module.__dict__}

    Peer(incoming, outgoing, trusting=True, special={"run": run, "names": names}).serve()


def run_tests(request: Mapping[str, str], incoming: int, outgoing: int, passed: Callable[[], None]) -> None:
    """Execute tests on a program in another process, and report when they have passed.

    Names that the prefix defines belong to the tests, except for its last definition, which the program completes.
    Names that neither the prefix, the tests nor Python define belong to the program; a built-in name does so only if it
    is the entry point.

    Args:
        request: ``prefix``, ``completion``, ``tests`` and ``entry_point`` ('' if unknown).
        incoming: The file descriptor to read the program's answers from.
        outgoing: The file descriptor to write to.
        passed: Reports that the tests have passed.
    """
    peer = Peer(incoming, outgoing, trusting=False)
    peer.ask("run", request["prefix"] + request["completion"])
    namespace, unfinished = _prefix_names(request["prefix"])
    entry_points = {request["entry_point"], unfinished}
    for name in entry_points:
        namespace.pop(name, None)
    tree = ast.parse(request["tests"], "<tests>")
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    wanted = sorted(used - namespace.keys() - (set(dir(builtins)) - entry_points))
    namespace.update(peer.ask("names", wanted))
    exec(compile(tree, "<tests>", "exec", dont_inherit=True), namespace)  # noqa: S102 - the point of it
    if not peer.ended:
        passed()


def _prefix_names(prefix: str) -> tuple[dict[str, Any], str]:
    """Return the names that the prefix defines, without the last definition, and that one's name ('' without one)."""
    namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
    tree = _parse(prefix)
    unfinished = ""
    if tree.body and isinstance(last := tree.body[-1], _DEFINITIONS):
        unfinished = last.name
        tree.body.pop()
    before = dict(namespace)
    try:
        exec(compile(tree, "<prefix>", "exec", dont_inherit=True), namespace)  # noqa: S102 - the data set's own code
    except Exception:
        return before, unfinished
    return namespace, unfinished


def _parse(prefix: str) -> ast.Module:
    """Return the syntax tree of the prefix, which may end in the head of a definition without a body."""
    last = prefix.rstrip().rpartition("\n")[2]
    indentation = last[: len(last) - len(last.lstrip())]
    for end in ("", f"\n{indentation}    pass", f"\n{indentation}pass"):
        try:
            return ast.parse(prefix + end)
        except SyntaxError:
            continue
    return ast.Module([], [])
