"""The statistics of testing whether a model depends on the published order of a data set: pure functions, no model."""

from harness.exchangeability.baselines import (
    auroc,
    mean_logprob,
    min_k,
    min_k_plus_plus,
    share_flagged,
    threshold,
    zlib_ratio,
)
from harness.exchangeability.blind_classifier import blind_classifier
from harness.exchangeability.boundary_bets import Boundary, BoundaryBets
from harness.exchangeability.diagnostics import DIAGNOSTICS_LEVEL, Diagnostic, Diagnostics, diagnose
from harness.exchangeability.headline import Verdict, headline, verdict
from harness.exchangeability.next_example import Centring, EProcess, RankTest, RankTestResult, mean_e, rank_test
from harness.exchangeability.option_order import OptionOrder, option_order_test, option_orders
from harness.exchangeability.overlap import Overlap, overlap
from harness.exchangeability.permutation import BesagClifford, permutation_p
from harness.exchangeability.relabelling import Relabelling, pooled_relabelling, relabelling_test
from harness.exchangeability.repairs import Repaired, blocks, collapse_near_duplicates, permute_under_ids, strip_ids
from harness.exchangeability.sharded_t import ShardedT, sharded_t
from harness.exchangeability.shards import shard_bounds, shard_count

__all__ = [
    "DIAGNOSTICS_LEVEL",
    "BesagClifford",
    "Boundary",
    "BoundaryBets",
    "Centring",
    "Diagnostic",
    "Diagnostics",
    "EProcess",
    "OptionOrder",
    "Overlap",
    "RankTest",
    "RankTestResult",
    "Relabelling",
    "Repaired",
    "ShardedT",
    "Verdict",
    "auroc",
    "blind_classifier",
    "blocks",
    "collapse_near_duplicates",
    "diagnose",
    "headline",
    "mean_e",
    "mean_logprob",
    "min_k",
    "min_k_plus_plus",
    "option_order_test",
    "option_orders",
    "overlap",
    "permutation_p",
    "permute_under_ids",
    "pooled_relabelling",
    "rank_test",
    "relabelling_test",
    "shard_bounds",
    "shard_count",
    "sharded_t",
    "share_flagged",
    "strip_ids",
    "threshold",
    "verdict",
    "zlib_ratio",
]
