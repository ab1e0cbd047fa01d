"""Why an actor of Ray died, in a few words; Ray says it in ten lines with a list of what it might have been."""

from __future__ import annotations

import re

LENGTH = 300
"""Most characters of Ray's own words."""


def death_reason(error: BaseException) -> str:
    """Return why an actor died, as a clause for a sentence, without a full stop."""
    words = " ".join(str(error).split())
    said = re.search(r"The actor is dead because (.+?)(?:\.\s|\.?$)", words)
    if said is None:
        return words[:LENGTH].rstrip(".") or type(error).__name__
    killed = "worker process has died" in said[1] and "unexpectedly exits" in words
    return "its process was killed, crashed or ran out of memory" if killed else said[1][:LENGTH]


def died_with_its_node(error: BaseException) -> bool:
    """Return True if an actor died with its node, or made room for another, so that no request can be the cause."""
    return bool(getattr(error, "preempted", False)) or "node has died" in str(error) or "node was" in str(error)
