"""The International Corpus of English: how well a model predicts the English of nine regions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Literal

from harness import Data, DataError, Instance, Row, Source, Split, scenario

Subset = Literal["can", "ea", "hk", "ind", "irl", "ja", "phi", "sin", "usa"]
Category = Literal["all", "S", "W", "S1", "S2", "W1", "W2"]

FOLDERS = {
    "can": "ICE-CAN",
    "ea": "ICE-EA/corpus/retagged for wsmith",
    "hk": "ICE-HK",
    "ind": "ICE India",
    "irl": "ICE-IRL/ICE-Ireland version 1.2#6DAE.2/ICE-Ireland txt",
    "ja": "ICE-JA",
    "phi": "ICE Philippines",
    "sin": "ICE SINGAPORE",
    "usa": "ICE-USA",
}
"""The folder of each region, as its distribution unpacks it."""
# A file of East Africa is named after the kind of its texts and the country: buslet-k.txt.
EAST_AFRICA = {
    "S1": ("brdisc", "brint", "clless", "conv", "crossx", "parlia"),
    "S2": ("brnews", "brtalk", "schbr", "splect"),
    "W1": ("buslet", "essays", "exam", "judge", "soclet"),
    "W2": ("column", "crea", "editor", "feat", "instruct", "ldhum", "ldnats", "ldsoc", "ldtech", "ppgen", "pphum",
           "ppnats", "ppsoc", "pptech", "splash"),
}  # fmt: skip
FILE = re.compile(r"(?P<category>[SW][12])[A-F]-?\d{3}", re.IGNORECASE)
GENDER = re.compile(r"<gender>\s*(\w+)\s*</gender>", re.IGNORECASE)

# Editors' remarks, what could not be transcribed, false starts and what an author crossed out go with their content.
DROPPED = re.compile(r"<(?P<tag>O|-|&|\.|fnr|marginalia|del)>(?:(?!<(?P=tag)>).)*?</(?P=tag)>", re.DOTALL)
IDENTIFIER = re.compile(r"[SW]\d[A-F]-?\d{3}[#:\w]*\s?")
MARK = re.compile(r"</?(?![$,])[^<>\n]{1,40}>")
PAUSE = re.compile(r"[ \t]*<,+>")
ENTITIES = {
    "&eacute;": "é",
    "&ldquo;": '"',
    "&rdquo;": '"',
    "&dash;": "-",
    "&percent;": "%",
    "&hash;": "#",
    "&atsign;": "@",
    "&obrack;": "(",
    "&cbrack;": ")",
    "&ampersand;": "&",
}


@scenario(
    "ice",
    title="International Corpus of English",
    short="ICE",
    source="Greenbaum 1991 (English Today 7); Liang et al. 2022, section 5.1",
    data=Source(
        files={"test": f"ice/{{{{ {FOLDERS!r}[subset] }}}}"},
        url="https://www.ice-corpora.uzh.ch/en.html",
        licence="by agreement with each region's team",
        untested=True,
    ),
    adapter={"method": "language_modeling"},
    metrics=("language_modeling", "efficiency"),
    main_metric="bits_per_byte",
    options=False,
    parts=("subset",),
    titles={
        "subset": {
            "can": "Canada",
            "ea": "East Africa",
            "hk": "Hong Kong",
            "ind": "India",
            "irl": "Ireland",
            "ja": "Jamaica",
            "phi": "Philippines",
            "sin": "Singapore",
            "usa": "USA",
        }
    },
    taxonomy={
        "task": "language modeling",
        "what": "conversations, speeches, letters, essays and press",
        "who": "adult speakers of each region",
        "when": "since 1990",
        "language": "English of nine regions",
    },
    tags=("dialects", "helm-classic"),
    aliases={
        "helm": {
            "ice:category={category}": "",
            "ice:gender={gender}": "",
        },
    },
)
def ice(
    data: Data, *, subset: Subset, category: Category = "all", gender: Literal["all", "female", "male"] = "all"
) -> Iterator[Instance]:
    """Texts of the English of nine regions, spoken and written, without their mark-up but for the speakers.

    A text is a file. With ``gender``, a text counts if its header (``Headers/NAME.hdr``) says that all its speakers or
    authors have that gender: India and the USA have such headers. HELM reads the tables of Canada and Hong Kong as
    well, which are Excel files, and splits East Africa's files, which hold several texts each, into these; it also
    drops the words in ``<w>``.

    Args:
        data: The corpora, which are licensed: one folder for each region.
        subset: The region: Canada, East Africa, Hong Kong, India, Ireland, Jamaica, Philippines, Singapore or USA.
        category: Spoken (S), written (W), dialogue (S1), monologue (S2), private (W1) or public (W2) texts.
        gender: That of all speakers or authors of a text.
    """
    files = [(PurePosixPath(row["path"]), row) for row in data.rows(Split.TEST)]
    genders = {path.stem.upper(): _gender(row) for path, row in files if path.suffix.lower() == ".hdr"}
    if gender != "all" and not genders:
        raise DataError(f"the folder of {subset!r} has no headers (.hdr), so that gender must be 'all'.")
    found = False
    for path, row in files:
        kind = _kind(path, subset)
        if path.suffix.lower() != ".txt" or not kind:
            continue
        found = True
        if category not in ("all", kind, kind[0]) or (gender != "all" and genders.get(path.stem.upper()) != gender):
            continue
        if text := plain_text(row["text"]):
            yield Instance(id=f"{subset}-{path.stem}", input=text, split=Split.TEST, meta={"category": kind})
    if not found:
        raise DataError("has no texts, such as S1A-001.txt.", file=f"ice/{FOLDERS[subset]}")


def plain_text(marked: str) -> str:
    """Return a text without its mark-up; ``<$A>``, which says who speaks, stays."""
    text, before = marked, ""
    while text != before:  # from the inside to the outside
        before, text = text, DROPPED.sub("", text)
    text = PAUSE.sub(",", IDENTIFIER.sub("", MARK.sub("", text)))
    for written, character in ENTITIES.items():
        text = text.replace(written, character)
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _kind(path: PurePosixPath, subset: str) -> str:
    """Return the category of a text by its file's name, '' if the file is not a text."""
    if subset == "ea":
        name = path.stem.replace("-", "").lower()
        kinds: Mapping[str, tuple[str, ...]] = EAST_AFRICA
        return next((kind for kind, names in kinds.items() if name.startswith(names)), "")
    match = FILE.match(path.stem)
    return match["category"].upper() if match else ""


def _gender(header: Row) -> str:
    """Return the gender that a header gives all speakers or authors, '' if it gives none or several."""
    letters = {one[0].lower() for one in GENDER.findall(header["text"])}
    return {"f": "female", "m": "male"}.get(letters.pop(), "") if len(letters) == 1 else ""
