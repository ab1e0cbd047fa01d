"""MS MARCO's files: queries, judgements, ranked candidates, and a collection that is too large for memory."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import Data, DataError, Instance, Reference, Split, derive_rng

FOLDER = "msmarco"
COLLECTION = f"{FOLDER}/collection.tsv"
TRAIN_QUERIES = 1000
FIRST_WRONG, LAST_WRONG = 11, 20
"""The ranks among which an example's wrong passage is: those above may be relevant without a judgement."""


@dataclass(frozen=True, slots=True)
class Files:
    """The names of the files of some queries: their texts, judgements, and candidates with their ranks."""

    queries: str
    judgements: str
    candidates: str


TRAIN = Files("queries.train.tsv", "qrels.train.tsv", "top20.train.tsv")


def read_msmarco(data: Data, files: Files, *, relevant: int, topk: int, judged: bool) -> Iterator[Instance]:
    """Yield train queries with a relevant and a wrong passage, if their files are there, and the queries to rank.

    Only the passages that are needed are read, from their places in the collection.

    Args:
        data: The folder ``msmarco``.
        files: Those of the queries to evaluate.
        relevant: The least grade of a relevant passage.
        topk: How many candidates of each query are ranked.
        judged: Rank the judged passages, too, wherever the search ranks them.
    """
    shown = list(_train(data)) if data.has(f"{FOLDER}/{TRAIN.queries}") else []
    asked = list(_evaluated(data, files, topk=topk, judged=judged))
    with _Passages(data.path(COLLECTION), {pid for _, _, grades in [*shown, *asked] for pid in grades}) as passages:
        for split, least, queries in ((Split.TRAIN, 1, shown), (Split.VALID, relevant, asked)):
            for query, text, grades in queries:
                references = tuple(
                    Reference(passages[pid], grade >= least, grade) for pid, grade in sorted(grades.items())
                )
                yield Instance(query, text, references, split)


PASSAGE_BITS = 40
"""Bits of a packed candidate that are the passage's id."""

Judgements = Mapping[str, Sequence[tuple[int, int]]]
"""Passages with their grades, by query."""

Query = tuple[str, str, Mapping[int, int]]
"""The id of a query, its text, and its passages with their grades, 0 where there is no judgement."""


def _train(data: Data) -> Iterator[Query]:
    ranked = _ranked(data, TRAIN.candidates, LAST_WRONG)
    judgements = _judgements(data, TRAIN.judgements, ranked.keys())
    queries = _texts(data, TRAIN.queries, judgements.keys())
    order = sorted(queries)
    derive_rng(0, "msmarco/train").shuffle(order)
    found = 0
    for query in order:
        grades = dict(judgements[query])
        gold = max(grades.items(), key=lambda entry: entry[1])
        wrong = [pid for pid in _best_first(ranked[query])[FIRST_WRONG - 1 :] if not grades.get(pid)]
        if gold[1] and wrong and found < TRAIN_QUERIES:
            found += 1
            yield query, queries[query], {gold[0]: gold[1], wrong[0]: 0}


def _evaluated(data: Data, files: Files, *, topk: int, judged: bool) -> Iterator[Query]:
    judgements = _judgements(data, files.judgements)
    ranked = _ranked(data, files.candidates, topk, judgements.keys())
    queries = _texts(data, files.queries, judgements.keys())
    for query, pairs in judgements.items():
        grades = dict(pairs)
        candidates = _best_first(ranked.get(query, ()))
        passages = {pid: grades.get(pid, 0) for pid in candidates} | (grades if judged else {})
        if query in queries and passages:
            yield query, queries[query], passages


def _texts(data: Data, name: str, wanted: Container[str]) -> dict[str, str]:
    """Return the texts of the wanted queries."""
    queries = {}
    for number, line in _lines(data, name):
        query, tab, text = line.partition("\t")
        if not tab or "\t" in text or not query.isdecimal():
            raise _misfit(name, number, 2, "an id and a text")
        if query in wanted:
            queries[query] = text
    return queries


def _judgements(data: Data, name: str, wanted: Container[str] | None = None) -> Judgements:
    """Return the passages with their grades of the wanted queries (default: of all)."""
    judgements: dict[str, list[tuple[int, int]]] = {}
    for number, line in _lines(data, name):
        try:
            query, _, pid, grade = line.split()  # the second field is TREC's, 0 or Q0
            if wanted is None or query in wanted:
                judgements.setdefault(query, []).append((int(pid), int(grade)))
        except ValueError:
            raise _misfit(name, number, 4, "whole numbers") from None
    return judgements


def _ranked(data: Data, name: str, topk: int, wanted: Container[str] | None = None) -> dict[str, array[int]]:
    """Return the candidates of rank ``topk`` and better of the wanted queries (default: of all).

    Millions of them are kept in little memory: each is a number whose upper bits are the rank.
    """
    ranks: dict[str, array[int]] = {}
    for number, line in _lines(data, name):
        try:
            query, pid, written = line.split()
            if (rank := int(written)) <= topk and (wanted is None or query in wanted):
                ranks.setdefault(query, array("Q")).append(rank << PASSAGE_BITS | int(pid))
        except (ValueError, OverflowError):
            raise _misfit(name, number, 3, "whole numbers") from None
    return ranks


def _best_first(ranked: Iterable[int]) -> list[int]:
    """Return the passages of packed candidates, by rank."""
    return [packed & ((1 << PASSAGE_BITS) - 1) for packed in sorted(ranked)]


def _lines(data: Data, name: str) -> Iterator[tuple[int, str]]:
    with data.path(f"{FOLDER}/{name}").open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            yield number, line.rstrip("\n")


def _misfit(name: str, number: int, count: int, what: str) -> DataError:
    return DataError(f"expected {count} fields, {what}.", file=f"{FOLDER}/{name}", row=number)


class _Passages:
    """Passages by id, read from the collection when asked for; in memory are their places alone."""

    def __init__(self, path: Path, needed: Collection[int]) -> None:
        if path.suffix != ".tsv":
            raise DataError("must not be compressed: its passages are read from their places.", file=COLLECTION)
        self._file = path.open("rb")
        self._places: dict[int, int] = {}
        place = 0
        for number, line in enumerate(self._file, start=1):
            pid, tab, _ = line.partition(b"\t")
            try:
                if not tab:
                    raise ValueError
                if (known := int(pid)) in needed:
                    self._places[known] = place
            except ValueError:
                message = "expected the id of a passage, a tab, and its text."
                raise DataError(message, file=COLLECTION, row=number) from None
            place += len(line)
        if missing := set(needed) - self._places.keys():
            raise DataError(f"lacks {len(missing)} passages, such as {min(missing)}.", file=COLLECTION)

    def __getitem__(self, pid: int) -> str:
        self._file.seek(self._places[pid])
        return self._file.readline().decode("utf-8").partition("\t")[2].rstrip("\r\n")

    def __enter__(self) -> _Passages:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
