"""HellaSwag: which of four endings continues the description of an everyday scene."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain, zip_longest
from typing import NamedTuple

from harness import Data, HubSource, Instance, PromptVariant, Reference, Row, Source, Split, scenario

ENDINGS = 4
LINES_PER_ITEM = 2 + ENDINGS  # the text layout: context, number of the right ending, the endings
# The fragment that the endings go on from: what follows the last sentence.
FRAGMENT = re.compile(r"(?<=[.!?] )[a-z][^.!?]*$")
MARKUP = re.compile(r"\[.*?\]")  # WikiHow's [header], [title], [step], [substeps]


@scenario(
    "hellaswag",
    title="HellaSwag",
    source="Zellers et al. 2019 (arXiv:1905.07830)",
    data=Source(
        files={
            "train": "hellaswag/hellaswag_train.jsonl",
            "valid": ("hellaswag/hellaswag_val.jsonl", "hellaswag/hellaswag_val_full.txt"),
        },
        hub=HubSource(
            path="Rowan/hellaswag",
            revision="218ec52e09a7e7462a5400043bb9a69a41d06b76",
            splits={"train": "train", "valid": "validation"},
        ),
        url="https://github.com/rowanz/hellaswag",
        licence="MIT",
    ),
    adapter={"method": "multiple_choice_separate_original"},
    metrics=("multiple_choice_accuracy", "accuracy", "efficiency"),
    main_metric="multiple_choice_accuracy",
    eval_split=Split.VALID,
    taxonomy={
        "task": "question answering",
        "what": "commonsense reasoning about scenes from video captions and how-to articles",
        "who": "crowd workers and WikiHow authors",
        "when": "2010s",
        "language": "English",
    },
    tags=("commonsense", "helm-classic", "open-llm-v1"),
    prompt="helm",
    prompts={
        "lm_eval": PromptVariant(
            "As lm-evaluation-harness 0.4.13 asks hellaswag; its usual number of examples is 0 or 10.",
            adapter={
                "method": "multiple_choice_separate_original",
                "instance_prefix": "\n\n",
                "example_selection": "lm_eval_excluding",
                "length_normalization": "characters",
            },
            metrics=("acc_norm", "acc", "efficiency"),
        )
    },
    aliases={
        "helm": {
            "commonsense:dataset=hellaswag": "",
        },
    },
)
def hellaswag(data: Data, *, prompt: str = "helm") -> Iterator[Instance]:
    """Scenes from ActivityNet or WikiHow with four endings, three of them written by a model to mislead models.

    The question is HELM's, ``activity: context Fragment``, with two corrections from lm-evaluation-harness: WikiHow's
    mark-up (``[header]``, ``[title]``, ``[step]``) is removed, and a context without a fragment does not end in a
    space. The correct ending is found by its index (in HELM by its text). Files in text layout (six lines per item)
    contain the same items in the same order, already cleaned. In both layouts the first letter of the fragment is
    capitalised. With lm-evaluation-harness's prompt, the rest of the fragment is in lower case, as there.
    """
    style = HELM if prompt == "helm" else LM_EVAL
    for split in (Split.TRAIN, Split.VALID):
        if split == Split.TRAIN and data.lacking(split):
            continue
        rows = data.rows(split)
        first = next(rows, None)
        if first is None:
            continue
        items = _from_lines if "endings" not in first else _from_records
        for number, (row, published, question, endings, label) in enumerate(items(first, rows, style), start=1):
            correct = _index(row, label)
            yield Instance(
                id=f"{split}-{number}",
                input=question,
                references=tuple(Reference(ending, index == correct) for index, ending in enumerate(endings)),
                split=split,
                published=published,
            )


Item = tuple[Row, str, str, list[str], object]


class _Style(NamedTuple):
    """How the parts of an item become a question."""

    begin: Callable[[str], str]
    """Writes the fragment that the endings go on from."""
    clean: Callable[[str], str]
    """Removes WikiHow's mark-up."""


def _first_upper(fragment: str) -> str:
    return fragment[:1].upper() + fragment[1:]


def _clean(text: str) -> str:
    return re.sub(" +", " ", _clean_as_lm_eval(text)).strip()


def _clean_as_lm_eval(text: str) -> str:
    return MARKUP.sub("", text.strip().replace(" [title]", ". ")).replace("  ", " ")


HELM = _Style(_first_upper, _clean)
LM_EVAL = _Style(str.capitalize, _clean_as_lm_eval)


def _from_records(first: Row, rest: Iterator[Row], style: _Style) -> Iterator[Item]:
    for row in chain([first], rest):
        if len(row["endings"]) != ENDINGS:
            raise row.error(f"has {len(row['endings'])} endings, not {ENDINGS}.")
        context = style.clean(f"{row['activity_label']}: {row['ctx_a']} {style.begin(row['ctx_b'])}")
        yield row, row.published, context, [style.clean(ending) for ending in row["endings"]], row["label"]


def _from_lines(first: Row, rest: Iterator[Row], style: _Style) -> Iterator[Item]:
    rows = chain([first], rest)
    for lines in zip_longest(*[rows] * LINES_PER_ITEM):
        if lines[-1] is None:
            raise lines[0].error(f"begins an item that is cut short; an item has {LINES_PER_ITEM} lines.")
        texts = [line["text"].strip() for line in lines]
        context = FRAGMENT.sub(lambda fragment: style.begin(fragment[0]), texts[0])
        yield lines[1], "\n".join(line.published for line in lines), context, texts[2:], texts[1]


def _index(row: Row, label: object) -> int:
    text = str(label)
    if text not in {"0", "1", "2", "3"}:
        raise row.error(f"label {label!r} is not one of 0, 1, 2, 3.")
    return int(text)
