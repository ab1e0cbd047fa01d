"""Questions about documents, each hidden among as many others as there is room for: RULER's question answering."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from harness import DataError, Instance, Reference, Split, derive_rng
from scenarios._long_text import estimated_tokens

COUNT = 100
MAX_TOKENS = 32
ASKED = "Answer the question based on the given documents. Only give me the answer and do not output any other words."
ADAPTER: Mapping[str, Any] = {
    "method": "generation",
    "input_prefix": "",
    "input_suffix": " ",
    "output_noun": "Answer",
    "max_train_instances": 0,
    "max_tokens": MAX_TOKENS,
    "stop_sequences": [],
}


class Question(NamedTuple):
    """A question with the documents that are needed to answer it."""

    id: str
    text: str
    documents: Sequence[str]
    answers: Sequence[str]


def among_documents(
    questions: Iterable[Question], documents: Iterable[str], *, name: str, length: int, file: str
) -> Iterator[Instance]:
    """Yield an instance for a hundred of the questions whose documents leave room for others.

    Args:
        questions: All questions.
        documents: All documents, among them those of the questions.
        name: The scenario, by which draws are seeded.
        length: Tokens of prompt and answer together, as ``estimated_tokens`` counts them.
        file: The data's file, for messages.

    Raises:
        DataError: There are too few documents to fill the length, or no question fits it.
    """
    everything = sorted(set(documents))
    fitting = [(question, room) for question in questions if (room := length - _tokens(question)) > 0]
    if not fitting:
        raise DataError(f"has no question that fits {length} tokens. Set a larger length.", file=file)
    for question, room in derive_rng(0, name).sample(fitting, min(COUNT, len(fitting))):
        places = derive_rng(0, f"{name}/{length}/{question.id}")
        shown: list[str] = []
        for other in places.sample(everything, len(everything)):
            if other in question.documents:
                continue
            room -= estimated_tokens(_document(len(shown) + 1, other))
            if room < 0:
                break
            shown.append(other)
        else:
            message = f"has {len(everything)} paragraphs, too few for {length} tokens. Set a smaller length."
            raise DataError(message, file=file)
        for text in question.documents:
            shown.insert(places.randrange(len(shown) + 1), text)
        references = tuple(Reference(text, correct=True) for text in dict.fromkeys(question.answers))
        yield Instance(f"{length}-{question.id}", _asked(question.text, shown), references, Split.VALID)


def _asked(question: str, documents: Sequence[str]) -> str:
    listed = "".join(_document(number, text) for number, text in enumerate(documents, start=1)).rstrip("\n")
    return f"{ASKED}\n\nThe following are given documents.\n\n{listed}\n\n{ASKED}\n\nQuestion: {question}"


def _tokens(question: Question) -> float:
    """Return the estimated tokens of a prompt with the question's own documents, and of the answer."""
    needed = "".join(_document(999, text) for text in question.documents)
    return MAX_TOKENS + estimated_tokens(f"{_asked(question.text, ())}\n\n Answer:{needed}")


def _document(number: int, text: str) -> str:
    return f"Document {number}:\n{text}\n\n"
