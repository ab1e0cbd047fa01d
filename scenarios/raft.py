"""RAFT: eleven text classification tasks from practice, with fifty labelled examples each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from harness import Data, Instance, Reference, Source, Split, scenario

Subset = Literal[
    "ade_corpus_v2",
    "banking_77",
    "neurips_impact_statement_risks",
    "one_stop_english",
    "overruling",
    "semiconductor_org_types",
    "systematic_review_inclusion",
    "tai_safety_research",
    "terms_of_service",
    "tweet_eval_hate",
    "twitter_complaints",
]

# HELM's split, train_test_split(test_size=0.8, seed=42) of the datasets library: the rows, from 0, that are train.
TRAIN_ROWS = frozenset({0, 1, 2, 8, 12, 13, 14, 33, 36, 48})


@cache
def _subsets() -> Mapping[str, Mapping[str, Any]]:
    """Return the fields of each subset in the order of the prompt, its instructions line by line, and its labels."""
    subsets: Mapping[str, Mapping[str, Any]] = json.loads(
        Path(__file__).with_name("raft_subsets.json").read_text(encoding="utf-8")
    )["subsets"]
    return subsets


def _adapter(*, subset: str) -> Mapping[str, Any]:
    details = _subsets()[subset]
    labels = [f"{number}. {label}" for number, label in enumerate(details["labels"], start=1)]
    lines: Sequence[str] = [*details["instructions"], "Possible labels:", *labels]
    return {
        "method": "generation",
        "instructions": "\n".join(lines) + "\n",
        "input_noun": None,
        "input_suffix": "\n",
        "output_noun": "Label",
        "max_tokens": 30,
    }


@scenario(
    "raft",
    title="RAFT",
    source="Alex et al. 2021 (arXiv:2109.14076)",
    data=Source(
        files={"train": "raft/{{ subset }}/train.csv"},
        url="https://huggingface.co/datasets/ought/raft",
        licence="differs by task, see the data card",
    ),
    adapter=_adapter,
    metrics=("accuracy", "classification", "efficiency"),
    main_metric="quasi_exact_match",
    eval_split=Split.TEST,
    parts=("subset",),
    titles={
        "subset": {
            "ade_corpus_v2": "ADE corpus v2",
            "banking_77": "Banking77",
            "neurips_impact_statement_risks": "NeurIPS impact statement risks",
            "one_stop_english": "OneStopEnglish",
            "tai_safety_research": "TAI safety research",
            "tweet_eval_hate": "TweetEval hate",
            "twitter_complaints": "Twitter complaints",
        }
    },
    taxonomy={
        "task": "text classification",
        "what": "tweets, articles, abstracts, legal and customer texts",
        "who": "those who had the task",
        "when": "2021",
        "language": "English",
    },
    tags=("helm-classic",),
)
def raft(data: Data, *, subset: Subset) -> Iterator[Instance]:
    """Real-world classification tasks, each with the instructions that its human annotators were given.

    ``subset`` names the task. Since the official test labels are secret, HELM evaluates 40 of the 50 labelled examples
    and uses the other 10 in prompts; the same rows are used here. All labels of a task are references, and the right
    one is correct; HELM has only the right one.
    """
    details = _subsets()[subset]
    for index, row in enumerate(data.rows(Split.TRAIN)):
        if row["Label"] not in details["labels"]:
            raise row.error(f"label {row['Label']!r} is not one of {', '.join(details['labels'])}.")
        yield Instance(
            id=f"{subset}-{row['ID']}",
            input="\n".join(f"{field}: {row[field]}" for field in details["fields"]),
            references=tuple(Reference(label, label == row["Label"]) for label in details["labels"]),
            split=Split.TRAIN if index in TRAIN_ROWS else Split.TEST,
            published=row.published,
        )
