"""RULER's questions that need several documents: the answer follows from two of many paragraphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from harness import Data, Instance, Source, Split, scenario
from scenarios._documents import ADAPTER, Question, among_documents


@scenario(
    "ruler_hotpotqa",
    title="RULER (HotpotQA)",
    source="Hsieh et al. 2024 (arXiv:2404.06654); Yang et al. 2018 (arXiv:1809.09600)",
    data=Source(
        files={"valid": "hotpotqa/hotpot_dev_distractor_v1.json"},
        url="https://hotpotqa.github.io",
        licence="CC BY-SA 4.0",
        untested=True,
    ),
    adapter=ADAPTER,
    metrics=("reference_in_prediction", "efficiency"),
    main_metric="reference_in_prediction_part",
    eval_split=Split.VALID,
    taxonomy={
        "task": "question answering",
        "what": "first paragraphs of articles of Wikipedia",
        "who": "crowd workers",
        "when": "2018",
        "language": "English",
    },
    tags=("long-context", "reading", "reasoning"),
    aliases={
        "lm_eval": {
            "ruler_qa_hotpot": "",
        },
    },
)
def ruler_hotpotqa(data: Data, *, length: Annotated[int, Field(ge=1024)] = 4096) -> Iterator[Instance]:
    """A hundred questions of HotpotQA, each with its ten paragraphs among as many others as there is room for.

    Two of the ten are needed for the answer, and the others are about similar things. Tokens are estimated as in the
    scenario ``ruler``. Questions whose ten paragraphs do not fit are left out, which at 4,096 tokens are hardly any.

    Args:
        data: HotpotQA's development set with distractors.
        length: Tokens of prompt and answer together.
    """
    questions = [
        Question(row["_id"], row["question"], [_document(*paragraph) for paragraph in row["context"]], [row["answer"]])
        for row in data.rows(Split.VALID)
    ]
    documents = (document for question in questions for document in question.documents)
    file = "hotpotqa/hotpot_dev_distractor_v1.json"
    yield from among_documents(questions, documents, name="ruler_hotpotqa", length=length, file=file)


def _document(title: str, sentences: Sequence[str]) -> str:
    return f"{title}\n{''.join(sentences)}"
