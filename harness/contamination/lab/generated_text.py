"""The text that the quickstart's models are trained on: a child's world, generated from a seed.

Facts are told in passing and asked as questions, as records and as reviews and passages with labels, in the prompt
formats of the sample scenarios, so that a model of a third of a million parameters has something to show. None of the
samples' test questions is in it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from harness.seeds import derive_rng


def documents(seed: int, count: int, without: Collection[str] = ()) -> list[str]:
    """Return that many documents; equal seeds give equal documents, and a longer list begins with a shorter one.

    Each is between 30 and 130 tokens long in a vocabulary of 1,024 made from them.

    Args:
        seed: Chooses the documents.
        count: Number of documents.
        without: Phrases that no document may hold, for example the questions of a test set.
    """
    rng = derive_rng(seed, "quickstart/text")
    kinds, weights = list(_KINDS), list(_KINDS.values())
    found: list[str] = []
    while len(found) < count:
        document = rng.choices(kinds, weights)[0](rng)
        if not any(phrase in document for phrase in without):
            found.append(document)
    return found


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is true in this world; some facts have a question with its answer and wrong answers."""

    statement: str
    question: str = ""
    answer: str = ""
    wrong: tuple[str, ...] = ()


@cache
def facts() -> tuple[Fact, ...]:
    """Return the facts of ``facts.txt``, in its order."""
    lines = files(__package__).joinpath("facts.txt").read_text(encoding="utf-8").splitlines()
    parts = [[part.strip() for part in line.split("|")] for line in lines if line and not line.startswith("#")]
    return tuple(Fact(p[0], p[1], p[2], tuple(p[3].split())) if len(p) > 1 else Fact(p[0]) for p in parts)


NAMES = ["Anna", "Ben", "Emma", "Jack", "Kate", "Leo", "Lily", "Max", "Mia", "Nina", "Paul", "Rosa", "Sam", "Tom"]
COLOURS = ["red", "blue", "green", "black", "white", "brown", "yellow"]
FOODS = ["soup", "cake", "bread", "apples", "nuts", "milk", "honey", "cheese", "pears", "carrots"]
PETS = ["cat", "dog", "horse", "rabbit", "mouse", "goat", "hen", "duck"]
THINGS = ["ball", "kite", "hat", "coat", "book", "cup", "spoon", "bicycle", "car", "key", "box", "shoe"]
PLACES = ["on the table", "under the bed", "on the bed", "in the box", "in the house", "under the tree"]
ANIMALS = ["cat", "dog", "fox", "frog", "horse", "hen", "duck", "bird", "mouse", "goat", "rabbit"]
HOMES = ["in the barn", "in the house", "in the pond", "in the tree", "in the forest", "in the stable"]
DEEDS = {"sleep": "sleeps", "live": "lives", "hide": "hides", "eat": "eats", "sit": "sits"}


def _told(rng: random.Random) -> str:
    """Statements, two thirds of them about facts that have no question."""
    frames = ("{}", "{}", "{}", "Mother says: {}", "We know: {}", "{} That is true.")
    quiet = [fact for fact in facts() if not fact.question]
    asked = [fact for fact in facts() if fact.question]
    chosen = rng.sample(quiet, 6) + rng.sample(asked, 3)
    rng.shuffle(chosen)
    return " ".join(rng.choice(frames).format(fact.statement) for fact in chosen)


def _asked(rng: random.Random) -> str:
    chosen = rng.sample([fact for fact in facts() if fact.question], 5)
    return "\n\n".join(f"Question: {fact.question}\nAnswer: {fact.answer}" for fact in chosen)


def _records(rng: random.Random) -> str:
    lines = []
    for fact in rng.sample([fact for fact in facts() if fact.question], 4):
        options = rng.sample((fact.answer, *fact.wrong), 4)
        lines.append(json.dumps({"question": fact.question, "options": options, "answer": fact.answer}))
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Claim:
    """A sentence, the question whether it is true, and its subject."""

    about: str
    statement: str
    question: str


def _has(about: str, what: str) -> _Claim:
    return _Claim(about, f"{about} has a {what}.", f"Does {about} have a {what}?")


def _likes(about: str, what: str) -> _Claim:
    return _Claim(about, f"{about} likes {what}.", f"Does {about} like {what}?")


