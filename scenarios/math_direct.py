"""MATH without reasoning: the answer alone, after eight examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from harness import Data, HubSource, Instance, Reference, Source, Split, scenario
from harness.answers import boxed_answer

Subject = Literal[
    "Algebra",
    "Counting & Probability",
    "Geometry",
    "Intermediate Algebra",
    "Number Theory",
    "Prealgebra",
    "Precalculus",
]

# The examples of the authors' program, which HELM shows. The sixth lacks a closing $, there too.
EXAMPLES = (
    (r"What is $\left(\frac{7}{8}\right)^3 \cdot \left(\frac{7}{8}\right)^{-3}$?", "1"),
    (
        "In how many ways can 4 books be selected from a shelf of 6 books if the order in which the books are selected "
        "does not matter?",
        "15",
    ),
    ("Find the distance between the points $(2,1,-4)$ and $(5,8,-3).$", r"\sqrt{59}"),
    (
        "The faces of an octahedral die are labeled with digits $1$ through $8$. What is the probability, expressed as "
        "a common fraction, of rolling a sum of $15$ with a pair of such octahedral dice?",
        r"\frac{1}{32}",
    ),
    (
        "The first three terms of an arithmetic sequence are 1, 10 and 19, respectively. What is the value of the 21st "
        "term?",
        "181",
    ),
    (r"Calculate $6 \cdot 8\frac{1}{3}", "50"),
    (
        "When the binary number $100101110010_2$ is divided by 4, what is the remainder (give your answer in base 10)?",
        "2",
    ),
    (r"How many zeros are at the end of the product 25 $\times$ 240?", "3"),
)

INSTRUCTIONS = "Given a mathematics problem, determine the answer. Simplify your answer as much as possible.\n"


@scenario(
    "math_direct",
    title="MATH (direct answer)",
    source="Hendrycks et al. 2021 (arXiv:2103.03874)",
    data=Source(
        files={"test": "math/test.jsonl"},
        hub=HubSource(
            path="EleutherAI/hendrycks_math",
            revision="21a5633873b6a120296cce3e2df9d5550074f4a3",
            config="{{ {'Counting & Probability': 'counting_and_probability'}"
            ".get(subject, subject | lower | replace(' ', '_')) }}",
            splits={"test": "test"},
        ),
        url="https://github.com/hendrycks/math",
        licence="MIT",
    ),
    adapter={
        "method": "generation",
        "instructions": INSTRUCTIONS,
        "instance_prefix": "###\n",
        "input_noun": "Problem",
        "output_prefix": "Answer: $",
        "output_suffix": "$\n",
        "max_train_instances": 8,
        "sample_train": False,
        "max_tokens": 20,
        "stop_sequences": ["$"],
    },
    metrics=("math_equiv", "efficiency"),
    main_metric="math_equiv",
    parts=("subject", "level"),
    taxonomy={
        "task": "numeric answer question answering",
        "what": "problems of mathematics contests",
        "who": "problem setters",
        "when": "before 2021",
        "language": "English, with LaTeX",
    },
    tags=("math", "helm-classic"),
    aliases={
        "helm": {
            "math:subject={subject},level={level},use_official_examples=*": "",
        },
    },
)
def math_direct(data: Data, *, subject: Subject, level: Literal[1, 2, 3, 4, 5]) -> Iterator[Instance]:
    r"""Competition mathematics, answered without reasoning after eight worked examples.

    The reference is the content of the solution's last ``\boxed``; problems whose solution has none are left out.

    Args:
        data: The data.
        subject: The subject.
        level: The difficulty.
    """
    for number, (problem, answer) in enumerate(EXAMPLES, start=1):
        yield Instance(f"example-{number}", problem, (Reference(answer, correct=True),), Split.TRAIN)
    for row in data.rows(Split.TEST):
        if row["type"] != subject or row["level"] != f"Level {level}":
            continue
        boxed = boxed_answer(row["solution"])
        if boxed:
            yield Instance(
                id=f"test-{row.number}",
                input=row["problem"],
                references=(Reference(boxed, correct=True),),
                split=Split.TEST,
                published=row.published,
            )
