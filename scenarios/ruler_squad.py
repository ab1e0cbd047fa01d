"""RULER's questions about documents: one of many paragraphs has the answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from harness import Data, HubSource, Instance, Source, Split, scenario
from scenarios._documents import ADAPTER, Question, among_documents


@scenario(
    "ruler_squad",
    title="RULER (SQuAD)",
    source="Hsieh et al. 2024 (arXiv:2404.06654); Rajpurkar et al. 2018 (arXiv:1806.03822)",
    data=Source(
        files={"valid": "squad_v2/dev-v2.0.json"},
        hub=HubSource(
            path="rajpurkar/squad_v2",
            revision="3ffb306f725f7d2ce8394bc1873b24868140c412",
            splits={"valid": "validation"},
        ),
        url="https://rajpurkar.github.io/SQuAD-explorer/",
        licence="CC BY-SA 4.0",
    ),
    adapter=ADAPTER,
    metrics=("reference_in_prediction", "efficiency"),
    main_metric="reference_in_prediction_part",
    eval_split=Split.VALID,
    taxonomy={
        "task": "question answering",
        "what": "paragraphs of Wikipedia",
        "who": "crowd workers",
        "when": "2018",
        "language": "English",
    },
    tags=("long-context", "reading"),
    aliases={
        "lm_eval": {
            "ruler_qa_squad": "",
        },
    },
)
def ruler_squad(data: Data, *, length: Annotated[int, Field(ge=1024)] = 4096) -> Iterator[Instance]:
    """A hundred questions of SQuAD, each with the paragraph that answers it among as many others as there is room for.

    Tokens are estimated as in the scenario ``ruler``: one for each digit, and one for every four other characters.

    Args:
        data: SQuAD 2.0, of which the questions with an answer are asked.
        length: Tokens of prompt and answer together.
    """
    questions = list(_questions(data))
    documents = (document for question in questions for document in question.documents)
    yield from among_documents(questions, documents, name="ruler_squad", length=length, file="squad_v2/dev-v2.0.json")


def _questions(data: Data) -> Iterator[Question]:
    """Yield each question that has an answer."""
    for row in data.rows(Split.VALID):
        if "context" in row:  # the Hub has a row for each question
            if row["answers"]["text"]:
                yield Question(row["id"], row["question"], [row["context"]], row["answers"]["text"])
        elif row["key"] == "data":  # the file is one object
            for article in row["value"]:
                for paragraph in article["paragraphs"]:
                    for question in paragraph["qas"]:
                        if answers := [answer["text"] for answer in question["answers"]]:
                            yield Question(question["id"], question["question"], [paragraph["context"]], answers)
