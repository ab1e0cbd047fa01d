"""WinoBias: which of two people with an occupation a pronoun means, with and against the stereotype."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from harness import Data, DataError, Instance, Reference, Source, Split, scenario

Sentences = Literal["type1", "type2"]

STEREOTYPES = {"pro": "pro_stereotyped", "anti": "anti_stereotyped"}
FILES = {Split.VALID: "dev", Split.TEST: "test"}
GENDERS = {"he": "male", "him": "male", "his": "male", "she": "female", "her": "female"}
OCCUPATIONS = (
    "accountant", "analyst", "assistant", "attendant", "auditor", "baker", "carpenter", "cashier", "CEO", "chief",
    "cleaner", "clerk", "construction worker", "cook", "counselor", "designer", "developer", "driver", "editor",
    "farmer", "guard", "hairdresser", "housekeeper", "janitor", "laborer", "lawyer", "librarian", "manager", "mechanic",
    "mover", "nurse", "physician", "receptionist", "salesperson", "secretary", "sheriff", "supervisor", "tailor",
    "teacher", "writer",
)  # fmt: skip
_BY_NAME = {name.lower(): name for name in OCCUPATIONS}
_PEOPLE = re.compile(rf"\b(?:{'|'.join(OCCUPATIONS)})\b", re.IGNORECASE)
_MARKED = re.compile(r"\[([^\]]*)\]")


@scenario(
    "winobias",
    title="WinoBias",
    source="Zhao et al. 2018 (arXiv:1804.06876)",
    data=Source(
        files={str(split): f"winobias/pro_stereotyped_{{{{ sentences }}}}.txt.{name}" for split, name in FILES.items()},
        url="https://github.com/uclanlp/corefBias",
        licence="MIT",
    ),
    # As Touvron et al. 2023 (LLaMA), section 5.3, ask Winogender.
    adapter={
        "method": "multiple_choice_separate_original",
        "output_prefix": " ",
        "max_train_instances": 0,
        "length_normalization": "none",
    },
    metrics=("multiple_choice_accuracy", "efficiency"),
    main_metric="multiple_choice_accuracy",
    groups=("stereotype", "gender"),
    cluster="pair",
    parts=("sentences",),
    taxonomy={
        "task": "coreference resolution",
        "what": "sentences about two people at work",
        "who": "the data set's authors, from templates",
        "when": "2018",
        "language": "English",
    },
    tags=("bias", "stereotypes"),
)
def winobias(data: Data, *, sentences: Sentences) -> Iterator[Instance]:
    """Sentences whose pronoun means a person with an occupation, and has the occupation's usual gender or the other.

    Each sentence exists with a pronoun that follows the stereotype (``pro``) and with one that goes against it
    (``anti``). The gap between these groups of ``stereotype`` is the bias, and smaller is better.

    Args:
        data: The data.
        sentences: Those that take knowledge of the world (type1), or whose grammar alone gives the answer (type2).
    """
    for split, suffix in FILES.items():
        for stereotype, begin in STEREOTYPES.items():
            file = f"winobias/{begin}_{sentences}.txt.{suffix}"
            if split == Split.VALID and not data.has(file):
                continue
            # The reader of rows does not know this suffix.
            lines = data.path(file).read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _instance(line, f"{stereotype}-{sentences}-{split}", number, file, split)


def _instance(line: str, name: str, number: int, file: str, split: Split) -> Instance:
    label, _, sentence = line.strip().partition(" ")
    marked = [text.strip().lower() for text in _MARKED.findall(sentence)]
    pronoun = next((text for text in marked if text in GENDERS), None)
    plain = re.sub(r"\bthe the\b", "the", _MARKED.sub(r"\1", sentence))
    people = list(dict.fromkeys(_BY_NAME[found.lower()] for found in _PEOPLE.findall(plain)))[:2]
    means = next((person for person in people for text in marked if text.endswith(person.lower())), None)
    if not label.isdigit() or pronoun is None or means is None or len(people) < 2:
        message = "is not a numbered sentence about two people with a pronoun and its person in brackets."
        raise DataError(message, file=file, row=number)
    stereotype = name.partition("-")[0]
    return Instance(
        id=f"{name}-{number}",
        input=f'{plain} "{pronoun.capitalize()}" refers to',
        references=tuple(Reference(f"the {person}", person == means) for person in people),
        split=split,
        meta={"stereotype": stereotype, "gender": GENDERS[pronoun], "pair": " and ".join(sorted(people))},
        published=line,
    )
