"""MS MARCO, regular track: which web passages answer a search query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from harness import Data, Instance, Source, Split, scenario
from scenarios._msmarco import COLLECTION, Files, read_msmarco

FILES = Files("queries.dev.small.tsv", "qrels.dev.small.tsv", "top1000.dev.small.tsv")


@scenario(
    "msmarco",
    title="MS MARCO (regular)",
    short="MARCO · regular",
    source="Nguyen et al. 2016 (arXiv:1611.09268)",
    data=Source(
        files={"train": "msmarco/queries.train.tsv", "valid": COLLECTION},
        url="https://microsoft.github.io/msmarco/",
        licence="non-commercial research",
        untested=True,
    ),
    adapter={"method": "ranking_binary"},
    metrics=("ranking", "efficiency"),
    main_metric="RR@10",
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
            "msmarco:track=regular": "",
        },
    },
)
def msmarco(data: Data, *, valid_topk: Annotated[int, Field(ge=1)] = 30, judged: bool = True) -> Iterator[Instance]:
    """Queries of a search engine with passages to rank, of which mostly one was marked as relevant.

    Candidates are lists of a query's id, a passage's id and its rank, of a search such as BM25: ``top20.train.tsv`` and
    ``top1000.dev.small.tsv``; without train queries there are no examples. The passages that are ranked are the first
    ``valid_topk`` and, as in HELM, all judged ones; ``judged: false`` ranks the candidates alone, as published
    results for reranking do. References are in the order of their ids, which reveals nothing.

    Args:
        data: The official files, uncompressed, and the lists of candidates.
        valid_topk: How many candidates are ranked for each query.
        judged: Rank the judged passages, too, wherever the search ranks them.
    """
    yield from read_msmarco(data, FILES, relevant=1, topk=valid_topk, judged=judged)
