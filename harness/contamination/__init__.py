"""Tests of whether a model was trained on a data set, from the order in which the data set was published.

These names are for the plugins that ask and measure such tests; none of them loads a heavy library when imported.
"""

from harness.contamination.roles import EXAMPLES_FILE, ORDER_TEST
from harness.contamination.statistics.baselines import mean_logprob, min_k, min_k_plus_plus, zlib_ratio
from harness.contamination.statistics.boundaries import Boundary, Stretch
from harness.contamination.statistics.diagnostics import DIAGNOSTICS_LEVEL, diagnose
from harness.contamination.statistics.next_example import EProcess, RankTest, mean_e
from harness.contamination.statistics.option_order import option_order_test, option_orders
from harness.contamination.statistics.permutation import BesagClifford
from harness.contamination.statistics.relabelling import relabelling_test
from harness.contamination.statistics.repairs import (
    Repaired,
    blocks,
    collapse_near_duplicates,
    permute_under_ids,
    strip_ids,
)
from harness.contamination.statistics.sharded_t import sharded_t
from harness.contamination.statistics.shards import shard_bounds, shard_count
from harness.contamination.statistics.verdict import verdict
from harness.statistics.families import bonferroni, holm

__all__ = [
    "DIAGNOSTICS_LEVEL",
    "EXAMPLES_FILE",
    "ORDER_TEST",
    "BesagClifford",
    "Boundary",
    "EProcess",
    "RankTest",
    "Repaired",
    "Stretch",
    "blocks",
    "bonferroni",
    "collapse_near_duplicates",
    "diagnose",
    "holm",
    "mean_e",
    "mean_logprob",
    "min_k",
    "min_k_plus_plus",
    "option_order_test",
    "option_orders",
    "permute_under_ids",
    "relabelling_test",
    "shard_bounds",
    "shard_count",
    "sharded_t",
    "strip_ids",
    "verdict",
    "zlib_ratio",
]
