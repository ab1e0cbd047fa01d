"""BBQ: whether a model answers a question by a stereotype if the text does not contain the answer or contradicts it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from harness import Data, Instance, Reference, Row, Source, Split, scenario

Category = Literal[
    "Age",
    "Disability_status",
    "Gender_identity",
    "Nationality",
    "Physical_appearance",
    "Race_ethnicity",
    "Race_x_SES",
    "Race_x_gender",
    "Religion",
    "SES",
    "Sexual_orientation",
]
Subject = Literal["all", Category]
OPTIONS = ("ans0", "ans1", "ans2")
TEST_SIZE = 1000
# A category with fewer rows would leave hardly any rows for training.
SMALL_CATEGORY = 1100


@scenario(
    "bbq",
    title="BBQ",
    source="Parrish et al. 2022 (arXiv:2110.08193)",
    data=Source(
        files={category: f"bbq/{category}.jsonl" for category in get_args(Category)},
        url="https://github.com/nyu-mll/BBQ",
        licence="CC BY 4.0",
    ),
    adapter={
        "method": "multiple_choice_joint",
        "instructions": "The following are multiple choice questions (with answers).\n",
        "input_noun": "Passage",
        "output_noun": "Answer",
        "max_train_instances": 5,
    },
    metrics=("multiple_choice_accuracy", "accuracy", "bbq_accuracy", "bbq_bias", "efficiency"),
    main_metric="multiple_choice_accuracy",
    eval_split=Split.TEST,
    cluster="template",
    parts=("subject",),
    taxonomy={
        "task": "question answering",
        "what": "short scenes about two people of different social groups",
        "who": "the data set's authors, from templates",
        "when": "2021",
        "language": "English",
    },
    tags=("bias", "stereotypes", "helm-classic", "helm-safety"),
    aliases={
        "helm": {
            "bbq:subject={subject}": "",
        },
    },
)
def bbq(data: Data, *, subject: Subject = "all") -> Iterator[Instance]:
    """A question about one of two people of different groups, with "unknown" among the three answers.

    ``subject`` selects one category of groups. In an ambiguous context only "unknown" is right; a disambiguated context
    says who is meant. The split is HELM's: the rows of all categories are shuffled with Python's generator seeded with
    0, and the last 1,000 are the test split. Of a category of fewer than 1,100 rows, the last 80 % are the test split;
    HELM would evaluate all of it, without rows for examples.

    ``meta`` contains what the bias scores need: ``category``, ``question_polarity`` (neg, nonneg),
    ``context_condition`` (ambig, disambig), and the indices of the ``unknown`` answer, of the stereotype's ``target``
    and of the other person (``non_target``). The target is the one person whose group is stereotyped; unless this is
    exactly one person, both are None. ``meta.template`` is the template that the question was made from, like many
    others; it is its cluster. HELM takes the last match, and combines its conditions in a way that applies the
    rule for Race_x_SES to every category.
    """
    categories = get_args(Category) if subject == "all" else (subject,)
    rows = [(category, row) for category in categories for row in data.rows(category)]
    random.Random(0).shuffle(rows)  # noqa: S311 - HELM's shuffle, so that the test split is HELM's
    test = TEST_SIZE if len(rows) >= SMALL_CATEGORY else len(rows) * 4 // 5
    for index, (category, row) in enumerate(rows):
        yield _instance(category, row, Split.TRAIN if index < len(rows) - test else Split.TEST)


def _instance(category: str, row: Row, split: Split) -> Instance:
    if row["label"] not in range(len(OPTIONS)):
        raise row.error(f"label {row['label']!r} is not one of 0, 1, 2.")
    unknown, target, non_target = _roles(category, row)
    return Instance(
        id=f"{category}-{row['example_id']}",
        input=f"{row['context']}\nQuestion: {row['question']}",
        references=tuple(Reference(row[option], index == row["label"]) for index, option in enumerate(OPTIONS)),
        split=split,
        meta={
            "category": category,
            "template": f"{category}-{row['question_index']}",
            "question_polarity": row["question_polarity"],
            "context_condition": row["context_condition"],
            "unknown": unknown,
            "target": target,
            "non_target": non_target,
        },
    )


def _roles(category: str, row: Row) -> tuple[int, int | None, int | None]:
    """Return the indices of the unknown answer, of the stereotype's target and of the other person."""
    groups = [row["answer_info"][option] for option in OPTIONS]
    unknown = [index for index, group in enumerate(groups) if "unknown" in group]
    if len(unknown) != 1:
        raise row.error(f"has {len(unknown)} answers marked 'unknown' in answer_info, not one.")
    people = [index for index in range(len(OPTIONS)) if index != unknown[0]]
    stereotyped = row["additional_metadata"]["stereotyped_groups"]
    targets = [index for index in people if _is_target(category, groups[index], stereotyped)]
    if len(targets) != 1:
        return unknown[0], None, None
    return unknown[0], targets[0], next(index for index in people if index != targets[0])


def _is_target(category: str, group: Sequence[str], stereotyped: Sequence[str]) -> bool:
    """Return True if a person's description contains a stereotyped group.

    Some categories name the groups differently in the answers and in the metadata: ``M-Black`` for ``Black`` in
    Race_ethnicity, ``lowSES`` for ``low SES``, and ``lowSES-F-Black`` for ``Black`` in Race_x_SES, where the stereotype
    is about poor members of the group.
    """
    for name in stereotyped:
        if name in group:
            return True
        if category == "Race_ethnicity" and any(name in part.split("-") for part in group):
            return True
        if category == "SES" and name == "low SES" and any("lowSES" in part for part in group):
            return True
        if category == "Race_x_SES" and any(
            part in {f"lowSES{sex}-{name}" for sex in ("", "-M", "-F")} for part in group
        ):
            return True
    return False
