"""Entity matching: do two records describe the same thing?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from harness import Data, DataError, Instance, Reference, Row, Source, Split, derive_rng, scenario

Dataset = Literal[
    "Beer",
    "iTunes_Amazon",
    "Fodors_Zagats",
    "DBLP_ACM",
    "DBLP_GoogleScholar",
    "Amazon_Google",
    "Walmart_Amazon",
    "Abt_Buy",
    "Company",
    "Dirty_iTunes_Amazon",
    "Dirty_DBLP_ACM",
    "Dirty_DBLP_GoogleScholar",
    "Dirty_Walmart_Amazon",
]
FOLDER = "entity_matching/{{ dataset | replace('_', '-') }}"


@scenario(
    "entity_matching",
    title="Entity matching",
    source="Mudgal et al. 2018 (SIGMOD, Deep learning for entity matching: a design space exploration)",
    data=Source(
        files={split: f"{FOLDER}/{split}.csv" for split in ("train", "valid", "test")},
        url="https://github.com/anhaidgroup/deepmatcher/blob/master/Datasets.md",
        licence="none stated",
    ),
    adapter={
        "method": "generation",
        "instructions": "Are Product A and Product B the same? Yes or No?\n",
        "input_noun": None,
        "output_noun": "Answer",
    },
    metrics=("accuracy", "classification", "efficiency"),
    main_metric="quasi_exact_match",
    taxonomy={
        "task": "entity matching",
        "what": "records of products, beers and songs",
        "who": "web shops",
        "when": "2000s-2010s",
        "language": "English",
    },
    tags=("tables", "helm-classic"),
)
def entity_matching(data: Data, *, dataset: Dataset = "Beer") -> Iterator[Instance]:
    """Pairs of records from two shops, most of which do not match.

    As nine in ten test pairs do not match, the F1 score of ``classification`` says more than the accuracy. The train
    split has all matching pairs and as many others, drawn at random, as in HELM.

    Args:
        data: The data.
        dataset: The pair of shops; ``Dirty`` are those whose values have been moved into the name.
    """
    folder = f"entity_matching/{dataset.replace('_', '-')}"
    records = {table: _table(data, f"{folder}/table{table}.csv") for table in "AB"}
    for split in Split:
        pairs = list(data.rows(split))
        kept = _balanced(pairs, dataset) if split == Split.TRAIN else pairs
        for row in kept:
            texts = []
            for table, key in (("A", "ltable_id"), ("B", "rtable_id")):
                if row[key] not in records[table]:
                    raise row.error(f"{key} {row[key]!r} is not in table{table}.csv.")
                texts.append(f"Product {table} is {records[table][row[key]]}. ")
            same = _match(row)
            yield Instance(
                id=f"{split}-{row.number}",
                input=f"{''.join(texts)}Are A and B the same?",
                references=(Reference("Yes", same), Reference("No", not same)),
                split=split,
            )


def _table(data: Data, name: str) -> Mapping[str, str]:
    """Return the text of each record by its id."""
    if not data.has(name):
        raise DataError(f"entity_matching: {name} is missing; a data set's archive has it next to train.csv.")
    found = {}
    for row in data.read(name):
        values = {key: str(value).strip() for key, value in row.items() if key != "id"}
        found[row["id"]] = ". ".join(f"{key}: {value or 'nan'}" for key, value in values.items())
    return found


def _match(row: Row) -> bool:
    if str(row["label"]) not in ("0", "1"):
        raise row.error(f"label {row['label']!r} is neither 0 nor 1.")
    return str(row["label"]) == "1"


def _balanced(pairs: list[Row], dataset: str) -> list[Row]:
    matches = [row for row in pairs if _match(row)]
    others = [row for row in pairs if not _match(row)]
    drawn = derive_rng(0, f"entity_matching/{dataset}").sample(others, min(len(matches), len(others)))
    chosen = {row.number for row in [*matches, *drawn]}
    return [row for row in pairs if row.number in chosen]
