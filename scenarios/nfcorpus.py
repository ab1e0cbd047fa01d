"""NFCorpus: which medical abstracts answer a layperson's question about nutrition, among candidates found by BM25."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from pydantic import Field

from harness import (
    Data,
    DataError,
    Download,
    Instance,
    Reference,
    Source,
    Split,
    StrictJsonError,
    derive_rng,
    parse_json,
    scenario,
)

PARTS = {Split.TRAIN: "train", Split.VALID: "dev", Split.TEST: "test"}
# Examples need a few; two passages of each are shown.
TRAIN_QUERIES = 200
# NDCG@10, the data set's measure, looks no further.
MOST_RELEVANT = 10
# Robertson and Zaragoza 2009, with the parameters of BEIR's baseline.
K1, B = 0.9, 0.4
WORD = re.compile(r"\w+")


@scenario(
    "nfcorpus",
    title="NFCorpus",
    source="Boteva et al. 2016 (ECIR); BEIR: Thakur et al. 2021 (arXiv:2104.08663)",
    data=Source(
        files={"test": ("nfcorpus.zip", "ir_nfcorpus/nfcorpus.zip", "nfcorpus")},
        downloads=(
            Download(
                "https://raw.githubusercontent.com/UKPLab/beir/fceea3df52661d8f3b283fca7eccafe94844b304/"
                "beir/datasets/nfcorpus.zip",
                "nfcorpus.zip",
                "efe5be03f8c5b86a5870102d0599d227c8c6e2484328e68c6522560385671b0b",
                2448432,
            ),
        ),
        url="https://github.com/beir-cellar/beir",
        licence="free for academic use",
    ),
    adapter={"method": "ranking_binary"},
    metrics=("ranking", "efficiency"),
    main_metric="NDCG@10",
    eval_split=Split.TEST,
    taxonomy={
        "task": "information retrieval",
        "what": "abstracts of medical papers, titles of articles on nutrition",
        "who": "medical researchers; authors and readers of NutritionFacts.org",
        "when": "before 2016",
        "language": "English",
    },
    tags=("medicine",),
)
def nfcorpus(data: Data, *, candidates: Annotated[int, Field(ge=11)] = 30) -> Iterator[Instance]:
    """Queries with passages to rank: at most ten relevant passages, and the best that BM25 finds among all others.

    If BM25 finds too few passages, because the words of the query are rare, others are drawn at random, seeded by the
    query's id.

    As in HELM's MS MARCO, the relevant passages are always among the candidates, so that scores compare models that
    rank the same candidates, not models that search the whole collection. Of more than ten relevant passages the most
    relevant are kept, ties broken by BM25. References are in the order of their ids, which reveals nothing. The first
    200 train queries are used for examples.
    """
    collection = _read(data)
    for split in PARTS:
        judgements = collection.judgements[split]
        for query, relevance in islice(judgements.items(), TRAIN_QUERIES if split == Split.TRAIN else None):
            scores = collection.scores(collection.queries[query])
            best = sorted(relevance, key=lambda passage: (-relevance[passage], -scores[passage], passage))
            relevant = best[:MOST_RELEVANT]
            others = ((score, passage) for passage, score in scores.items() if passage not in relevance)
            found = [passage for _, passage in heapq.nlargest(candidates - len(relevant), others)]
            if short := candidates - len(relevant) - len(found):
                rest = [
                    passage for passage in collection.passages if passage not in scores and passage not in relevance
                ]
                found += derive_rng(0, f"nfcorpus/{query}").sample(rest, min(short, len(rest)))
            yield Instance(
                id=query,
                input=collection.queries[query],
                references=tuple(
                    Reference(collection.passages[passage], passage in relevance, relevance.get(passage, 0))
                    for passage in sorted(relevant + found)
                ),
                split=split,
            )


@dataclass(frozen=True, slots=True)
class _Collection:
    """Passages and queries by id, the graded judgements of each split by query, and an index of the passages' words.

    The postings of a word are the passages that contain it, with its contribution to their BM25 score.
    """

    passages: Mapping[str, str]
    queries: Mapping[str, str]
    judgements: Mapping[Split, Mapping[str, Mapping[str, int]]]
    postings: Mapping[str, Mapping[str, float]]

    def scores(self, query: str) -> Mapping[str, float]:
        """Return the BM25 score of each passage that shares a word with the query; other passages score 0."""
        scores: defaultdict[str, float] = defaultdict(float)
        for word in _words(query):
            for passage, weight in self.postings.get(word, {}).items():
                scores[passage] += weight
        return scores


def _read(data: Data) -> _Collection:
    files = {row["path"].rpartition("nfcorpus/")[2]: row["text"] for row in data.rows(Split.TEST)}
    needed = ["corpus.jsonl", "queries.jsonl", *(f"qrels/{part}.tsv" for part in PARTS.values())]
    for name in needed:
        if name not in files:
            raise DataError(f"nfcorpus: {name} is not in the archive, which has {', '.join(files)}.")
    passages = {
        record["_id"]: f"{record['title']} {record['text']}".strip() for record in _records("corpus.jsonl", files)
    }
    queries = {record["_id"]: record["text"] for record in _records("queries.jsonl", files)}
    judgements = {split: _judgements(f"qrels/{part}.tsv", files, passages, queries) for split, part in PARTS.items()}
    return _Collection(passages, queries, judgements, _index(passages))


def _records(name: str, files: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    for number, line in enumerate(files[name].splitlines(), start=1):
        try:
            record = parse_json(line)
        except StrictJsonError as error:
            raise DataError(f"{error}.", file=name, row=number) from None
        missing = {"_id", "text"} - set(record)
        if missing:
            raise DataError(f"there is no {min(missing)!r}.", file=name, row=number)
        yield record if "title" in record else {**record, "title": ""}


def _judgements(
    name: str, files: Mapping[str, str], passages: Mapping[str, str], queries: Mapping[str, str]
) -> Mapping[str, Mapping[str, int]]:
    """Return the relevant passages of each query and their grades."""
    judgements: dict[str, dict[str, int]] = {}
    for number, line in enumerate(files[name].splitlines()[1:], start=2):
        query, passage, grade = [*line.split("\t"), "", ""][:3]
        if query not in queries or passage not in passages or not grade.isdecimal():
            message = f"expected the ids of a query and of a passage, and a grade, not {line[:60]!r}."
            raise DataError(message, file=name, row=number)
        if int(grade) > 0:
            judgements.setdefault(query, {})[passage] = int(grade)
    return judgements


def _index(passages: Mapping[str, str]) -> Mapping[str, Mapping[str, float]]:
    counts = {passage: Counter(_words(text)) for passage, text in passages.items()}
    lengths = {passage: sum(words.values()) for passage, words in counts.items()}
    mean_length = sum(lengths.values()) / len(lengths) if lengths else 1.0
    occurrences: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for passage, words in counts.items():
        for word, count in words.items():
            occurrences[word][passage] = count
    postings = {}
    for word, found in occurrences.items():
        rarity = math.log(1 + (len(passages) - len(found) + 0.5) / (len(found) + 0.5))
        postings[word] = {
            passage: rarity * count / (count + K1 * (1 - B + B * lengths[passage] / mean_length))
            for passage, count in found.items()
        }
    return postings


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())
