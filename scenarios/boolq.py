"""BoolQ: yes/no questions about a passage; some come with questions that people edited to change the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator

from harness import (
    Data,
    DataError,
    HubSource,
    Instance,
    PromptVariant,
    Reference,
    Row,
    Source,
    Split,
    scenario,
    short_key,
)

SPLITS = (Split.TRAIN, Split.VALID)
ANSWERS = ("Yes", "No")
LM_EVAL_ANSWERS = ("no", "yes")
CONTRAST_FILE = "boolq/boolq_perturbed.json"
ANSWER_OF_LABEL = {"TRUE": "Yes", "FALSE": "No"}


@scenario(
    "boolq",
    title="BoolQ",
    source="Clark et al. 2019 (arXiv:1905.10044); contrast sets: Gardner et al. 2020 (arXiv:2004.02709)",
    data=Source(
        files={"train": ("boolq/train.jsonl", "boolq/train.first2000.jsonl"), "valid": "boolq/dev.jsonl"},
        hub=HubSource(
            path="google/boolq",
            revision="35b264d03638db9f4ce671b711558bf7ff0f80d5",
            splits={"train": "train", "valid": "validation"},
        ),
        url="https://github.com/google-research-datasets/boolean-questions",
        licence="CC BY-SA 3.0",
    ),
    adapter={"method": "generation", "input_noun": "Passage", "output_noun": "Answer", "max_tokens": 5},
    metrics=("accuracy", "efficiency"),
    main_metric="quasi_exact_match",
    eval_split=Split.VALID,
    cluster="passage",
    taxonomy={
        "task": "question answering",
        "what": "passages from Wikipedia, questions from search queries",
        "who": "web users",
        "when": "2010s",
        "language": "English",
    },
    tags=("reading", "helm-classic"),
    prompt="helm",
    prompts={
        "lm_eval": PromptVariant(
            "As lm-evaluation-harness 0.4.13 asks boolq; the words no and yes are scored.",
            adapter={
                "method": "multiple_choice_separate_original",
                "instance_prefix": "\n\n",
                "input_suffix": "\n",
                "output_prefix": "Answer: ",
                "example_selection": "lm_eval_excluding",
                "length_normalization": "none",
            },
            metrics=("acc", "efficiency"),
        )
    },
    aliases={
        "lm_eval": {
            "boolq-seq2seq": "prompt=",
            "super_glue-boolq-t5-prompt": "prompt=",
        },
    },
)
def boolq(
    data: Data, *, prompt: str = "helm", contrast_sets: bool = False, only_contrast: bool = False
) -> Iterator[Instance]:
    """Yes/no questions that people asked a search engine, each with a Wikipedia passage that contains the answer.

    Both answers are references, and the right one is correct; HELM Classic, whose scenario this is, has only the right
    one. ``meta.passage`` is a key of the passage, which several questions may share. With ``contrast_sets``, the 64
    questions of ``valid`` that people edited to change the answer have the edited questions in ``meta.contrast``, a
    list of ``{input, answer}``; as in HELM, edits that do not change the answer are left out. With ``only_contrast``,
    ``valid`` contains only these questions.
    """
    contrast = _contrast_questions(data) if contrast_sets or only_contrast else {}
    write, answers = (_input, ANSWERS) if prompt == "helm" else (_lm_eval_input, LM_EVAL_ANSWERS)
    for split in SPLITS:
        for row in data.rows(split):
            question, passage = str(row["question"]), str(row["passage"])
            edited = contrast.get(question, ()) if split is Split.VALID else ()
            others = [{"input": write(passage, other), "answer": answer} for other, answer in edited]
            if only_contrast and split is Split.VALID and not others:
                continue
            yield Instance(
                id=f"{split}-{row.number}",
                input=write(passage, question),
                references=tuple(Reference(answer, answer.capitalize() == _answer(row)) for answer in answers),
                split=split,
                published=row.published,
                meta={"passage": short_key(passage), **({"contrast": others} if others else {})},
            )


def _input(passage: str, question: str) -> str:
    return f"{passage}\nQuestion: {question.strip().capitalize()}?"


def _lm_eval_input(passage: str, question: str) -> str:
    return f"{passage}\nQuestion: {question}?"


def _answer(row: Row) -> str:
    answer = row["answer"]
    if not isinstance(answer, bool):
        raise row.error(f"answer {answer!r} is neither true nor false.")
    return "Yes" if answer else "No"


def _contrast_questions(data: Data) -> dict[str, list[tuple[str, str]]]:
    """Return the edited questions whose answer differs from that of the original, by the original question."""
    questions = {}
    try:
        # The first entry describes the columns.
        for entry in json.loads(data.path(CONTRAST_FILE).read_text(encoding="utf-8"))["data"][1:]:
            turned = "No" if ANSWER_OF_LABEL[entry["answer"]] == "Yes" else "Yes"
            edits = [
                (edit["perturbed_q"], turned)
                for edit in entry["perturbed_questions"]
                if edit["perturbed_q"] and ANSWER_OF_LABEL.get(edit["answer"]) == turned
            ]
            if edits:
                questions[entry["question"]] = edits
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"is not the contrast set of Gardner et al.: {error!r}.", file=CONTRAST_FILE) from None
    return questions
