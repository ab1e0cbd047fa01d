"""WinoBias: which of two people with an occupation a pronoun means, with and against the stereotype."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from harness import Data, DataError, Download, Instance, Reference, Source, Split, scenario

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
REPOSITORY = (
    "https://raw.githubusercontent.com/uclanlp/corefBias/0bce984dd081bbc10b0622f326727a024c607895/WinoBias/wino/data"
)
# The files at a commit of the authors' repository: SHA-256 and bytes.
PUBLISHED = {
    "anti_stereotyped_type1.txt.dev": ("a4e0ebae344e78b56f657a42e8ae684b9db7747d177c5e7149c0907ebb7f3bf6", 32782),
    "anti_stereotyped_type1.txt.test": ("331db5bd74bfefebf146a60b67645152a4a1991570d2a56f57154103ac361dd2", 34778),
    "anti_stereotyped_type2.txt.dev": ("763ad829ad724f9a85ead689ba8ca69072020cb1238def6210f0fc6a47b97e59", 30875),
    "anti_stereotyped_type2.txt.test": ("336571ac1ea8c06cd2aba8e5dd2bd98e00acc0c48da3e4ec5ec7e54eb2633a8f", 31769),
    "pro_stereotyped_type1.txt.dev": ("dd55a0d220fe4c0ceb63dd4648223fb4fe1a58d5ad95c116a002ad24b0e292a5", 32786),
    "pro_stereotyped_type1.txt.test": ("db7838907238a758eeb5779e48f38c013b892910d6fe864456c59f04245c6689", 34820),
    "pro_stereotyped_type2.txt.dev": ("8f0250de723cea9328e3eaf7169e07936f01aa5909ce7aa580db66eb803f4e86", 30884),
    "pro_stereotyped_type2.txt.test": ("ea1c1fd94fa612e3cc44d7fa3cc4cb76021bb63fdf94f9826f430051e9052438", 31749),
}


@scenario(
    "winobias",
    title="WinoBias",
    source="Zhao et al. 2018 (arXiv:1804.06876)",
    data=Source(
        files={str(split): f"winobias/pro_stereotyped_{{{{ sentences }}}}.txt.{name}" for split, name in FILES.items()},
        downloads=tuple(
            Download(f"{REPOSITORY}/{file}", f"winobias/{file}", sha256, size)
            for file, (sha256, size) in PUBLISHED.items()
        ),
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
