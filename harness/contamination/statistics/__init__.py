"""The statistics of testing whether a model depends on the published order of a data set: pure functions, no model."""

from harness.contamination.statistics.baselines import (
    auroc,
    mean_logprob,
    min_k,
    min_k_plus_plus,
    share_flagged,
    threshold,
    zlib_ratio,
)
from harness.contamination.statistics.blind_classifier import blind_classifier
from harness.contamination.statistics.boundary_bets import Boundary, BoundaryBets
from harness.contamination.statistics.diagnostics import DIAGNOSTICS_LEVEL, Diagnostic, Diagnostics, diagnose
from harness.contamination.statistics.headline import Verdict, headline, verdict
from harness.contamination.statistics.next_example import (
    Centring,
    EProcess,
    RankTest,
    RankTestResult,
    mean_e,
    rank_test,
)
from harness.contamination.statistics.option_order import OptionOrder, option_order_test, option_orders
from harness.contamination.statistics.overlap import Overlap, overlap
from harness.contamination.statistics.permutation import BesagClifford, permutation_p
from harness.contamination.statistics.relabelling import Relabelling, pooled_relabelling, relabelling_test
from harness.contamination.statistics.repairs import (
    Repaired,
    blocks,
    collapse_near_duplicates,
    permute_under_ids,
    strip_ids,
)
from harness.contamination.statistics.sharded_t import ShardedT, sharded_t
from harness.contamination.statistics.shards import shard_bounds, shard_count

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
