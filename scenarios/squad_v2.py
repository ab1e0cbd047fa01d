"""SQuAD 2.0: questions about a Wikipedia paragraph, of which half cannot be answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness import Data, HubSource, Instance, Reference, Source, Split, scenario

NO_ANSWER = "unanswerable"


@scenario(
    "squad_v2",
    title="SQuAD 2.0",
    source="Rajpurkar et al. 2018 (arXiv:1806.03822)",
    data=Source(
        files={
            "train": ("squad_v2/train-v2.0.json",),
            "valid": ("squad_v2/dev-v2.0.json",),
        },
        hub=HubSource(
            path="rajpurkar/squad_v2",
            revision="3ffb306f725f7d2ce8394bc1873b24868140c412",
            splits={"train": "train", "valid": "validation"},
        ),
        url="https://rajpurkar.github.io/SQuAD-explorer/",
        licence="CC BY-SA 4.0",
    ),
    adapter={
        "method": "generation",
        "input_noun": None,
        "input_suffix": "\n\n",
        "output_noun": "Answer",
        "output_suffix": "\n",
        "max_train_instances": 0,
        "max_tokens": 50,
    },
    metrics=("squad_f1", "squad_exact", "efficiency"),
    main_metric="squad_f1",
    eval_split=Split.VALID,
    cluster="passage",
    taxonomy={
        "task": "question answering",
        "what": "paragraphs of Wikipedia",
        "who": "crowd workers",
        "when": "2018",
        "language": "English",
    },
    tags=("reading",),
    aliases={
        "lm_eval": {
            "squadv2": "",
        },
    },
)
def squad_v2(data: Data) -> Iterator[Instance]:
    """Questions whose answer is a span of the paragraph, and questions that only seem to have such an answer.

    The prompt is lm-evaluation-harness's. A question without an answer has the reference "unanswerable". For the scores
    at the best threshold, which need a model that scores texts, set the method ``generation_or_abstention`` and add the
    metric ``squad_best``.
    """
    for split in (Split.TRAIN, Split.VALID):
        if data.lacking(split):
            continue
        for row in data.rows(split):
            if "context" in row:  # the Hub has a row for each question
                yield _instance(row["title"], row["context"], row["question"], row["id"], row["answers"]["text"], split)
            elif row["key"] == "data":  # the file is one object
                for article in row["value"]:
                    yield from _questions(article, split)


def _questions(article: Mapping[str, Any], split: Split) -> Iterator[Instance]:
    for paragraph in article["paragraphs"]:
        for question in paragraph["qas"]:
            texts = [answer["text"] for answer in question["answers"]]
            yield _instance(article["title"], paragraph["context"], question["question"], question["id"], texts, split)


def _instance(title: str, context: str, question: str, id_: str, answers: Sequence[str], split: Split) -> Instance:
    texts = list(dict.fromkeys(answers)) or [NO_ANSWER]
    return Instance(
        id=id_,
        input=f"Title: {title}\n\nBackground: {context}\n\nQuestion: {question}",
        references=tuple(Reference(text, correct=True) for text in texts),
        split=split,
        meta={"passage": context},
    )
