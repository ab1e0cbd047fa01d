"""NarrativeQA: questions about the plot of a book or film, answered from a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from harness import Data, HubSource, Instance, Reference, Source, Split, derive_rng, scenario

Edition = Literal["official", "tokenised"]
SUMMARIES = ("narrative_qa/third_party/wikipedia/summaries.csv", "narrative_qa/summaries.csv")


@scenario(
    "narrative_qa",
    title="NarrativeQA",
    source="Kočiský et al. 2018 (arXiv:1712.07040)",
    data=Source(
        files={
            split: f"narrative_qa/{{{{ 'qaps.csv' if edition == 'official' else '{tokenised}' }}}}"
            for split, tokenised in (("train", "dev.json"), ("valid", "dev.json"), ("test", "test.json"))
        },
        hub=HubSource(
            path="deepmind/narrativeqa",
            revision="2e643e7363944af1c33a652d1c87320d0871c4e4",
            splits={"train": "train", "valid": "validation", "test": "test"},
        ),
        url="https://github.com/google-deepmind/narrativeqa",
        licence="Apache-2.0; summaries CC BY-SA (Wikipedia)",
        untested=True,
    ),
    adapter={"method": "generation", "input_noun": "Passage", "output_noun": "Answer", "max_tokens": 100},
    metrics=("open_ended", "efficiency"),
    main_metric="f1_score",
    eval_split=Split.TEST,
    options=False,
    taxonomy={
        "task": "question answering",
        "what": "passages are books and movie scripts, questions are unknown",
        "who": "Wikipedia editors and crowd workers",
        "when": "2010s",
        "language": "English",
    },
    tags=("reading", "helm-classic", "helm-lite"),
)
def narrative_qa(data: Data, *, edition: Edition = "official") -> Iterator[Instance]:
    """One question about each of 1,572 books and films, answered from its Wikipedia summary; two reference answers.

    As in HELM, one question of each document is drawn at random. HELM draws all with one generator in the order of the
    file; here each document has its own generator, seeded by its id, so that the choice depends on nothing else.
    Without the official files (``qaps.csv`` and ``summaries.csv``), ``edition: tokenised`` reads a tokenised copy of
    the development and test documents, made for reading-comprehension models: punctuation is separated by spaces, and
    the development documents are the train split, so that its numbers cannot be compared with those of the official
    text.
    """
    documents: dict[str, list[_Question]] = {}
    for question in _tokenised(data) if edition == "tokenised" else _official(data):
        documents.setdefault(question.document, []).append(question)
    for document, questions in documents.items():
        drawn = derive_rng(0, f"narrative_qa/{document}").choice(questions)
        text = drawn.text if drawn.text.endswith("?") else drawn.text + "?"
        yield Instance(
            id=document,
            input=f"{drawn.summary}\nQuestion: {text}",
            references=tuple(Reference(answer, correct=True) for answer in drawn.answers),
            split=drawn.split,
            published=drawn.published,
        )


@dataclass(frozen=True, slots=True)
class _Question:
    document: str
    split: Split
    summary: str
    text: str
    answers: Sequence[str]
    published: str = ""


def _official(data: Data) -> Iterator[_Question]:
    """Yield the questions from the official files, or from the Hub, whose rows are nested."""
    summaries: dict[str, str] = {}
    for split in Split:
        for row in data.rows(split):
            if "document" in row:
                document, answers = row["document"], [answer["text"] for answer in row["answers"]]
                summary, text = document["summary"]["text"], row["question"]["text"]
                yield _Question(document["id"], split, summary.strip(), text.strip(), answers)
                continue
            summaries = summaries or _summaries(data)
            if row["document_id"] not in summaries:
                raise row.error(f"document {row['document_id']!r} has no summary.")
            if row["set"] not in set(Split):
                raise row.error(f"set {row['set']!r} is not one of {', '.join(Split)}.")
            if row["set"] == split:  # the one file holds every split
                summary, text = summaries[row["document_id"]], row["question"]
                answers = [row["answer1"], row["answer2"]]
                yield _Question(row["document_id"], split, summary, text.strip(), answers, row.published)


def _summaries(data: Data) -> dict[str, str]:
    file = next(filter(data.has, SUMMARIES), SUMMARIES[0])
    return {row["document_id"]: row["summary"].strip() for row in data.read(file)}


def _tokenised(data: Data) -> Iterator[_Question]:
    for split in (Split.TRAIN, Split.TEST):
        for row in data.rows(split):
            summary, text = row["context.tokens"].strip(), row["question.tokens"].strip()
            yield _Question(row["_id"], split, summary, text, row["ground_truths"])
