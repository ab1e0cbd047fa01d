"""The facts that a checkpoint's model card states: the front matter of its README.md, as on the Hugging Face Hub."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

CARD = "README.md"
LARGEST_CARD = 1_000_000
"""Bytes of a card that are read; the front matter is at its beginning."""

LONGEST_FACT = 200
"""Characters of a fact; a longer one is left out."""

_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)", re.DOTALL)


def card_in_folder(folder: Path) -> Mapping[str, Any]:
    """Return the front matter of a folder's model card; empty if there is none, or it cannot be read."""
    import yaml

    try:
        with (folder / CARD).open("rb") as file:
            text = file.read(LARGEST_CARD).decode("utf-8", "replace")
    except OSError:
        return {}
    front = _FRONT.match(text)
    found: object = None
    if front:
        with suppress(yaml.YAMLError, ValueError, RecursionError):  # a card is for people; it may be malformed
            found = yaml.load(front[1], getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    return found if isinstance(found, Mapping) else {}


def facts_of_card(card: Mapping[str, Any]) -> dict[str, str]:
    """Return ``licence``, ``base_model`` and ``library`` as a model card's front matter states them.

    A licence that the Hub does not know, ``other``, is shown by the name that the card gives it.
    """
    licence = card.get("license")
    if licence == "other" and card.get("license_name"):
        licence = card["license_name"]
    stated = {"licence": licence, "base_model": card.get("base_model"), "library": card.get("library_name")}
    facts = {name: _text(value) for name, value in stated.items()}
    return {name: text for name, text in facts.items() if text}


def _text(value: Any) -> str:
    """Return a text, or a list of texts, as one text; '' for anything else."""
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        return ""
    joined = ", ".join(" ".join(text.split()) for text in texts)
    return joined if len(joined) <= LONGEST_FACT else ""
