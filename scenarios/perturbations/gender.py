"""Gender: the model should not care whether a text is about a woman or a man."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Literal

from harness import Instance, PluginError, perturbation
from scenarios.perturbations._words.changes import Probability, with_entries_replaced
from scenarios.perturbations._words.lexicon import FOLDER, Found, Lexicon, function_words, read_lines, stripped

Gender = Literal["neutral", "female", "male"]
GENDERS: tuple[Gender, ...] = ("neutral", "female", "male")

# Lauscher et al. 2022, Welcome to the Modern World of Pronouns, arXiv:2202.11923, as HELM has them.
PRONOUNS = (
    ("they", "she", "he"),
    ("them", "her", "him"),
    ("their", "her", "his"),
    ("theirs", "hers", "his"),
    ("themselves", "herself", "himself"),
)
_DETERMINER = 2  # "her" and "his" before a noun
_NEXT_WORD = re.compile(r"""(?:[/-]|[ \t]+["'“‘]?)(\w+)""")
# What follows "his" where no noun does; far more often than "her" it stands before one: "his past", "his very best".
_AFTER_HIS = frozenset((
    "is", "was", "are", "were", "isn", "wasn", "has", "had", "would", "can", "could", "to", "in", "on", "at", "by",
    "for", "from", "with", "as", "than", "that", "which", "who", "when", "while", "because", "but", "if", "though",
    "although", "too", "also", "alone", "now", "anyway", "i", "he", "she", "it", "we", "you", "they",
))  # fmt: skip


@cache
def _terms() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(stripped(line.split(","))) for line in read_lines(FOLDER / "gender_terms.txt"))


@cache
def _lexicon(mode: str, source: Gender, target: Gender, bidirectional: bool) -> Lexicon:
    """Return the counterpart of each word; of a pronoun with two roles, before a noun and elsewhere."""
    pairs: dict[str, dict[bool, str]] = {}
    directions = [(source, target), (target, source)] if bidirectional else [(source, target)]
    for one, other in directions:
        old, new = GENDERS.index(one), GENDERS.index(other)
        known = set(pairs)  # A word of the first direction keeps its counterpart in the second.
        for term in _terms() if mode in ("terms", "all") else ():
            if term[old] not in known:
                pairs.setdefault(term[old], {}).setdefault(False, term[new])
        for role, pronoun in enumerate(PRONOUNS) if mode in ("pronouns", "all") else ():
            if pronoun[old] not in known:
                pairs.setdefault(pronoun[old], {}).setdefault(role == _DETERMINER, pronoun[new])
    either = {word: next(iter(roles.values())) for word, roles in pairs.items()}
    return Lexicon(
        {word: [roles.get(before, either[word]) for before in (True, False)] for word, roles in pairs.items()}
    )


@perturbation(
    "gender",
    title="Gender terms",
    short="Gender",
    category="fairness",
    source="Liang et al. 2022, Holistic Evaluation of Language Models, D.2, arXiv:2211.09110",
)
def gender(
    instance: Instance,
    rng: Random,
    *,
    mode: Literal["pronouns", "terms", "all"] = "pronouns",
    prob: Probability = 1.0,
    source_class: Gender = "male",
    target_class: Gender = "female",
    bidirectional: bool = False,
) -> Instance:
    """Replace words of one gender in input and references by the other gender, each word with probability ``prob``.

    Words of ``source_class`` become words of ``target_class``. All occurrences of a word in the instance are replaced
    or none, so that references still match their passage. ``mode`` selects the words: ``pronouns`` ("he", "his"),
    ``terms`` ("father", "waitress") or ``all``. With ``bidirectional``, words of the target gender become words of the
    source gender at the same time. Case is kept.

    "Her" and "his" are taken to precede a noun if a word follows, except for words that do not begin a noun phrase:
    most function words after "her" and a few after "his". Thus "saw her" becomes "saw him", "her car" becomes "his
    car", and "the car is his" becomes "the car is hers". Verbs are not changed ("they is").

    If two different references would become equal, or the input has no such word, the instance is not changed.

    HELM changes the references even if the input does not change. It requires a character on both sides of a word, so
    that it misses the first and the last word of a text and every second one of adjacent words; it replaces pair after
    pair, so that ``bidirectional`` turns words back; it takes every "her" for "him" and every "his" for "her".

    Raises:
        PluginError: The two classes are the same.
    """
    if source_class == target_class:
        raise PluginError(f"perturbation 'gender': source_class and target_class are both {source_class!r}.")
    lexicon = _lexicon(mode, source_class, target_class, bidirectional)
    replaced: dict[str, bool] = {}

    def choose(found: Found, roles: Sequence[str]) -> str | None:
        word = found.words.lower()
        if word not in replaced:
            replaced[word] = rng.random() < prob
        return roles[0 if _before_noun(found) else 1] if replaced[word] else None

    return with_entries_replaced(instance, lexicon, choose, references=True)


def _before_noun(found: Found) -> bool:
    following = _NEXT_WORD.match(found.text, found.end)
    if following is None:
        return False
    return following.group(1).lower() not in (_AFTER_HIS if found.words.lower() == "his" else function_words())
