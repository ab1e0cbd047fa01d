"""Data imputation: fill in the manufacturer of a product or the city of a restaurant."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from harness import Data, DataError, Instance, Reference, Source, Split, scenario

Dataset = Literal["Buy", "Restaurant"]
FILES: Mapping[Dataset, str] = {"Buy": "data_imputation/Buy.csv", "Restaurant": "data_imputation/fz.arff"}
LEFT_OUT = {"Buy": "id", "Restaurant": "class"}
IMPUTED = {"Buy": "manufacturer", "Restaurant": "city"}


@scenario(
    "entity_data_imputation",
    title="Data imputation",
    source="Mei et al. 2021 (ICDE, Capturing semantics for imputation with pre-trained language models)",
    data=Source(
        files={split: list(FILES.values()) for split in ("train", "valid", "test")},
        url="https://dbs.uni-leipzig.de/research/projects/benchmark-datasets-for-entity-resolution",
        licence="none stated",
    ),
    adapter={
        "method": "generation",
        "instructions": "What is the missing value?\n",
        "input_noun": None,
        "output_noun": "Answer",
    },
    metrics=("accuracy", "efficiency"),
    main_metric="quasi_exact_match",
    taxonomy={
        "task": "data imputation",
        "what": "records of products and restaurants",
        "who": "web shops and restaurant guides",
        "when": "2000s",
        "language": "English",
    },
    tags=("tables", "helm-classic"),
)
def entity_data_imputation(data: Data, *, dataset: Dataset = "Buy") -> Iterator[Instance]:
    """Records without one of their values, which the others imply.

    A tenth of the rows is test and a fifth of the rest valid, drawn with a fixed seed. Products without a description
    are left out. Restaurants come in pairs of two guides, so that 17 of the 86 test rows have a twin in the train
    split. Longer names need more than the default five tokens.

    Args:
        data: The data.
        dataset: Products or restaurants.
    """
    path = data.path(FILES[dataset])
    rows = _products(path) if dataset == "Buy" else _restaurants(path)
    column = IMPUTED[dataset]
    for position, split in _splits(len(rows)):
        values = {key: value for key, value in rows[position].items() if key != LEFT_OUT[dataset]}
        answer = values.pop(column)
        known = ". ".join(f"{key}: {value or 'nan'}" for key, value in values.items())
        yield Instance(
            id=f"{dataset}-{position + 1}",
            input=f"{known}. {column}?",
            references=(Reference(answer, correct=True),),
            split=split,
        )


def _splits(size: int) -> Iterator[tuple[int, Split]]:
    """Yield the positions of the rows with their splits: train and valid in order, then test as drawn."""
    from numpy.random import RandomState

    seed = 1234  # HELM's, in pandas' sample()
    test = RandomState(seed).choice(size, round(0.1 * size), replace=False).tolist()
    rest = sorted(set(range(size)) - set(test))
    valid = set(RandomState(seed).choice(len(rest), round(0.2 * len(rest)), replace=False).tolist())
    yield from ((row, Split.VALID if place in valid else Split.TRAIN) for place, row in enumerate(rest))
    yield from ((row, Split.TEST) for row in test)


def _products(path: Path) -> Sequence[Mapping[str, str]]:
    with path.open(encoding="latin-1", newline="") as file:
        return [row for row in csv.DictReader(file) if row["description"]]


def _restaurants(path: Path) -> Sequence[Mapping[str, str]]:
    with path.open(encoding="latin-1") as file:
        lines = [line.strip() for line in file]
    columns = [line.split()[1] for line in lines if line.startswith("@attribute")]
    try:
        data = [line for line in lines[lines.index("@data") + 1 :] if line]
    except ValueError:
        raise DataError(f"{path}: has no line '@data'.") from None
    cells = csv.reader(data, skipinitialspace=True)
    return [dict(zip(columns, (cell.strip() for cell in row), strict=True)) for row in cells]
