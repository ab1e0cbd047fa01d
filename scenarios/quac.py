"""QuAC: conversations in which a student asks about a section of a Wikipedia article that only the teacher sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from harness import Data, Instance, Reference, Source, Split, derive_rng, scenario

CANNOT_ANSWER = "CANNOTANSWER"
OTHER_WORDS = ("Not enough information", "Cannot answer", "Do not know")
OFFICIAL = {Split.TRAIN: "quac/train_v0.2.json", Split.VALID: "quac/val_v0.2.json"}
PROMPTS = "quac/quac.jsonl"

Edition = Literal["official", "prompts"]


@scenario(
    "quac",
    title="QuAC",
    source="Choi et al. 2018 (arXiv:1808.07036)",
    data=Source(
        files={"train": OFFICIAL[Split.TRAIN], "valid": (OFFICIAL[Split.VALID], PROMPTS)},
        url="https://quac.ai",
        licence="CC BY-SA 4.0",
        untested=True,
    ),
    adapter={"method": "generation", "input_noun": None, "output_noun": "Answer", "max_tokens": 100},
    metrics=("open_ended", "efficiency"),
    main_metric="f1_score",
    eval_split=Split.VALID,
    taxonomy={
        "task": "question answering",
        "what": "sections of Wikipedia articles about people",
        "who": "pairs of crowd workers",
        "when": "2018",
        "language": "English",
    },
    tags=("reading", "helm-classic"),
)
def quac(data: Data, *, edition: Edition = "official") -> Iterator[Instance]:
    """The beginning of a conversation up to a question that is drawn at random, the third or a later one.

    All earlier questions are shown with their answers; HELM leaves out the one directly before, to which the question
    often refers. Where no annotator gave an answer, saying so in other words is correct too.

    Args:
        data: The data.
        edition: The official files, or a file of 1,000 finished prompts that is in circulation.
    """
    if edition == "prompts":
        for row in data.read(PROMPTS):
            texts = dict.fromkeys([row["answer"], *row["aliases"]])
            yield Instance(
                id=f"prompt-{row.number}",
                input=row["context"],
                references=tuple(Reference(text, correct=True) for text in texts),
                split=Split.VALID,
            )
        return
    for split, file in OFFICIAL.items():
        if split is Split.TRAIN and data.lacking(split):
            continue
        for row in data.read(file):
            for article in row["value"] if row["key"] == "data" else ():  # the file is one object
                for paragraph in article["paragraphs"]:
                    if len(paragraph["qas"]) >= 3:
                        yield _dialogue(article, paragraph, split)


def _dialogue(article: Mapping[str, Any], paragraph: Mapping[str, Any], split: Split) -> Instance:
    questions = paragraph["qas"]
    asked = derive_rng(0, f"quac/{paragraph['id']}").randrange(2, len(questions))
    passage = paragraph["context"].removesuffix(CANNOT_ANSWER).rstrip()
    shown = [f"Question: {one['question']}\nAnswer: {one['orig_answer']['text']}\n\n" for one in questions[:asked]]
    texts = list(dict.fromkeys(answer["text"] for answer in questions[asked]["answers"]))
    if texts == [CANNOT_ANSWER]:
        texts += OTHER_WORDS
    head = f"Title: {article['title']}\n\nBackground: {article['background']}\n\nSection: {article['section_title']}\n"
    return Instance(
        id=questions[asked]["id"],
        input=f"{head}Passage: {passage}\n\n{''.join(shown)}Question: {questions[asked]['question']}",
        references=tuple(Reference(text, correct=True) for text in texts),
        split=split,
        meta={"passage": article["title"]},
    )
