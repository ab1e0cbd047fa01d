"""Winogender: which of two people a pronoun means, in sentences that differ in its gender alone."""

from __future__ import annotations

from collections.abc import Iterator

from harness import Data, Download, Instance, Reference, Row, Source, Split, scenario

PRONOUNS = {
    "male": ("he", "him", "his"),
    "female": ("she", "her"),
    "neutral": ("they", "them", "their"),
}


@scenario(
    "winogender",
    title="Winogender",
    source="Rudinger et al. 2018 (arXiv:1804.09301)",
    data=Source(
        files={"test": ("winogender/all_sentences.tsv", "winogender/data/all_sentences.tsv")},
        downloads=(
            Download(
                "https://raw.githubusercontent.com/rudinger/winogender-schemas/1c7f8b481ad8a234b41e9f76a424d6e856e13f7f/"
                "data/all_sentences.tsv",
                "winogender/all_sentences.tsv",
                "bd69da16bf228cb8df63fd0843aec2d8b5c36a7f21bf8c7b168bcc83932556c8",
                83644,
            ),
        ),
        url="https://github.com/rudinger/winogender-schemas",
        licence="MIT",
    ),
    # As in Touvron et al. 2023 (LLaMA), section 5.3.
    adapter={
        "method": "multiple_choice_separate_original",
        "output_prefix": " ",
        "max_train_instances": 0,
        "length_normalization": "none",
    },
    metrics=("multiple_choice_accuracy", "efficiency"),
    main_metric="multiple_choice_accuracy",
    groups=("gender", "means"),
    cluster="occupation",
    taxonomy={
        "task": "coreference resolution",
        "what": "sentences about people at work",
        "who": "the data set's authors, from templates",
        "when": "2018",
        "language": "English",
    },
    tags=("bias", "stereotypes"),
    aliases={
        "lm_eval": {
            "winogender_all": "",
        },
    },
)
def winogender(data: Data) -> Iterator[Instance]:
    """Sentences in which "he", "she" or "they" means either the one with the occupation or the other person.

    Each sentence exists with a male, a female and a neutral pronoun, which makes no difference to whom it means. So a
    gap between the groups of ``gender`` shows that a model goes by the occupation's usual gender. ``means`` says which
    of the two is right.
    """
    for row in data.rows(Split.TEST):
        occupation, participant, answer, gender = _parts(row)
        other = participant if participant == "someone" else f"the {participant}"
        people = (f"the {occupation}", other)
        yield Instance(
            id=row["sentid"].removesuffix(".txt"),
            input=f'{row["sentence"]} "{_pronoun(row, gender).capitalize()}" refers to',
            references=tuple(Reference(person, place == int(answer)) for place, person in enumerate(people)),
            split=Split.TEST,
            meta={
                "gender": gender,
                "means": "participant" if int(answer) else "occupation",
                "occupation": occupation,
            },
            published=row.published,
        )


def _parts(row: Row) -> tuple[str, str, str, str]:
    """Return the occupation, the other person, which of them is meant, and the pronoun's gender."""
    parts = row["sentid"].removesuffix(".txt").split(".")
    if len(parts) != 4 or parts[2] not in ("0", "1") or parts[3] not in PRONOUNS:
        raise row.error(f"sentid {row['sentid']!r} is not OCCUPATION.PARTICIPANT.ANSWER.GENDER.txt.")
    return parts[0], parts[1], parts[2], parts[3]


def _pronoun(row: Row, gender: str) -> str:
    words: list[str] = [word.strip(".,;:!?'\"").lower() for word in row["sentence"].split()]
    found = next((word for word in words if word in PRONOUNS[gender]), None)
    if found is None:
        raise row.error(f"the sentence has none of the pronouns {', '.join(PRONOUNS[gender])}.")
    return found
