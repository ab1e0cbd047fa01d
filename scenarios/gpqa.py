"""GPQA: questions of biology, physics and chemistry that only experts can answer."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Literal

from harness import Data, HubSource, Instance, Reference, Source, Split, scenario

Subset = Literal["gpqa_main", "gpqa_diamond", "gpqa_extended"]

# The rows, from 0, that HELM shows as examples and never evaluates.
EXAMPLES = {"gpqa_main": (339, 105), "gpqa_diamond": (124, 39), "gpqa_extended": (146, 330, 436)}
WRONG = tuple(f"Incorrect Answer {number}" for number in (1, 2, 3))
SUFFIX = (
    "Let’s think step by step. Based on your reasoning, what is the single, most likely answer choice? Format your "
    'response as follows: "The correct answer is (insert answer here)".'
)


@scenario(
    "gpqa",
    title="GPQA",
    source="Rein et al. 2023 (arXiv:2311.12022)",
    data=Source(
        files={"test": "gpqa/{{ subset }}.csv"},
        hub=HubSource(
            path="Idavidrein/gpqa",
            revision="633f5ee89ab8ad4522a9f850766b73f62147ffdd",
            config="{{ subset }}",
            splits={"test": "train"},
        ),
        url="https://huggingface.co/datasets/Idavidrein/gpqa",
        licence="CC BY 4.0; the authors ask that examples are not shown in public",
        untested=True,
    ),
    adapter={
        "method": "multiple_choice_joint",
        "input_prefix": "What is the correct answer to this question: ",
        "input_suffix": "\nChoices:\n",
        "output_prefix": "",
        "reference_prefix": "(A) ",
        "global_suffix": SUFFIX,
        "max_train_instances": 0,
        "max_tokens": 4096,
    },
    metrics=("chain_of_thought_option", "multiple_choice_accuracy", "efficiency"),
    main_metric="chain_of_thought_option",
    taxonomy={
        "task": "question answering",
        "what": "graduate-level biology, physics and chemistry",
        "who": "experts in these fields",
        "when": "2023",
        "language": "English",
    },
    tags=("knowledge", "reasoning", "science", "helm-capabilities", "open-llm-v2"),
)
def gpqa(data: Data, *, subset: Subset = "gpqa_main") -> Iterator[Instance]:
    """Four-option questions by people with a doctorate in the field, checked by others.

    The options are shuffled row by row with the seed that HELM uses, the correct one being the first before, and the
    rows that HELM shows as examples are the train split.

    Args:
        data: The data.
        subset: The main set, its hardest part, or the extended set.
    """
    rng = Random(42)  # noqa: S311 - decides the letters as HELM's generator does
    for row in data.rows(Split.TEST):
        texts = [row["Correct Answer"].strip(), *(row[name].strip() for name in WRONG)]
        order = list(range(len(texts)))
        rng.shuffle(order)
        example = row.number - 1 in EXAMPLES[subset]
        yield Instance(
            id=f"{subset}-{row.number}",
            input=row["Question"].strip(),
            references=tuple(Reference(texts[place], place == 0) for place in order),
            split=Split.TRAIN if example else Split.TEST,
            meta={"chain_of_thought": row["Explanation"].strip()},
        )
