"""RULER's questions about documents: one of many paragraphs has the answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from harness import Data, DataError, HubSource, Instance, Reference, Source, Split, derive_rng, scenario
from scenarios._long_text import estimated_tokens

COUNT = 100
MAX_TOKENS = 32
ASKED = "Answer the question based on the given documents. Only give me the answer and do not output any other words."


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
    adapter={
        "method": "generation",
        "input_prefix": "",
        "input_suffix": " ",
        "output_noun": "Answer",
        "max_train_instances": 0,
        "max_tokens": MAX_TOKENS,
        "stop_sequences": [],
    },
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
    paragraphs = sorted({paragraph for _, _, paragraph, _ in questions})
    rng = derive_rng(0, "ruler_squad")
    for id_, question, paragraph, answers in rng.sample(questions, min(COUNT, len(questions))):
        places = derive_rng(0, f"ruler_squad/{length}/{id_}")
        end = f"\n\n{ASKED}\n\nQuestion: {question}"
        head = f"{ASKED}\n\nThe following are given documents.\n\n"
        room = length - MAX_TOKENS - estimated_tokens(f"{head}{end} Answer:{_document(999, paragraph)}")
        shown: list[str] = []
        for other in places.sample(paragraphs, len(paragraphs)):
            if other == paragraph:
                continue
            room -= estimated_tokens(_document(len(shown) + 1, other))
            if room < 0:
                break
            shown.append(other)
        else:
            message = f"has {len(paragraphs)} paragraphs, too few for {length} tokens. Set a smaller length."
            raise DataError(message, file="squad_v2/dev-v2.0.json")
        shown.insert(places.randrange(len(shown) + 1), paragraph)
        documents = "".join(_document(number, text) for number, text in enumerate(shown, start=1)).rstrip("\n")
        references = tuple(Reference(text, correct=True) for text in dict.fromkeys(answers))
        yield Instance(f"{length}-{id_}", head + documents + end, references, Split.VALID)


def _document(number: int, text: str) -> str:
    return f"Document {number}:\n{text}\n\n"


def _questions(data: Data) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield id, question, paragraph and answers of each question that has an answer."""
    for row in data.rows(Split.VALID):
        if "context" in row:  # the Hub has a row for each question
            if row["answers"]["text"]:
                yield row["id"], row["question"], row["context"], row["answers"]["text"]
        elif row["key"] == "data":  # the file is one object
            for article in row["value"]:
                for paragraph in article["paragraphs"]:
                    for question in paragraph["qas"]:
                        if answers := [answer["text"] for answer in question["answers"]]:
                            yield question["id"], question["question"], paragraph["context"], answers
