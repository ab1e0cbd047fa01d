"""MS MARCO, TREC track: which web passages answer a search query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from harness import Data, Instance, Source, Split, scenario
from scenarios._msmarco import COLLECTION, Files, read_msmarco

FILES = Files("msmarco-test2019-queries.tsv", "2019qrels-pass.txt", "top1000.test2019.tsv")


@scenario(
    "msmarco_trec",
    title="MS MARCO (TREC 2019)",
    short="MARCO · TREC",
    source="Craswell et al. 2020 (arXiv:2003.07820)",
    data=Source(
        files={"train": "msmarco/queries.train.tsv", "valid": COLLECTION},
        url="https://microsoft.github.io/msmarco/",
        licence="non-commercial research",
        untested=True,
    ),
    adapter={"method": "ranking_binary"},
    metrics=("ranking", "efficiency"),
    main_metric="NDCG@10",
    eval_split=Split.VALID,
    taxonomy={
        "task": "information retrieval",
        "what": "passages of web pages, queries of a search engine",
        "who": "web authors; search users",
        "when": "2010s",
        "language": "English",
    },
    tags=("helm-classic",),
    aliases={
        "helm": {
            "msmarco:track=trec": "",
        },
    },
)
def msmarco_trec(
    data: Data, *, valid_topk: Annotated[int, Field(ge=1)] = 30, judged: bool = True
) -> Iterator[Instance]:
    """Queries with passages that assessors graded from 0 to 3; grades 2 and 3 are relevant.

    Candidates are lists of a query's id, a passage's id and its rank, of a search such as BM25: ``top20.train.tsv`` and
    ``top1000.test2019.tsv``; without train queries there are no examples. The passages that are ranked are the first
    ``valid_topk`` and, as in HELM, all judged ones; ``judged: false`` ranks the candidates alone, as published
    results for reranking do. References are in the order of their ids, which reveals nothing.

    Args:
        data: The official files, uncompressed, and the lists of candidates.
        valid_topk: How many candidates are ranked for each query.
        judged: Rank the judged passages, too, wherever the search ranks them.
    """
    yield from read_msmarco(data, FILES, relevant=2, topk=valid_topk, judged=judged)
