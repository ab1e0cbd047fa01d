"""Words and phrases that a perturbation replaces: finding them in a text, and keeping their case."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness import PluginError

_WORD = re.compile(r"\w+")
FOLDER = Path(__file__).parent

Choose = Callable[["Found", Sequence[str]], str | None]
"""Chooses one of the alternatives of what was found; None leaves it unchanged."""


@dataclass(frozen=True, slots=True)
class Found:
    """A word or phrase in a text."""

    text: str
    """The whole text."""
    start: int
    """Its first position."""
    end: int
    """The position after its end."""

    @property
    def words(self) -> str:
        """The word or phrase as it occurs in the text."""
        return self.text[self.start : self.end]

    @property
    def before(self) -> str:
        """The character before it; empty at the start of the text."""
        return self.text[self.start - 1 : self.start] if self.start else ""

    @property
    def after(self) -> str:
        """The character after it; empty at the end of the text."""
        return self.text[self.end : self.end + 1]


class Lexicon:
    """Words and phrases with their alternatives, found in a text as whole words and regardless of case.

    Of several entries that begin at the same place the longest is found; replaced text is not searched again. Straight
    and curved apostrophes are equivalent. Time is linear in the text and does not depend on the number of entries.
    """

    def __init__(self, alternatives: Mapping[str, Sequence[str]]) -> None:
        self.alternatives = {key.lower(): tuple(values) for key, values in alternatives.items()}
        # By its first word, each entry that goes on after it, the longest first.
        self._longer: dict[str, list[str]] = {}
        for key in sorted(self.alternatives, key=len, reverse=True):
            first = _WORD.match(key)
            if first is None:
                raise ValueError(f"{key!r} does not begin with a letter or digit.")
            if first.end() < len(key):
                self._longer.setdefault(first.group(), []).append(key)

    def substitute(self, text: str, choose: Choose) -> str:
        """Return the text with each found entry replaced by the chosen alternative; the case is kept."""
        parts: list[str] = []
        copied = 0
        for match in _WORD.finditer(text):
            start = match.start()
            if start < copied:
                continue
            word = match.group().lower()
            key, end = (word, match.end()) if word in self.alternatives else ("", 0)
            for longer in self._longer.get(word, ()):
                stop = start + len(longer)
                same = text[start:stop].replace("’", "'").lower() == longer
                if same and not _WORD.match(text[stop : stop + 1]):
                    key, end = longer, stop
                    break
            if not key:
                continue
            found = Found(text, start, end)
            chosen = choose(found, self.alternatives[key])
            if chosen is not None:
                parts += (text[copied:start], match_case(found.words, chosen))
                copied = end
        return "".join((*parts, text[copied:]))


def match_case(old: str, new: str) -> str:
    """Return the new word in capitals, capitalised or in lower case, like the old one; otherwise unchanged.

    A single capital letter, such as "I", counts as capitalised, not as all in capitals.
    """
    letters = [letter for letter in old if letter.isalpha()]
    if all(letter.islower() for letter in letters):
        return new.lower()
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


@cache
def function_words() -> frozenset[str]:
    """Return the words that have a grammatical function but little meaning, such as "the" and "of"."""
    return frozenset(word for line in read_lines(FOLDER / "function_words.txt") for word in line.split())


def read_lines(path: Path) -> list[str]:
    """Return the lines of a word list, without empty lines and comments (``#``).

    Raises:
        PluginError: The file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PluginError(f"word list {path} cannot be read: {error}.") from None
    return [line for line in lines if line.strip() and not line.startswith("#")]


def read_alternatives(path: Path) -> dict[str, list[str]]:
    """Return the alternatives of each entry of a word list.

    Lines have the form ``entry: alternative, alternative``; a ``.json`` file contains an object of lists.

    Raises:
        PluginError: The file cannot be read, or has another form.
    """
    if path.suffix == ".json":
        return _read_json(path)
    alternatives: dict[str, list[str]] = {}
    for line in read_lines(path):
        key, colon, values = line.partition(":")
        words = stripped(values.split(","))
        if not colon or not words or not _WORD.match(key.strip()):
            raise PluginError(f"word list {path}: {line!r} is not of the form `word: alternative, alternative`.")
        alternatives.setdefault(key.strip().lower(), []).extend(words)
    return alternatives


@cache
def read_lexicon(path: Path) -> Lexicon:
    """Return the lexicon of a word list (see :func:`read_alternatives`)."""
    return Lexicon(read_alternatives(path))


def _read_json(path: Path) -> dict[str, list[str]]:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PluginError(f"word list {path} cannot be read: {error}.") from None
    if not isinstance(held, dict) or not all(
        _WORD.match(key) and isinstance(words, list) and words and all(isinstance(word, str) for word in words)
        for key, words in held.items()
    ):
        raise PluginError(f"word list {path} is not a JSON object of lists of words.")
    return {key.lower(): words for key, words in held.items()}


def stripped(words: Iterable[str]) -> list[str]:
    """Return the words without surrounding spaces, leaving out empty ones."""
    return [word.strip() for word in words if word.strip()]
