"""Synthetic reasoning in English: what follows from a fact by rules, in one step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Literal, NamedTuple

from harness import Data, Instance, Reference, Source, Split, scenario

Difficulty = Literal["easy", "medium", "hard"]

SUBJECTS = {
    "person": ("Alice", "Bob", "Carol", "Dan", "Erin", "Frank"),
    "animal": (
        "dog", "cat", "rabbit", "mouse", "tiger", "lion", "bear", "squirrel", "cow", "panda", "hedgehog", "elephant",
        "giraffe", "hippo",
    ),
    "plant": ("poppy", "dandelion", "tree", "rose", "sunflower"),
}  # fmt: skip
ATTRIBUTES = {
    words.split()[0]: words.split()
    for words in (
        "young", "soft", "sad", "scary", "cold chill cool", "hot warm", "smart clever wise intelligent", "clean tidy",
        "small little tiny", "big enormous giant huge", "good kind nice", "beautiful pretty", "red crimson",
        "blue cobalt", "green viridian", "purple violet", "boring dull", "old ancient antique",
        "strong powerful muscular", "weak frail fragile", "fast quick", "slow sluggish", "bad evil wicked mean",
        "happy elated glad cheerful", "round circular spherical",
    )
}  # fmt: skip
"""Each attribute with what says the same, itself first."""
SIZES = {Split.TRAIN: 1000, Split.VALID: 5000, Split.TEST: 5000}
RULES = 5
NOTHING_KEPT = 0.1
"""The probability that a fact from which nothing follows is kept."""


class Rule(NamedTuple):
    """If the subject has one or all of the conditions, it has the consequence."""

    subject: str
    conditions: Sequence[str]
    conjunction: str
    consequence: str


@scenario(
    "synthetic_reasoning_natural",
    title="Synthetic reasoning (natural language)",
    short="Synthetic · words",
    source="Clark et al. 2020 (arXiv:2002.05867); Liang et al. 2022, section 5.3",
    data=Source(),
    adapter={
        "method": "generation",
        "instructions": "Please solve the following problem.\n",
        "input_prefix": "Rules:\n",
        "input_suffix": "\n",
        "output_prefix": "",
        "max_train_instances": 3,
        "max_tokens": 20,
    },
    metrics=("f1_set_match", "iou_set_match", "exact_set_match", "efficiency"),
    main_metric="f1_set_match",
    taxonomy={
        "task": "reasoning",
        "what": "generated rules and facts",
        "who": "a program",
        "when": "2022",
        "language": "controlled English",
    },
    tags=("logic", "helm-classic"),
)
def synthetic_reasoning_natural(data: Data, *, difficulty: Difficulty) -> Iterator[Instance]:
    """Five rules about a person, an animal or a plant, a fact, and what follows from them.

    With ``medium``, rules can be about the subject's kind, and with ``hard`` the fact also says "chill" for "cold".
    Nothing follows in 17 % of the problems.

    Args:
        data: None are read.
        difficulty: How much of English it takes to apply the rules.
    """
    rng = Random(42)  # noqa: S311 - HELM's generator and seed
    for split, count in SIZES.items():
        for number in range(1, count + 1):
            question, answer = _problem(rng, difficulty)
            yield Instance(f"{split}-{number}", question, (Reference(answer, correct=True),), split)


def _problem(rng: Random, difficulty: Difficulty) -> tuple[str, str]:
    kind = rng.choice(list(SUBJECTS))
    subject = rng.choice(SUBJECTS[kind])
    rules = _rules(rng, subject, kind if difficulty != "easy" else None)
    said, follows = _fact(rng, rules, synonyms=difficulty == "hard")
    about = subject if kind == "person" else f"the {subject}"
    about_upper = subject if kind == "person" else f"The {subject}"
    lines = [
        *(_written(rule, kind) for rule in rules),
        "Fact:",
        f"{about_upper} is {' and '.join(said)}.",
        f"The following can be determined about {about}:",
    ]
    return "\n".join(lines), f"{about_upper} is {' and '.join(follows)}." if follows else "Nothing."


def _rules(rng: Random, subject: str, kind: str | None) -> list[Rule]:
    """Return rules no two of which share an attribute; about the subject or, if a kind is given, about either."""
    left = list(ATTRIBUTES)
    rng.shuffle(left)
    rules: list[Rule] = []
    while len(left) > 2 and len(rules) < RULES:
        whose = subject if kind is None else rng.choice([kind, subject])
        size = rng.randint(2, 3)
        own, left = left[:size], left[size:]
        rules.append(Rule(whose, own[:-1], rng.choice(["and", "or"]), own[-1]))
    return rules


def _fact(rng: Random, rules: Sequence[Rule], *, synonyms: bool) -> tuple[list[str], list[str]]:
    """Return two attributes as they are written, and the attributes that follow from them."""
    while True:
        attributes = rng.sample(list(ATTRIBUTES), 2)
        others = [rng.choice(ATTRIBUTES[attribute]) for attribute in attributes]
        follows = [rule.consequence for rule in rules if _applies(rule, attributes)]
        if follows or rng.random() <= NOTHING_KEPT:
            return others if synonyms else attributes, follows


def _applies(rule: Rule, attributes: Sequence[str]) -> bool:
    enough = all if rule.conjunction == "and" else any
    return rule.consequence not in attributes and enough(one in attributes for one in rule.conditions)


def _written(rule: Rule, kind: str) -> str:
    conditions = f" {rule.conjunction} ".join(rule.conditions)
    if kind == "person":
        return f"If {rule.subject} is {conditions}, then {rule.subject} is {rule.consequence}."
    article = "an" if rule.subject[0] in "aeiou" else "a"
    return f"If {article} {rule.subject} is {conditions}, then the {rule.subject} is {rule.consequence}."
