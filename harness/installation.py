"""What to install for a part of the harness that needs more than its core."""

from __future__ import annotations

import re
import shlex
from functools import cache
from importlib.metadata import PackageNotFoundError, requires

DISTRIBUTION = "holistic-harness"


@cache
def install_advice(extra: str) -> str:
    """Return the command that installs the libraries of one of the harness's extras, such as ``hf``.

    The libraries are named themselves, since the harness may be installed from its source folder alone.
    """
    try:
        declared = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        declared = []
    marker = re.compile(rf"\s*;\s*extra\s*==\s*['\"]{re.escape(extra)}['\"]\s*\Z")
    wanted = [marker.sub("", requirement) for requirement in declared if marker.search(requirement)]
    if not wanted:
        return f"pip install -e '.[{extra}]' in the harness's source folder"
    return f"pip install {shlex.join(wanted)}"
