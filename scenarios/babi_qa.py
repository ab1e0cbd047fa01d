"""bAbI: twenty toy tasks of reasoning, each a story with questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from harness import Data, Instance, Reference, Row, Source, Split, scenario

Task = Literal[
    "all", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20"
]  # fmt: skip
TASKS = [str(number) for number in range(1, 21)]
PATH_TASK = "19"  # its answers are letters of directions, "s,w"
DIRECTIONS = {"n": "north", "e": "east", "s": "south", "w": "west"}


@scenario(
    "babi_qa",
    title="bAbI",
    titles={"task": {number: f"task {number}" for number in get_args(Task) if number != "all"}},
    source="Weston et al. 2015 (arXiv:1502.05698)",
    data=Source(
        files={split: f"babi_qa/en-valid/qa1_{split}.txt" for split in ("train", "valid", "test")},
        url="https://research.facebook.com/downloads/babi/",
        licence="CC BY 3.0",
    ),
    adapter={"method": "generation", "input_noun": "Passage", "output_noun": "Answer"},
    metrics=("accuracy", "efficiency"),
    main_metric="quasi_exact_match",
    cluster="story",
    taxonomy={
        "task": "question answering",
        "what": "simulated scenes of a text adventure",
        "who": "a program",
        "when": "2015",
        "language": "English",
    },
    tags=("reasoning", "helm-classic"),
    aliases={
        "lm_eval": {
            "babi": "",
        },
    },
)
def babi_qa(data: Data, *, task: Task = "all") -> Iterator[Instance]:
    """Stories of a few sentences with questions of one to three words' answers: the edition ``en-valid``.

    The passage is the story up to the question, without earlier questions.

    Args:
        data: The data.
        task: The number of the task, 1 to 20, or all of them.
    """
    for split in Split:
        for number in TASKS if task == "all" else [task]:
            yield from _questions(data.read(f"babi_qa/en-valid/qa{number}_{split}.txt"), number, split)


def _questions(rows: Iterator[Row], task: str, split: Split) -> Iterator[Instance]:
    story: list[str] = []
    told: list[str] = []
    for row in rows:
        number, _, line = row["text"].partition(" ")
        if not number.isdigit():
            raise row.error("does not begin with the number of a line.")
        if number == "1":
            story, told = [], []
        told.append(row["text"])
        question, tab, rest = line.partition("\t")
        if not tab:
            story.append(f"{line}\n")
            continue
        yield Instance(
            id=f"{task}-{split}-{row.number}",
            input=f"{''.join(story)}Question: {question.strip()}",
            references=(Reference(_answer(rest.split("\t"), task, row), correct=True),),
            split=split,
            meta={"task": task, "story": f"{task}-{row.number - len(told)}"},
            published="\n".join(told),
        )


def _answer(cells: Sequence[str], task: str, row: Row) -> str:
    if task != PATH_TASK:
        return cells[0]
    try:
        return " ".join(DIRECTIONS[letter] for letter in cells[0].split(","))
    except KeyError as error:
        raise row.error(f"{cells[0]!r} is not a path of n, e, s and w.") from error
