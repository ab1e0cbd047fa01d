"""How the harness is installed: its version, its extras, the user's cache folder."""

from __future__ import annotations

import os
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Any

DISTRIBUTION = "holistic-harness"
UNINSTALLED = "0+uninstalled"


def harness_version() -> str:
    """Return the version of the harness; one that says so where it runs from its source folder without metadata."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return UNINSTALLED


@cache
def install_advice(extra: str) -> str:
    """Return the command that installs the libraries of one of the harness's extras, such as ``hf``.

    The libraries are named themselves, since the harness may be installed from its source folder alone.
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        declared = []
    marker = re.compile(rf"\s*;\s*extra\s*==\s*['\"]{re.escape(extra)}['\"]\s*\Z")
    wanted = [marker.sub("", requirement) for requirement in declared if marker.search(requirement)]
    if not wanted:
        return f"pip install -e '.[{extra}]' in the harness's source folder"
    return f"pip install {shlex.join(wanted)}"


def imported_module(name: str) -> Any:
    """Return a module that this process has imported; None for another, also while a thread is importing it."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return None if getattr(spec, "_initializing", False) else module


def user_cache_folder() -> Path | None:
    """Return the folder for what can be computed again at any time; None where the user has no home."""
    local, home = os.environ.get("LOCALAPPDATA"), os.path.expanduser("~")
    caches = local or os.path.join(home, *(("Library", "Caches") if sys.platform == "darwin" else (".cache",)))
    folder = Path(os.environ.get("XDG_CACHE_HOME") or caches, DISTRIBUTION)
    return folder if folder.is_absolute() else None
