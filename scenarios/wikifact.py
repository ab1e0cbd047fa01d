"""WikiFact: facts of Wikidata as sentences whose end the model writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from harness import Data, DataError, Instance, Reference, Row, Source, Split, scenario

Edition = Literal["official", "lama"]
RELATIONS = {
    "plaintiff": "P1620",
    "place_of_birth": "P19",
    "medical_condition_treated": "P2175",
    "instance_of": "P31",
    "part_of": "P361",
    "currency": "P38",
    "position_held": "P39",
    "author": "P50",
    "discoverer_or_inventor": "P61",
    "symptoms_and_signs": "P780",
}
"""The ten relations of HELM's paper, by name."""

LAMA = "wikifact_lama_trex"
TEMPLATES = f"{LAMA}/LAMA_relations.jsonl"
SUBJECT, OBJECT = "[X]", "[Y]"
FILES = {"train": ("train", "extra"), "valid": ("dev", "valid"), "test": ("test", "test")}
"""HELM's file of each split, and LAMA's folder."""
NUMBER = f"{RELATIONS!r}.get(relation, relation)"


@scenario(
    "wikifact",
    title="WikiFact",
    source="Goodrich et al. 2019 (arXiv:1905.13322); Liang et al. 2022, section 5.2; LAMA: Petroni et al. 2019 "
    "(arXiv:1909.01066)",
    data=Source(
        files={
            split: f"{{{{ 'wikifact/{name}' if edition == 'official' else '{LAMA}/{folder}/' ~ {NUMBER} }}}}.jsonl"
            for split, (name, folder) in FILES.items()
        },
        url="https://huggingface.co/datasets/lighteval/wikifact",
        licence="CC0; LAMA: CC BY-NC 4.0",
        untested=True,
    ),
    adapter={
        "method": "generation",
        "input_prefix": "",
        "input_suffix": "",
        "output_prefix": " ",
        "output_suffix": "\n",
        "max_train_instances": 5,
        "max_tokens": 8,
        "temperature": 1.0,
        "num_outputs": 5,
    },
    metrics=("accuracy", "efficiency"),
    main_metric="quasi_exact_match",
    eval_split=Split.TEST,
    parts=("relation",),
    taxonomy={
        "task": "knowledge base completion",
        "what": "statements about entities, written from templates",
        "who": "editors of Wikidata; the templates are HELM's",
        "when": "2022",
        "language": "English",
    },
    tags=("knowledge", "helm-classic"),
    aliases={"helm": {"wikifact:subject={relation}": ""}},
)
def wikifact(data: Data, *, relation: str = "place_of_birth", edition: Edition = "official") -> Iterator[Instance]:
    """Facts as sentences without their end, such as "Doug Eckerty is an instance of"; all objects are correct.

    The model completes each five times at temperature 1, and the likeliest of its answers is scored, as in HELM. The
    official files are HELM's, mirrored on the Hub. ``edition: lama`` reads LAMA's facts of Wikidata instead, which have
    one object, of one word: its ``test`` facts, with its further facts as examples. Of the paper's relations it has
    place_of_birth, instance_of and position_held.

    Args:
        data: The data.
        relation: The relation, by its name or by its number in Wikidata (``P19``); the paper's ten have names.
        edition: HELM's files, or LAMA's.
    """
    number = RELATIONS.get(relation, relation)
    template = _template(data, number) if edition == "lama" else ""
    for split in Split:
        if data.lacking(split):
            continue
        for row in data.rows(split):
            if edition == "lama":
                yield _instance(row, split, template.replace(SUBJECT, row["sub_label"]), [row["obj_label"]])
            elif row["property"] == number:
                names = [name for names in row["result_names"] for name in _all(names)]
                yield _instance(row, split, row["template"], names)


def _instance(row: Row, split: Split, text: str, names: list[str]) -> Instance:
    references = tuple(Reference(name, correct=True) for name in dict.fromkeys(name.strip() for name in names))
    return Instance(f"{split}-{row.number}", text, references, split, published=row.published)


def _all(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _template(data: Data, number: str) -> str:
    """Return a relation's sentence up to its object."""
    for row in data.read(TEMPLATES):
        if row["relation"] == number:
            before, found, after = str(row["template"]).partition(OBJECT)
            if not found or SUBJECT not in before or after.strip(" ."):
                raise row.error(f"{row['template']!r} does not end in its object, so that it cannot be completed.")
            return before.strip()
    raise DataError(f"has no sentence for {number!r}. Choose another relation, or edition: official.", file=TEMPLATES)
