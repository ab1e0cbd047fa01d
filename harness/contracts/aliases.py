"""Names that other programs have for a scenario: their ``mmlu_anatomy`` is our ``mmlu:subject=anatomy``.

An alias is written as the other program writes the task, with ``{parameter}`` at the place of a value of one of our
parameters (``{parameter/8}`` if the value has eight characters), and ``*`` for any text::

    mmlu_{subject}                             lm-evaluation-harness's name of a task
    natural_qa:mode=closedbook                 HELM's name of a run, and the arguments by which it is recognised
    wmt_14:language_pair={source}-en

What it means here is written as arguments, ``subset=challenge,level=all``; ``a|b`` are several values of one parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_PART = re.compile(r"\{(?P<name>[a-z][a-z0-9_]*)(?:/(?P<size>[0-9]{1,3}))?\}|(?P<any>\*)|_")


@dataclass(frozen=True, slots=True)
class Alias:
    """One name that another program has for a scenario or for a part of it."""

    program: str
    """The program, by the name that prompts imitating it have: ``lm_eval``, ``helm``."""
    name: str
    """The name there."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Arguments there by which it is recognised."""
    means: Mapping[str, str] = field(default_factory=dict)
    """The scenario's arguments here, besides those at the places of parameters."""

    def values(self, name: str, arguments: Mapping[str, str]) -> dict[str, str] | None:
        """Return the text at the place of each parameter; None if a name and its arguments are not this alias's.

        >>> Alias("lm_eval", "mmlu_{subject}").values("mmlu_anatomy", {})
        {'subject': 'anatomy'}
        """
        found: dict[str, str] = {}
        pairs = [(self.name, name), *((pattern, arguments.get(key)) for key, pattern in self.given.items())]
        for pattern, text in pairs:
            match = None if text is None else _expression(pattern).fullmatch(text)
            if match is None:
                return None
            found |= match.groupdict()
        return found

    @property
    def literal(self) -> int:
        """Number of characters that are the same in all names which fit: the larger, the more specific the alias."""
        return sum(len(_PART.sub("", pattern)) + 10 for pattern in (self.name, *self.given.values()))


def read_alias(program: str, pattern: str, means: str) -> Alias:
    """Return an alias from its pattern and our arguments, ``subset=challenge``.

    Raises:
        ValueError: One of them is not written as it should be; the message says how.
    """
    name, colon, rest = pattern.partition(":")
    if not name.strip():
        raise ValueError(f"{pattern!r} does not begin with a name")
    alias = Alias(program, name, _pairs(rest, pattern) if colon else {}, _pairs(means, means) if means else {})
    captured = [found["name"] for part in (name, *alias.given.values()) for found in _PART.finditer(part)]
    twice = next((one for one in captured if one and captured.count(one) > 1), None)
    if twice is not None:
        raise ValueError(f"{pattern!r} has {{{twice}}} twice")
    return alias


def _pairs(text: str, whole: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not key.strip() or not equals:
            raise ValueError(f"{part!r} in {whole!r} is not of the form key=value")
        pairs[key.strip()] = value.strip()
    return pairs


def _expression(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    end = 0
    for found in _PART.finditer(pattern):
        parts.append(re.escape(pattern[end : found.start()]))
        size = f"{{{found['size']}}}" if found["size"] else "+?"
        parts.append(f"(?P<{found['name']}>.{size})" if found["name"] else ".*" if found["any"] else "[_-]")
        end = found.end()
    return re.compile("".join([*parts, re.escape(pattern[end:])]), re.IGNORECASE)
