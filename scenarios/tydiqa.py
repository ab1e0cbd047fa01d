"""TyDi QA, gold passages: questions in nine languages about a passage that has the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from harness import Data, Instance, Reference, Source, Split, scenario

Single = Literal["arabic", "bengali", "english", "finnish", "indonesian", "korean", "russian", "swahili", "telugu"]
Language = Literal["all", Single]


@scenario(
    "tydiqa",
    title="TyDi QA (gold passages)",
    source="Clark et al. 2020 (arXiv:2003.05002)",
    data=Source(
        files={
            "train": "tydiqa/tydiqa-goldp-v1.1-train.json",
            "valid": "tydiqa/tydiqa-goldp-v1.1-dev.json",
        },
        url="https://github.com/google-research-datasets/tydiqa",
        licence="Apache-2.0",
        untested=True,
    ),
    adapter={
        "method": "generation",
        "input_noun": "Passage",
        "output_noun": "Answer",
        "output_suffix": "\n",
        "max_train_instances": 1,
        "max_tokens": 64,
    },
    metrics=("f1_score", "squad_exact", "quasi_exact_match", "efficiency"),
    main_metric="f1_score",
    eval_split=Split.VALID,
    groups=("language",),
    cluster="passage",
    parts=("language",),
    titles={"language": {name: name.capitalize() for name in get_args(Single)}},
    options=False,
    taxonomy={
        "task": "question answering",
        "what": "passages of Wikipedia",
        "who": "speakers of each language, who did not know the answer",
        "when": "2020",
        "language": "Arabic, Bengali, English, Finnish, Indonesian, Korean, Russian, Swahili, Telugu",
    },
    tags=("multilingual", "reading"),
    aliases={
        "lm_eval": {
            "tydiqa_goldp_ar": "language=arabic",
            "tydiqa_goldp_bn": "language=bengali",
            "tydiqa_goldp_en": "language=english",
            "tydiqa_goldp_fi": "language=finnish",
            "tydiqa_goldp_id": "language=indonesian",
            "tydiqa_goldp_ko": "language=korean",
            "tydiqa_goldp_ru": "language=russian",
            "tydiqa_goldp_sw": "language=swahili",
            "tydiqa_goldp_te": "language=telugu",
        },
    },
)
def tydiqa(data: Data, *, language: Language = "all") -> Iterator[Instance]:
    """Questions of people who wanted to know the answer, which is a span of the passage in the same language.

    Args:
        data: The data.
        language: One of the nine languages, or all of them.
    """
    for split in (Split.TRAIN, Split.VALID):
        if data.lacking(split):
            continue
        for row in data.rows(split):
            if row["key"] != "data":  # the file is one object
                continue
            for article in row["value"]:
                for paragraph in article["paragraphs"]:
                    for question in paragraph["qas"]:
                        spoken = question["id"].partition("-")[0]
                        if spoken not in get_args(Single):
                            raise row.error(f"id {question['id']!r} does not begin with a language.")
                        texts = [answer["text"] for answer in question["answers"]]
                        if language in ("all", spoken):
                            yield _instance(paragraph["context"], question["question"], question["id"], texts, split)


def _instance(context: str, question: str, id_: str, answers: Sequence[str], split: Split) -> Instance:
    return Instance(
        id=id_,
        input=f"{context}\nQuestion: {question}",
        references=tuple(Reference(text, correct=True) for text in dict.fromkeys(answers)),
        split=split,
        meta={"language": id_.partition("-")[0], "passage": context},
    )
