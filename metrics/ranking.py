"""How high a model ranks the relevant references."""

from __future__ import annotations

import math
from itertools import groupby
from typing import Annotated

from pydantic import Field

from harness import Example, MetricError, Reference, metric

Tie = tuple[Reference, ...]


@metric(
    "ranking",
    title={"ranking": "Ranking", "RR@*": "RR@*", "NDCG@*": "NDCG@*", "recall@*": "Recall@*", "success@*": "Success@*"},
    category="accuracy",
    scale="bounded",
    gives=("RR@*", "NDCG@*", "recall@*", "success@*"),
    source="Craswell 2009 (RR); Järvelin and Kekäläinen 2002 (NDCG); trec_eval 9 (recall, success)",
)
def ranking(example: Example, *, k: Annotated[int, Field(ge=1)] = 10) -> dict[str, float] | None:
    """RR@k, NDCG@k, recall@k and success@k of the references, ranked by their scores.

    RR@k is 1 / rank of the first correct reference, or 0 if it is not among the first k. NDCG@k is the ranking's DCG@k
    divided by that of the best possible ranking, where DCG@k = Σ gain / log2(1 + rank) over the first k ranks
    (trec_eval's ``ndcg_cut``); the gain is the reference's relevance, or 1 for a correct reference without a grade.
    Recall@k is the share of the correct references that are among the first k; success@k is 1 if at least one of them
    is. All lie between 0 and 1, and higher is better. Undefined without a correct reference or, for NDCG, without a
    gain.

    References with equal scores get the mean over all their orders (McSherry and Najork 2008); HELM keeps the order of
    the data, which list the relevant ones first. RR, recall and success use the correct references; HELM drops grade 1
    whether or not the task does.

    Args:
        example: It has a score for every reference.
        k: Number of ranks that count.

    Raises:
        MetricError: A score is missing.
    """
    scores = example.choice_scores
    if scores is None or len(scores) != len(example.references) or any(map(math.isnan, scores)):
        raise MetricError("a ranking needs a score for each reference; use an adapter such as ranking_binary.")
    ranked = sorted(zip(scores, example.references, strict=True), key=lambda entry: -entry[0])
    ties = [tuple(ref for _, ref in tied) for _, tied in groupby(ranked, key=lambda entry: entry[0])]
    values: dict[str, float] = {}
    if any(reference.correct for reference in example.references):
        values[f"RR@{k}"] = _reciprocal_rank(ties, k)
        values[f"recall@{k}"], values[f"success@{k}"] = _recall_and_success(ties, k)
    ideal = _ideal_gain(example.references, k)
    if ideal > 0.0:
        values[f"NDCG@{k}"] = _discounted_gain(ties, k) / ideal
    return values or None


def _reciprocal_rank(ties: list[Tie], k: int) -> float:
    above = 0
    for tie in ties:
        size, correct = len(tie), sum(reference.correct for reference in tie)
        if correct:
            ways = math.comb(size, correct)  # in C(size-1-j, correct-1) of them the first correct one is at offset j
            offsets = range(min(size - correct + 1, max(k - above, 0)))
            return sum(math.comb(size - 1 - j, correct - 1) / ways / (above + j + 1) for j in offsets)
        above += size
    return 0.0


def _recall_and_success(ties: list[Tie], k: int) -> tuple[float, float]:
    above, found, missed_all, total = 0, 0.0, 1.0, 0
    for tie in ties:
        size, correct = len(tie), sum(reference.correct for reference in tie)
        taken = min(max(k - above, 0), size)  # members of the tie among the first k, each equally likely
        found += correct * taken / size
        missed_all *= math.comb(size - correct, taken) / math.comb(size, taken)
        total += correct
        above += size
    return found / total, 1.0 - missed_all


def _discounted_gain(ties: list[Tie], k: int) -> float:
    above, total = 0, 0.0
    for tie in ties:
        mean_gain = sum(map(_gain, tie)) / len(tie)
        total += mean_gain * sum(1.0 / math.log2(1 + rank) for rank in range(above + 1, min(above + len(tie), k) + 1))
        above += len(tie)
    return total


def _ideal_gain(references: tuple[Reference, ...], k: int) -> float:
    gains = sorted(map(_gain, references), reverse=True)[:k]
    return sum(gain / math.log2(1 + rank) for rank, gain in enumerate(gains, start=1))


def _gain(reference: Reference) -> int:
    return int(reference.correct) if reference.relevance is None else max(reference.relevance, 0)
