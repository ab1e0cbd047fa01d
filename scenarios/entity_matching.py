"""Entity matching: do two records describe the same thing?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

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
# The same pairs without their tables, as text, in the layout of a program named Ditto.
DITTO = (
    "entity_matching/ditto/{{ 'Dirty/' ~ dataset[6:] | replace('_', '-') if dataset.startswith('Dirty_') "
    "else ('Textual/' if dataset in ('Abt_Buy', 'Company') else 'Structured/') ~ dataset | replace('_', '-') }}"
)
COLUMN = re.compile(r"COL (?P<name>\S+) VAL ?(?P<value>.*?)(?= COL \S+ VAL|$)")


@scenario(
    "entity_matching",
    title="Entity matching",
    source="Mudgal et al. 2018 (SIGMOD, Deep learning for entity matching: a design space exploration)",
    data=Source(
        files={split: (f"{FOLDER}/{split}.csv", f"{DITTO}/{split}.txt") for split in ("train", "valid", "test")},
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
    split has all matching pairs and as many others, drawn at random, as in HELM. Where the tables are missing, pairs
    are read from Ditto's copy of them, whose words and punctuation are separated by spaces.

    Args:
        data: The data.
        dataset: The pair of shops; ``Dirty`` are those whose values have been moved into the name.
    """
    folder = f"entity_matching/{dataset.replace('_', '-')}"
    tables: dict[str, Mapping[str, str]] = {}
    for split in Split:
        if data.lacking(split):
            continue
        pairs = []
        for row in data.rows(split):
            if "text" in row:
                pairs.append(_pair(row))
                continue
            tables = tables or {table: _table(data, f"{folder}/table{table}.csv") for table in "AB"}
            pairs.append(_joined(row, tables))
        for pair in _balanced(pairs, dataset) if split == Split.TRAIN else pairs:
            yield Instance(
                id=f"{split}-{pair.number}",
                input=f"Product A is {pair.a}. Product B is {pair.b}. Are A and B the same?",
                references=(Reference("Yes", pair.match), Reference("No", not pair.match)),
                split=split,
            )


class _Pair(NamedTuple):
    number: int
    a: str
    b: str
    match: bool


def _joined(row: Row, tables: Mapping[str, Mapping[str, str]]) -> _Pair:
    """Return the pair of records whose ids a row has."""
    for table, key in (("A", "ltable_id"), ("B", "rtable_id")):
        if row[key] not in tables[table]:
            raise row.error(f"{key} {row[key]!r} is not in table{table}.csv.")
    return _Pair(row.number, tables["A"][row["ltable_id"]], tables["B"][row["rtable_id"]], _match(row, row["label"]))


def _pair(row: Row) -> _Pair:
    """Return the pair of a line of Ditto's: ``COL name VAL value …``, the same of the other record, and the label."""
    cells = row["text"].split("\t")
    if len(cells) != 3 or not all(cell.startswith("COL ") for cell in cells[:2]):
        raise row.error("is not two records of the form 'COL name VAL value …' and a label, separated by tabs.")
    a, b = (_text({one["name"]: one["value"].strip() for one in COLUMN.finditer(cell)}) for cell in cells[:2])
    return _Pair(row.number, a, b, _match(row, cells[2].strip()))


def _text(values: Mapping[str, str]) -> str:
    return ". ".join(f"{key}: {value or 'nan'}" for key, value in values.items())


def _table(data: Data, name: str) -> Mapping[str, str]:
    """Return the text of each record by its id."""
    if not data.has(name):
        raise DataError(f"entity_matching: {name} is missing; a data set's archive has it next to train.csv.")
    found = {}
    for row in data.read(name):
        found[row["id"]] = _text({key: str(value).strip() for key, value in row.items() if key != "id"})
    return found


def _match(row: Row, label: object) -> bool:
    if str(label) not in ("0", "1"):
        raise row.error(f"label {label!r} is neither 0 nor 1.")
    return str(label) == "1"


def _balanced(pairs: Sequence[_Pair], dataset: str) -> list[_Pair]:
    matches = [pair for pair in pairs if pair.match]
    others = [pair for pair in pairs if not pair.match]
    drawn = derive_rng(0, f"entity_matching/{dataset}").sample(others, min(len(matches), len(others)))
    return sorted([*matches, *drawn])
