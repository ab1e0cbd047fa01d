"""GPQA: questions of biology, physics and chemistry that only experts can answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Literal

from harness import Data, HubSource, Instance, PromptVariant, Reference, Source, Split, scenario

Subset = Literal["gpqa_main", "gpqa_diamond", "gpqa_extended"]

# The rows, from 0, that HELM shows as examples and never evaluates.
EXAMPLES = {"gpqa_main": (339, 105), "gpqa_diamond": (124, 39), "gpqa_extended": (146, 330, 436)}
LETTERS = "ABCD"
WRONG = tuple(f"Incorrect Answer {number}" for number in (1, 2, 3))
SUFFIX = (
    "Let’s think step by step. Based on your reasoning, what is the single, most likely answer choice? Format your "
    'response as follows: "The correct answer is (insert answer here)".'
)


@scenario(
    "gpqa",
    title="GPQA",
    titles={"subset": {"gpqa_main": "main", "gpqa_diamond": "Diamond", "gpqa_extended": "extended"}},
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
        gated=True,
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
    prompt="helm",
    prompts={
        "lm_eval": PromptVariant(
            "As lm-evaluation-harness 0.4.13 asks leaderboard_gpqa_*; the letters of the options are scored.",
            adapter={
                "method": "multiple_choice_separate_original",
                "input_prefix": "What is the correct answer to this question:",
                "output_prefix": "Answer:  ",
                "example_selection": "lm_eval_excluding",
                "length_normalization": "characters",
            },
            metrics=("acc_norm", "efficiency"),
        )
    },
    aliases={
        "lm_eval": {
            "gpqa_main_zeroshot": "subset=gpqa_main",
            "gpqa_diamond_zeroshot": "subset=gpqa_diamond",
            "gpqa_extended_zeroshot": "subset=gpqa_extended",
            "gpqa_main_n_shot": "subset=gpqa_main,prompt=",
            "gpqa_diamond_n_shot": "subset=gpqa_diamond,prompt=",
            "gpqa_extended_n_shot": "subset=gpqa_extended,prompt=",
            "gpqa_main_cot_*": "subset=gpqa_main,prompt=",
            "gpqa_diamond_cot_*": "subset=gpqa_diamond,prompt=",
            "gpqa_extended_cot_*": "subset=gpqa_extended,prompt=",
            "gpqa_main_generative_n_shot": "subset=gpqa_main,prompt=",
            "gpqa_diamond_generative_n_shot": "subset=gpqa_diamond,prompt=",
            "gpqa_extended_generative_n_shot": "subset=gpqa_extended,prompt=",
            "leaderboard_{subset}": "",
            "leaderboard_gpqa": "subset=all",
        },
        "helm": {
            "gpqa:subset=main": "subset=gpqa_main",
            "gpqa:subset={subset}": "",
            "gpqa:use_chain_of_thought=*": "",
        },
    },
)
def gpqa(data: Data, *, subset: Subset = "gpqa_main", prompt: str = "helm") -> Iterator[Instance]:
    """Four-option questions by people with a doctorate in the field, checked by others.

    The options are shuffled row by row with the seed that HELM uses, the correct one being the first before, and the
    rows that HELM shows as examples are the train split.

    Args:
        data: The data.
        subset: The main set, its hardest part, or the extended set.
        prompt: How it is asked. For lm-evaluation-harness's prompt, the options are shuffled as there if the task is
            the first that it loads, and all rows are evaluated.
    """
    if prompt == "lm_eval":
        yield from _as_lm_eval(data, subset)
        return
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


def _as_lm_eval(data: Data, subset: str) -> Iterator[Instance]:
    """Yield the questions with their options in the text, of which the letters are chosen."""
    rng = Random(0)  # noqa: S311 - lm-evaluation-harness seeds Python's generator with 0, its ``--seed``
    for row in data.rows(Split.TEST):
        right = _cleaned(row["Correct Answer"])
        choices = [*(_cleaned(row[name]) for name in WRONG), right]
        rng.shuffle(choices)
        listed = "".join(f"({letter}) {choice}\n" for letter, choice in zip(LETTERS, choices, strict=True))
        yield Instance(
            id=f"{subset}-{row.number}",
            input=f"{row['Question']}\nChoices:\n{listed}",
            references=tuple(Reference(f"({letter})", LETTERS[choices.index(right)] == letter) for letter in LETTERS),
            split=Split.TEST,
        )


def _cleaned(text: str) -> str:
    return re.sub(r"\[.*?\]", "", text.strip().replace(" [title]", ". ")).replace("  ", " ")
