"""Person names: the model should not care which group a name suggests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Literal

from harness import Instance, PluginError, perturbation
from scenarios.perturbations._words.changes import Probability, with_entries_replaced
from scenarios.perturbations._words.lexicon import FOLDER, Found, Lexicon, read_lines, stripped

NameType = Literal["first_name", "last_name"]
Race = Literal["white_american", "black_american", "white", "hispanic", "asian", "chinese", "russian"]
Gender = Literal["female", "male"]

_WORDS = re.compile(r"\w+(?:-\w+)*")


@dataclass(frozen=True, slots=True)
class Name:
    """A name and the group that people associate with it; last names have no gender."""

    text: str
    kind: str
    race: str
    gender: str | None


@cache
def names() -> tuple[Name, ...]:
    """Return all names of the list."""
    listed = []
    for line in read_lines(FOLDER / "person_names.txt"):
        group, _, texts = line.partition(":")
        kind, race, gender = (part.strip() for part in group.split(";"))
        listed += [Name(text, kind, race, gender or None) for text in stripped(texts.split(","))]
    return tuple(listed)


@cache
def _group(kind: NameType, race: Race | None, gender: Gender | None) -> tuple[Name, ...]:
    return tuple(
        name
        for name in names()
        if name.kind == kind and race in (None, name.race) and (gender is None or name.gender == gender)
    )


@cache
def _lexicon(kind: NameType, race: Race | None, gender: Gender | None) -> Lexicon:
    return Lexicon({name.text: [name.gender or ""] for name in _group(kind, race, gender)})


@perturbation(
    "person_name",
    title="Person names",
    short="Names",
    category="fairness",
    source="Liang et al. 2022, Holistic Evaluation of Language Models, D.2, arXiv:2211.09110; names of Caliskan et "
    "al. 2017 and Garg et al. 2018",
)
def person_name(
    instance: Instance,
    rng: Random,
    *,
    prob: Probability = 1.0,
    person_name_type: NameType = "first_name",
    source_race: Race | None = "white_american",
    target_race: Race | None = "black_american",
    source_gender: Gender | None = None,
    target_gender: Gender | None = None,
    preserve_gender: bool = True,
) -> Instance:
    """Replace names of one group in input and references by names of another, each name with probability ``prob``.

    A name has one replacement throughout the instance, two names have different ones as long as there are enough, and a
    replacement is never a name that the instance already has. In references only names that occur in the input are
    replaced: the answer "Emily Brontë" to a question that does not mention her would be wrong with another name. With
    ``preserve_gender`` a woman's name is replaced by a woman's, unless ``target_gender`` is set; last names have no
    gender. Case is kept. A word in lower case counts as a name only if the instance also has it capitalised, or if the
    input has no capitals at all, since "frank" and "crystal" are also words.

    ``person_name_type`` selects first or last names; ``source_race`` and ``source_gender`` select the names that are
    replaced, ``target_race`` and ``target_gender`` the names that replace them; None means any. First names are
    ``white_american`` or ``black_american``, last names ``white``, ``hispanic``, ``asian``, ``chinese`` or ``russian``.

    HELM also replaces words in lower case and names that occur only in a reference; it may give two people the same
    name, and does not find names with a hyphen.

    Raises:
        PluginError: There are no names of a requested group, or the two groups are the same.
    """
    wanted = f"{person_name_type} {target_race or 'of any race'} {target_gender or 'of any gender'}"
    source = _group(person_name_type, source_race, source_gender)
    target = _group(person_name_type, target_race, target_gender)
    if not source or not target:
        group = wanted if source else f"{person_name_type} {source_race} {source_gender or 'of any gender'}"
        raise PluginError(f"perturbation 'person_name' has no names of the group {group!r}.")
    if source == target:
        raise PluginError(f"perturbation 'person_name': source and target are both the group {wanted!r}.")
    lexicon = _lexicon(person_name_type, source_race, source_gender)
    everything = "\n".join((instance.input, *(reference.text for reference in instance.references)))
    there = set(_WORDS.findall(everything))
    taken = {word.lower() for word in there}
    uncased = not any(letter.isupper() for letter in instance.input)
    chosen: dict[str, str | None] = {}

    def draw(gender: str) -> str | None:
        kept = gender if preserve_gender and target_gender is None else ""
        options = [name.text for name in target if not kept or name.gender == kept]
        free = [option for option in options if option.lower() not in taken]
        if not options or rng.random() >= prob:
            return None
        name = rng.choice(free or options)
        taken.add(name.lower())
        return name

    def choose(found: Found, genders: Sequence[str]) -> str | None:
        name = found.words.lower()
        if found.words == name and not uncased and not there & {name.title(), name.capitalize(), name.upper()}:
            return None
        if name not in chosen and found.text == instance.input:
            chosen[name] = draw(genders[0])
        return chosen.get(name)

    return with_entries_replaced(instance, lexicon, choose, references=True)
