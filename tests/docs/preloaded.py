"""Runs harness commands in processes that start with everything imported, which takes a tenth of the time."""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_FORKSERVER = multiprocessing.get_context("forkserver")


def preload() -> None:
    """Have the process that all others are copied from import the command line and the plugins."""
    packages = ("harness.cli", "scenarios", "adapters", "metrics")
    found = list(packages)
    for package in packages:
        for module in pkgutil.walk_packages([str(ROOT.joinpath(*package.split(".")))], f"{package}."):
            if not module.name.rpartition(".")[2].startswith("_"):
                found.append(module.name)
    _FORKSERVER.set_forkserver_preload(found)


def harness(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run a harness command in a folder; return its exit code and what it printed."""
    printed = folder / ".printed"
    process = _FORKSERVER.Process(target=_command, args=(str(folder), arguments, str(printed)))
    process.start()
    process.join()
    assert process.exitcode is not None
    text = printed.read_text("utf-8")
    printed.unlink()
    return process.exitcode, text


def _command(folder: str, arguments: tuple[str, ...], printed: str) -> None:
    os.chdir(folder)
    output = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.argv = ["harness", *arguments]
    from harness.cli import main

    main()
    sys.stdout.flush()
