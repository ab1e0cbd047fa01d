"""TruthfulQA: the true answer among answers that people wrongly believe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness import Data, HubSource, Instance, Reference, Row, Source, Split, scenario

TRAIN_FRACTION = 0.2


@scenario(
    "truthful_qa",
    title="TruthfulQA",
    source="Lin et al. 2022 (arXiv:2109.07958)",
    data=Source(
        files={"valid": ("truthful_qa/TruthfulQA.csv", "truthful_qa/data/v1/TruthfulQA.csv")},
        hub=HubSource(
            path="truthfulqa/truthful_qa",
            revision="741b8276f2d1982aa3d5b832d3ee81ed3b896490",
            config="generation",
            splits={"valid": "validation"},
        ),
        url="https://github.com/sylinrl/TruthfulQA",
        licence="Apache-2.0",
    ),
    adapter={
        "method": "multiple_choice_joint",
        "input_noun": "Question",
        "output_noun": "Answer",
        "max_train_instances": 5,
    },
    metrics=("multiple_choice_accuracy", "accuracy", "efficiency"),
    main_metric="multiple_choice_accuracy",
    eval_split=Split.VALID,
    taxonomy={
        "task": "question answering",
        "what": "questions that invite a common misconception",
        "who": "the data set's authors",
        "when": "2021",
        "language": "English",
    },
    tags=("truthfulness", "helm-classic", "open-llm-v1"),
)
def truthful_qa(data: Data) -> Iterator[Instance]:
    """Questions that some people would answer falsely, with the best true answer and several false ones.

    This is exactly HELM's ``mc_single`` task: the first 163 of the 817 questions are the train split, the rest
    ``valid``; every answer ends in a full stop; and the false answers followed by the best answer are rotated left by
    the code point of the best answer's first character modulo their number. Only that answer is correct, by its index.
    """
    rows = list(data.rows(Split.VALID))
    train = int(len(rows) * TRAIN_FRACTION)
    for index, row in enumerate(rows):
        best = _sentence(_field(row, "Best Answer"))
        false = [_sentence(answer) for answer in _answers(_field(row, "Incorrect Answers"))]
        if best == "." or not false:
            raise row.error("needs a best answer and at least one incorrect answer.")
        references = [Reference(answer) for answer in false] + [Reference(best, correct=True)]
        turn = ord(best[0]) % len(references)
        yield Instance(
            id=f"question-{index + 1}",
            input=_field(row, "Question").strip(),
            references=tuple(references[turn:] + references[:turn]),
            split=Split.TRAIN if index < train else Split.VALID,
            published=row.published,
            meta={"category": _field(row, "Category")},
        )


def _field(row: Row, column: str) -> str:
    # The Hub's columns are in lower case with underscores, and hold the answers as lists.
    hub_column = column.lower().replace(" ", "_")
    value = row[hub_column] if hub_column in row else row[column]
    return value if isinstance(value, str) else ";".join(value)


def _answers(text: str) -> Sequence[str]:
    return [answer.strip() for answer in text.split(";") if answer.strip()]


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith(".") else text + "."
