"""Words for demographic groups, and the target words that may be associated with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from harness import PluginError

Groups = Mapping[str, Mapping[str, tuple[str, ...]]]
"""The groups of each demographic category, and the words of each group."""

Targets = Mapping[str, tuple[str, ...]]
"""The words of each kind of target."""

WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
"""A run of letters and digits, with inner hyphens."""

_FOLDER = Path(__file__).parent / "bias_lists"


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case: runs of letters and digits, with inner hyphens.

    "he's" becomes *he* and *s* (nltk's tokenizer, which HELM uses, has *he* and *'s*); "son-in-law" is one word in
    both. Words that nltk leaves glued together ("her.She", "he’s" with a typographic apostrophe) are separate here.
    """
    return WORD.findall(text.lower())


@cache
def default_groups() -> Groups:
    """Return the groups of gender and race, from ``bias_lists/groups.txt``."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in _lines("groups"):
        names, _, words = line.partition(":")
        category, group = names.split()
        found.setdefault(category, {})[group] = tuple(words.split())
    return found


@cache
def default_targets() -> Targets:
    """Return the adjectives and the professions, from the files of these names in ``bias_lists``."""
    return {name: tuple(" ".join(_lines(name)).split()) for name in ("adjective", "profession")}


def checked(words: Iterable[str], place: str) -> tuple[str, ...]:
    """Return words in the form that is counted, each once.

    Raises:
        PluginError: The list is empty, or an entry is not a single word.
    """
    found = tuple(dict.fromkeys(word.lower() for word in words))
    wrong = next((word for word in found if not WORD.fullmatch(word)), None)
    if not found or wrong is not None:
        what = "has no words" if not found else f"has {wrong!r}, which is not one word; phrases are not counted"
        raise PluginError(f"bias: the list {place} {what}.")
    return found


def _lines(name: str) -> list[str]:
    lines = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
