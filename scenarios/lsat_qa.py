"""LSAT: the analytical reasoning section of the Law School Admission Test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from harness import Data, Download, Instance, Reference, Source, Split, scenario

Task = Literal["all", "grouping", "ordering", "assignment", "miscellaneous"]
TASK_OF_TAG: Mapping[str, Task] = {
    "grouping (distribution)": "grouping",
    "in/out grouping": "grouping",
    "distribution grouping": "grouping",
    "simple ordering": "ordering",
    "relative ordering": "ordering",
    "complex ordering": "ordering",
    "determined assignment": "assignment",
    "undetermined assignment": "assignment",
    "miscellaneous": "miscellaneous",
    "": "miscellaneous",
}
FILES = {"train": "Training", "valid": "Development", "test": "Test"}
REPOSITORY = "https://raw.githubusercontent.com/zhongwanjun/AR-LSAT/41f78ca7be3e24602b694b9d6b78105fc0c8bfc6/data"
# The files at a commit of the authors' repository: SHA-256 and bytes.
PUBLISHED = {
    "AR_TrainingData.json": ("6745d2e4c29012f4652433c5ceceb0af24ef248c382c39c215c76c43db654cad", 940903),
    "AR_DevelopmentData.json": ("e7a7d17e8893398cedddcc81050cb0cf5f543e5302fef171ffef42e0114158e3", 140791),
    "AR_TestData.json": ("6ff12b54b65a7d06102cf86170264ff6369742477694ca1b192d4feddc103bbe", 140103),
}


@scenario(
    "lsat_qa",
    title="LSAT",
    source="Zhong et al. 2021 (arXiv:2104.06598)",
    data=Source(
        files={split: f"lsat_qa/AR_{name}Data.json" for split, name in FILES.items()},
        downloads=tuple(
            Download(f"{REPOSITORY}/{file}", f"lsat_qa/{file}", sha256, size)
            for file, (sha256, size) in PUBLISHED.items()
        ),
        url="https://github.com/zhongwanjun/AR-LSAT",
        licence="none stated; the questions are the Law School Admission Council's",
    ),
    adapter={
        "method": "multiple_choice_joint",
        "instructions": "The following are multiple choice questions (with answers).\n",
        "input_noun": "Passage",
        "output_noun": "Answer",
    },
    metrics=("multiple_choice_accuracy", "accuracy", "efficiency"),
    main_metric="multiple_choice_accuracy",
    cluster="passage",
    taxonomy={
        "task": "question answering",
        "what": "logic games of law school admission tests",
        "who": "examiners",
        "when": "1991-2016",
        "language": "English",
    },
    tags=("law", "logic", "reasoning", "helm-classic"),
)
def lsat_qa(data: Data, *, task: Task = "all") -> Iterator[Instance]:
    """Puzzles about ordering, grouping and assigning people or things, with five options.

    A question's task is that of its third tag; one question has a tag of its own and belongs to no task.

    Args:
        data: The data.
        task: The kind of puzzle, or all.
    """
    for split in Split:
        for row in data.rows(split):
            for question in row["questions"]:
                tags = [*question.get("tags", ()), "", "", ""]
                own = TASK_OF_TAG.get(tags[2].strip().lower(), "")
                if task not in ("all", own):
                    continue
                position = "ABCDE".find(question["answer"])
                if position < 0 or position >= len(question["options"]):
                    raise row.error(f"answer {question['answer']!r} is not one of the options.")
                yield Instance(
                    id=question["id"],
                    input=f"{row['passage']}\nQuestion: {question['question']}",
                    references=tuple(Reference(text, i == position) for i, text in enumerate(question["options"])),
                    split=split,
                    meta={"task": own, "passage": row["id"]},
                )