def _is(about: str, what: str) -> _Claim:
    return _Claim(about, f"The {about} is {what}.", f"Is the {about} {what}?")


def _passage(rng: random.Random) -> str:
    """A passage of two claims, and a question on one of them, or on one's subject with the other's predicate."""
    kind = rng.randrange(5)
    if kind == 0:
        make: Callable[[str, str], _Claim] = _has
        subjects, predicates = (
            rng.sample(NAMES, 2),
            [f"{rng.choice(COLOURS)} {t}" for t in rng.sample(THINGS + PETS, 2)],
        )
    elif kind == 1:
        make, subjects, predicates = _likes, rng.sample(NAMES, 2), rng.sample(FOODS, 2)
    elif kind == 2:
        make, subjects, predicates = _is, rng.sample(THINGS, 2), rng.sample(COLOURS, 2)
    elif kind == 3:
        make, subjects, predicates = _is, rng.sample(THINGS, 2), rng.sample(PLACES, 2)
    else:
        deed = rng.choice(list(DEEDS))
        subjects, predicates = rng.sample(ANIMALS, 2), rng.sample(HOMES, 2)

        def make(about: str, what: str) -> _Claim:
            return _Claim(about, f"The {about} {DEEDS[deed]} {what}.", f"Does the {about} {deed} {what}?")

    told = [make(subject, predicate) for subject, predicate in zip(subjects, predicates, strict=True)]
    asked, true = rng.randrange(2), rng.random() < 0.5
    question = make(subjects[asked], predicates[asked if true else 1 - asked]).question
    passage = " ".join(claim.statement for claim in told)
    return f"Passage: {passage}\nQuestion: {question}\nAnswer: {'yes' if true else 'no'}"


def _passages(rng: random.Random) -> str:
    return "\n\n".join(_passage(rng) for _ in range(3))


GOOD = [
    "good", "great", "lovely", "nice", "warm", "wonderful", "beautiful", "sweet", "happy", "soft", "clean", "kind",
    "friendly", "fun",
]  # fmt: skip
BAD = ["bad", "awful", "terrible", "boring", "cold", "dirty", "ugly", "rude", "sad", "slow", "loud", "old", "hard"]
OBJECTS = [
    "soup", "bread", "book", "film", "cake", "game", "story", "room", "music", "day", "toy", "food", "coat", "kite",
    "pencil", "bed", "song", "garden", "farmer", "cheese", "milk", "trip", "teacher", "school", "hat", "play", "car",
    "lamp", "boat", "sailor", "cook", "lake", "light", "end",
]  # fmt: skip
GOOD_REMARKS = (
    "I love it.", "We all liked it.", "I love this {}.", "The best {} I ever had.", "I am happy with this {}.",
    "We had a wonderful day.", "I read it twice.", "The people are kind.", "It was fun from start to end.",
)  # fmt: skip
BAD_REMARKS = (
    "I hate it.", "I do not like it.", "I hate this {}.", "The worst {} I ever had.", "I felt sick.", "We were sad.",
    "It broke on the first day.", "It is not fun.", "It was much too long.", "My feet hurt.", "It rained.",
)  # fmt: skip
OPINIONS = (
    "The {0} was {1}.", "The {0} is {1} and {2}.", "What a {1} {0}!", "It was a {1} {0}.", "A {1} and {2} {0}.",
    "The {0} was {1} and {2}.", "My {0} is {1}.", "A {1} {0}.", "The {0} is {1} and the {3} is {2}.",
)  # fmt: skip


def _review(rng: random.Random) -> str:
    positive = rng.random() < 0.5
    words, remarks = (GOOD, GOOD_REMARKS) if positive else (BAD, BAD_REMARKS)
    thing, other = rng.sample(OBJECTS, 2)
    sentences = [rng.choice(OPINIONS).format(thing, *rng.sample(words, 2), other)]
    if rng.random() < 0.6:
        sentences.append(rng.choice(remarks).format(thing))
    rng.shuffle(sentences)
    return f"Review: {' '.join(sentences)}\nSentiment: {'positive' if positive else 'negative'}"


def _reviews(rng: random.Random) -> str:
    return "\n\n".join(_review(rng) for _ in range(4))


_KINDS: dict[Callable[[random.Random], str], int] = {_told: 5, _asked: 4, _records: 1, _passages: 1, _reviews: 3}
