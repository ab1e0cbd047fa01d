"""NaturalQuestions, closed book: questions put to a search engine, answered without the page."""

from __future__ import annotations

from collections.abc import Iterator

from harness import Data, HubSource, Instance, Reference, Source, Split, scenario

SOURCE = Source(
    files={"valid": ("natural_qa/NQ-open.dev.jsonl",)},
    hub=HubSource(
        path="google-research-datasets/nq_open",
        revision="5dd9790a83002ad084ddeb7c420dc716852c6f28",
        config="nq_open",
        splits={"valid": "validation"},
    ),
    url="https://github.com/google-research-datasets/natural-questions/tree/master/nq_open",
    licence="CC BY-SA 3.0",
)


@scenario(
    "natural_qa",
    title="NaturalQuestions (closed book)",
    source="Kwiatkowski et al. 2019 (TACL, Q19-1026); NQ-open: Lee et al. 2019 (arXiv:1906.00300)",
    data=SOURCE,
    adapter={"method": "generation", "input_noun": "Question", "output_noun": "Answer", "max_tokens": 300},
    metrics=("open_ended", "efficiency"),
    main_metric="f1_score",
    eval_split=Split.VALID,
    taxonomy={
        "task": "question answering",
        "what": "questions from search queries",
        "who": "web users",
        "when": "2010s",
        "language": "English",
    },
)
def natural_qa(data: Data) -> Iterator[Instance]:
    """Questions asked of Google that have a short answer in Wikipedia, which the model does not see.

    The questions are NQ-open's development set, 3,610 of the original's 7,830: those with a short answer of at most
    five tokens. HELM reads the original and keeps every question with a short answer. As in HELM the first, third,
    fifth… question is for training and the others are ``valid``; a question gets a capital and a question mark. HELM
    keeps one answer of a train question, drawn at random; here all are kept and an example shows the first, so that
    nothing depends on a generator.
    """
    for index, row in enumerate(data.rows(Split.VALID)):
        answers = list(dict.fromkeys(row["answer"]))
        if not answers or isinstance(row["answer"], str):
            raise row.error("column 'answer' is not a list of at least one answer.")
        question = row["question"].strip().capitalize()
        yield Instance(
            id=f"question-{row.number}",
            input=question if question.endswith("?") else question + "?",
            references=tuple(Reference(answer, correct=True) for answer in answers),
            split=Split.TRAIN if index % 2 == 0 else Split.VALID,
        )
