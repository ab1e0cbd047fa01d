"""DROP: questions about a paragraph that ask for counting, sorting, adding and comparing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness import Data, HubSource, Instance, PromptVariant, Reference, Source, Split, scenario


@scenario(
    "drop",
    title="DROP",
    source="Dua et al. 2019 (arXiv:1903.00161)",
    data=Source(
        files={"train": "drop/drop_dataset_train.json", "valid": "drop/drop_dataset_dev.json"},
        hub=HubSource(
            path="EleutherAI/drop",
            revision="619386fc7ffe6dace3cc6d3483c69b164ebf6bf3",
            splits={"train": "train", "valid": "validation"},
        ),
        url="https://allenai.org/data/drop",
        licence="CC BY-SA 4.0",
        untested=True,
    ),
    adapter={
        "method": "generation",
        "input_prefix": "",
        "input_suffix": "",
        "output_prefix": " ",
        "output_suffix": "\n",
        "max_train_instances": 3,
        "max_tokens": 50,
    },
    metrics=("drop_f1", "drop_exact", "efficiency"),
    main_metric="drop_f1",
    eval_split=Split.VALID,
    cluster="passage",
    prompts={
        "lm_eval": PromptVariant(
            "As lm-evaluation-harness 0.4.13 asks drop without examples; an answer ends at a full stop.",
            adapter={
                "method": "generation",
                "input_prefix": "",
                "input_suffix": "",
                "output_prefix": "",
                "example_selection": "lm_eval",
                "max_train_instances": 0,
                "max_tokens": 256,
                "stop_sequences": ["."],
            },
        )
    },
    taxonomy={
        "task": "question answering",
        "what": "paragraphs of Wikipedia on sports and history",
        "who": "crowd workers",
        "when": "2019",
        "language": "English",
    },
    tags=("math", "reading", "reasoning"),
)
def drop(data: Data) -> Iterator[Instance]:
    """Questions whose answer is a number, a date, or one or more spans of the paragraph.

    Each annotator's answer is a reference; the spans of one answer are joined by "; ". The prompt is
    lm-evaluation-harness's, but that an answer ends with its line and not at a full stop, which would cut 3.5 to 3.
    """
    for split in (Split.TRAIN, Split.VALID):
        if data.lacking(split):
            continue
        for row in data.rows(split):
            if "query_id" in row:  # the Hub has a row for each question
                yield _instance(row["section_id"], row["passage"], row, split)
                continue
            for question in row["value"]["qa_pairs"]:  # the file is one object, a paragraph for each of its keys
                yield _instance(row["key"], row["value"]["passage"], question, split)


def _instance(section: str, passage: str, question: Mapping[str, Any], split: Split) -> Instance:
    others = question.get("validated_answers") or []
    if isinstance(others, Mapping):  # the Hub has a list for each field
        others = [dict(zip(others, values, strict=True)) for values in zip(*others.values(), strict=True)]
    texts = dict.fromkeys(_text(answer) for answer in [question["answer"], *others])
    return Instance(
        id=question["query_id"],
        input=f"{passage} {question['question']}",
        references=tuple(Reference(text, correct=True) for text in texts if text),
        split=split,
        meta={"passage": section},
    )


def _text(answer: Mapping[str, Any]) -> str:
    """Return an answer as text: its number, else its spans, else its date."""
    spans: Sequence[str] = answer.get("spans") or ()
    date: Mapping[str, str] = answer.get("date") or {}
    written = " ".join(date[part] for part in ("day", "month", "year") if date.get(part))
    return str(answer.get("number") or "") or "; ".join(spans) or written
