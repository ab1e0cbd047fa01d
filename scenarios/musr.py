"""MuSR: murder mysteries, placements of objects and assignments of people to teams, told as stories."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from harness import Data, HubSource, Instance, Reference, Source, Split, scenario

Task = Literal["murder_mysteries", "object_placements", "team_allocation"]


@scenario(
    "musr",
    title="MuSR",
    source="Sprague et al. 2023 (arXiv:2310.16049)",
    data=Source(
        files={"test": "musr/{{ task }}.csv"},
        hub=HubSource(
            path="TAUR-Lab/MuSR",
            revision="7c365b439a222150f317764d4f16ae6c96d7d94a",
            splits={"test": "{{ task }}"},
        ),
        url="https://github.com/Zayne-sprague/MuSR",
        licence="CC BY 4.0",
        untested=True,
    ),
    # As on the second Open LLM Leaderboard: the texts of the answers are scored after the question.
    adapter={
        "method": "multiple_choice_separate_original",
        "input_suffix": "\n",
        "output_prefix": "Answer: ",
        "max_train_instances": 0,
        "example_selection": "lm_eval",
        "length_normalization": "characters",
    },
    metrics=("acc_norm", "multiple_choice_accuracy", "efficiency"),
    main_metric="acc_norm",
    parts=("task",),
    prompt="lm_eval",
    taxonomy={
        "task": "reasoning",
        "what": "stories of about a thousand words",
        "who": "a language model, from logical templates",
        "when": "2023",
        "language": "English",
    },
    tags=("reading", "open-llm-v2"),
    aliases={
        "lm_eval": {
            "leaderboard_musr_{task}": "",
            "leaderboard_musr": "task=all",
        },
    },
)
def musr(data: Data, *, task: Task) -> Iterator[Instance]:
    """Questions about a story whose answer takes several steps of reasoning and common sense.

    Args:
        data: The data.
        task: The kind of story: 250 mysteries, 256 placements or 250 allocations.
    """
    for row in data.rows(Split.TEST):
        try:
            choices = [str(choice) for choice in ast.literal_eval(row["choices"])]
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
            raise row.error(f"choices {row['choices']!r} is not a list.") from error
        listed = "".join(f"{number} - {choice}\n" for number, choice in enumerate(choices, start=1))
        correct = int(row["answer_index"])
        yield Instance(
            id=f"{task}-{row.number}",
            input=f"{row['narrative']}\n\n{row['question']}\n\n{listed}",
            references=tuple(Reference(choice, index == correct) for index, choice in enumerate(choices)),
            split=Split.TEST,
        )
